//! From NEGOTIATE to LOGOFF: connections, logins, sessions, and the requests of a frame with their responses.

pub(super) mod call;
pub(super) mod channel;
pub(super) mod connection;
pub(super) mod deferred;
pub(super) mod established;
pub(super) mod expiry;
pub(super) mod login;
pub(super) mod negotiate;
pub(super) mod negotiated;
pub(super) mod pending;
pub(super) mod responses;
pub(super) mod ticket;
pub(super) mod trees;
