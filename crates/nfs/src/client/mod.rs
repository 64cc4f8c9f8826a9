//! The client adapter: many calls in flight on the connections of a session.
//!
//! [`target`] is what a run connects by, [`connect`] makes a session of the version that the URL and the server agree on. Each
//! version, [`v3`] and [`v4`], supplies its connection and its operations to
//! [`Multiplexed`](sharebench_client_core::Multiplexed), which the engine drives; both perform their calls by [`rpc`].
//! [`offers`] reports what a server offers.

mod caller;
mod collected;
mod connect;
mod directories;
mod directory_walk;
mod offers;
mod open_files;
mod options;
mod paths;
mod rpc;
mod target;
mod v3;
mod v4;

pub use offers::NfsProbe;
pub use options::Xprtsec;
pub use target::NfsTarget;
