//! The client adapter: many requests in flight on the connections of a session.
//!
//! [`target`] is what a run connects by, and [`connect`] makes a session. The [`session`] supplies its connection and its
//! operations to [`Multiplexed`](sharebench_client_core::Multiplexed), which the engine drives: operations on data go to the
//! [`channels`] at once, [`names`] and [`rights`] perform one request after another. [`smb1`] is a client of its own with one
//! request in flight, and [`offers`] reports what a server offers.

mod channels;
mod connect;
mod exchange;
mod names;
mod negotiated;
mod offers;
mod open_file;
mod options;
mod rights;
mod session;
mod session_exchange;
mod smb1;
mod target;

#[cfg(test)]
mod tests;

pub use offers::SmbProbe;
pub use target::SmbTarget;
