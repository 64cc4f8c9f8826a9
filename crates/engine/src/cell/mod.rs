//! A cell of a sweep: passes over files in records, at one queue depth, by one job or by several.

pub(crate) mod access_pattern;
pub(crate) mod cell_context;
pub(crate) mod file_names;
pub(crate) mod job;
pub(crate) mod pass;
pub(crate) mod policy;
pub(crate) mod ranked_files;
pub(crate) mod record_pass;
pub(crate) mod record_step;
pub(crate) mod rounds;
pub(crate) mod server_cache;
pub(crate) mod stream;
pub(crate) mod target_files;
pub(crate) mod throughput_step;
