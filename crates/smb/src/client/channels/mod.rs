//! The connections of a session.
//!
//! A [`channel`] is one connection: it pays for a request with [`credits`], applies [`message_security`], sends it, and lets the
//! [`receiver`] and [`pending_replies`] match each reply with its request. [`session_channels`] spreads the requests of a session
//! over its channels, and repeats those of a lost one.

pub(crate) mod channel;
mod channel_exchange;
pub(crate) mod credits;
pub(crate) mod lease_breaks;
pub(crate) mod message_security;
pub(crate) mod metadata_exchange;
pub(crate) mod pending_replies;
mod receiver;
mod repeats;
pub(crate) mod requests;
pub(crate) mod session_channels;
pub(crate) mod session_counts;
pub(crate) mod slot_buffers;
mod watch_exchange;
