//! The client adapter: one TCP connection per session, many requests in flight.

mod agreement;
mod arrival;
mod buffers;
mod calls;
mod channel;
mod credits;
mod dial;
mod exchange;
mod files;
mod guard;
mod handshake;
mod login;
mod meta;
mod names;
mod negotiation;
mod options;
mod outbox;
mod policy;
mod receiver;
mod session;
mod target;

#[cfg(test)]
mod tests;

pub use target::SmbTarget;
