//! The client adapter: one TCP connection per session, many requests in flight.
//!
//! [`session`] is what the engine drives. It checks an operation and hands it to the [`channel`], which owns the
//! connection: it pays for the request with [`credits`], applies [`message_security`], sends it, and lets the
//! [`receiver`] and [`pending_replies`] match each reply with its request. [`handshake`] opens a session: [`dial`],
//! [`negotiation`], [`login`] by a [`login_method`], then the share. [`offers`] reports what a server offers.

mod binding;
mod channel;
mod channels;
mod credits;
mod dial;
mod handshake;
mod interfaces;
mod lease_breaks;
mod leases;
mod listing;
mod locks;
mod login;
mod login_method;
mod message_security;
mod metadata;
mod metadata_exchange;
mod negotiated;
mod negotiation;
mod nt1;
mod offers;
mod open_file;
mod options;
mod pending_replies;
mod policy;
mod postponed;
mod ranges;
mod receiver;
mod renewal;
mod requests;
mod session;
mod session_counts;
mod session_exchange;
mod share_paths;
mod slot_buffers;
mod snapshots;
mod target;
mod times;
mod watch;
mod watch_exchange;

#[cfg(test)]
mod tests;

pub use offers::SmbProbe;
pub use target::SmbTarget;
