//! Operations on names, attributes and open files, each one request after another.

pub(crate) mod listing;
mod locks;
pub(crate) mod operations;
pub(crate) mod policy;
pub(crate) mod ranges;
pub(crate) mod share_paths;
mod snapshots;
mod times;
