//! The tests of sweeps: what every crate knows of them. The engine has their operations.
//!
//! Tests of records are lines of one table ([`Test`]). A metadata test has a [`Declaration`] in the file of its kind, and a
//! line in `table.rs`.

mod caching;
mod declaration;
mod listings;
mod locks;
mod metadata_group;
mod metadata_test;
mod names;
mod opened_files;
mod record_test;
mod server_side;
mod table;

pub use declaration::{Declaration, EntryChange, EntryState, FileData, NameCache, Requirement, Succession};
pub use metadata_group::MetadataGroup;
pub use metadata_test::MetadataTest;
pub use record_test::{Access, Direction, Pattern, Start, Test};
