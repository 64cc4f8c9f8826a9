//! The tables of a report, before any format.

mod evidence;
mod load;
mod per_test;
mod ranks;
mod section;
mod study;
mod table;

pub use evidence::{bands_table, timeline_table};
pub use load::load_tables;
pub use per_test::{test_cell, tests_table};
pub use ranks::rank_tables;
pub use section::{cost_table, main_table, operation_sentence, times_table};
pub use study::study_table;
pub use table::{Cell, Table, position};
