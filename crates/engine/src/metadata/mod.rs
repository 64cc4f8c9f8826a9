//! Metadata cells: tests on the entries of directories (docs/design/metadata.md).
//!
//! A cell works on a *set* of directories with a number of entries each. Most entries are residents, which only fill a
//! directory; each job has a batch of entries in each of its directories, on which it performs the operations of the
//! test. The set stays on the target for the other cells that need it, with the batch as the last cell left it.

pub(crate) mod caching_job;
pub(crate) mod caching_operations;
pub(crate) mod connected;
pub(crate) mod directory_set;
pub(crate) mod driver;
pub(crate) mod entries;
pub(crate) mod entry_names;
pub(crate) mod entry_test;
pub(crate) mod job;
pub(crate) mod listing;
pub(crate) mod lock_contest;
pub(crate) mod lock_job;
pub(crate) mod lock_operations;
pub(crate) mod names;
pub(crate) mod notify_job;
pub(crate) mod notify_operations;
pub(crate) mod opened_files;
pub(crate) mod pipeline;
pub(crate) mod rejection;
pub(crate) mod server_side;
pub(crate) mod server_side_tests;
pub(crate) mod slot_session;
pub(crate) mod sparse_content;
pub(crate) mod step;
pub(crate) mod support;
pub(crate) mod verify;
pub(crate) mod watched_directory;
pub(crate) mod wrong_reply;
