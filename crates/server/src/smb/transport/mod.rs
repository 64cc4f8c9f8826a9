//! Connections of SMB: frames, their distribution to threads, and what is sent back.

pub(super) mod buffers;
pub(super) mod client_connections;
pub(super) mod connection;
pub(super) mod credits;
pub(super) mod frames;
pub(super) mod workers;
