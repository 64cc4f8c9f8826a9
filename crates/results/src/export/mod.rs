//! A run for other programs.

mod csv;
mod json;
mod steps;

pub use csv::{Entry, SpreadsheetText, StreamedTable, Table, table, write_csv};
pub use json::{SCHEMA, write_json};
pub use steps::Steps;
