//! Open files and the requests on them.

pub(super) mod byte_locks;
pub(super) mod content_changes;
pub(super) mod create;
pub(super) mod create_disposition;
pub(super) mod create_stream;
pub(super) mod data;
pub(super) mod descriptors;
pub(super) mod durability;
pub(super) mod durable;
pub(super) mod file_control;
pub(super) mod file_info;
pub(super) mod ioctl;
pub(super) mod lock_sequences;
pub(super) mod locks;
pub(super) mod lost_opens;
pub(super) mod open_count;
pub(super) mod open_entries;
pub(super) mod open_file;
pub(super) mod open_files;
pub(super) mod open_streams;
pub(super) mod pipe;
pub(super) mod query_info;
pub(super) mod set_info;
pub(super) mod write_times;
