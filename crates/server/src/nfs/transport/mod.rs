//! Connections and datagrams of NFS: records, their distribution to threads, and replies.

pub(super) mod connection;
pub(super) mod datagrams;
pub(super) mod frames;
pub(super) mod jobs;
pub(super) mod reply_cache;
pub(super) mod stream;
pub(super) mod workers;
