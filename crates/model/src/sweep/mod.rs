//! The tests of sweeps: what every crate knows of them. The engine has their operations.
//!
//! Tests of records are lines of one table ([`Test`]). A metadata test is a variant of [`MetadataTest`] with a [`Declaration`] in the
//! file of its group, which plans, checks, analyses and reports read, and a line in the engine's table of drivers
//! (`engine/src/metadata/driver.rs`). A test of a new kind adds its operation next to that table.

mod declaration;
mod locks;
mod metadata_group;
mod metadata_test;
mod names;
mod record_test;
mod server_side;
mod table;

pub use declaration::{Declaration, EntryChange, EntryState, FileData, NameCache, Requirement, Succession};
pub use metadata_group::MetadataGroup;
pub use metadata_test::MetadataTest;
pub use record_test::{Access, Direction, Pattern, Start, Test};
