//! Cache probes: timed reads after a cell, which separate the server's cache from its storage.

pub(crate) mod cache_probe;
pub(crate) mod probe_connection;
