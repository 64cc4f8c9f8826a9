//! Connections of SMB: frames, their distribution to threads, and what is sent back.

pub(super) mod client_connections;
pub(super) mod connection;
pub(super) mod credits;
pub(super) mod events;
pub(super) mod frames;
pub(super) mod jobs;
pub(super) mod replies;
pub(super) mod workers;
