//! Names: paths, patterns, listings, and directories that are watched for changes.

pub(super) mod change_notify;
pub(super) mod file_locations;
pub(super) mod listing;
pub(super) mod listing_state;
pub(super) mod pattern;
pub(super) mod resolve;
pub(super) mod watches;
