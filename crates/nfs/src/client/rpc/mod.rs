//! Calls on the connections of a session, whatever the version of NFS.
//!
//! The [`channel`] owns the connections. It encodes a call, sends it, and lets the [`receiver`] and [`replies`] match each reply
//! with its call. A version of NFS is a [`dialect`]. [`dial`] connects and performs single calls, and [`security`] signs and
//! encrypts calls.

pub(crate) mod calls;
pub(crate) mod channel;
mod connection;
mod datagrams;
pub(crate) mod dial;
pub(crate) mod dialect;
pub(crate) mod gss_login;
pub(crate) mod link;
pub(crate) mod port_lookup;
pub(crate) mod protected_call;
mod receiver;
pub(crate) mod replies;
mod security;
pub(crate) mod transport;
#[cfg(test)]
mod window_tests;
