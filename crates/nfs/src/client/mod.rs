//! The client adapter: many calls in flight on the connections of a session.
//!
//! [`session`] is what the engine drives. It checks an operation and hands it to the [`channel`], which owns the
//! connection, encodes the call, sends it, and lets the [`receiver`] and [`replies`] match each reply with its call.
//! [`mounting`] opens a session: [`dial`], port mapper, MOUNT, the walk to the directory, FSINFO. [`offers`] reports what
//! a server offers.

mod calls;
#[cfg(test)]
mod calls_tests;
mod channel;
mod collected;
mod connection;
mod datagrams;
mod dial;
mod dialect;
mod directories;
mod entry_changes;
mod gss_login;
mod link;
mod listing;
mod metadata;
mod mounting;
mod offers;
mod open_files;
mod opening;
mod options;
mod port_lookup;
mod protected_call;
mod receiver;
mod replies;
mod security;
mod session;
mod target;
mod transport;
mod v4;
#[cfg(test)]
mod window_tests;

pub use offers::NfsProbe;
pub use options::Xprtsec;
pub use target::NfsTarget;
