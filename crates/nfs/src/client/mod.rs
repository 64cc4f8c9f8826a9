//! The client adapter: one TCP connection per session, many calls in flight.

mod arrival;
mod calls;
mod channel;
mod dial;
mod directories;
mod files;
mod meta;
mod mounting;
mod options;
mod receiver;
mod sender;
mod session;
mod target;

pub use target::NfsTarget;
