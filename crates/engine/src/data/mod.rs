//! What is on a target: stamped content, the state of each file, directories, and how a block becomes requests.

pub(crate) mod closed_session;
pub(crate) mod content;
pub(crate) mod context;
pub(crate) mod directory;
pub(crate) mod file_state;
pub(crate) mod listed_pages;
pub(crate) mod mismatch;
#[cfg(test)]
pub(crate) mod peculiar_target;
pub(crate) mod progress_reports;
pub(crate) mod recycle_bins;
pub(crate) mod request_splitting;
pub(crate) mod server_disk_stat;
pub(crate) mod set_content;
pub mod stamp;
pub(crate) mod tree_removal;
