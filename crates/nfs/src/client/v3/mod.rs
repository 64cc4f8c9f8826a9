//! The client of NFS version 3.
//!
//! [`mounting`] opens a session: port mapper, MOUNT, the walk to the directory, FSINFO. [`session`] encodes READs, WRITEs and
//! COMMITs; [`names`] and [`listing`] perform one call after another for each operation on names.

#[cfg(test)]
mod calls_tests;
mod dialect;
mod entry_changes;
mod listing;
mod mount;
pub(crate) mod mounting;
mod names;
mod session;

#[cfg(test)]
pub(crate) use dialect::V3;
pub(crate) use session::NfsSession;
