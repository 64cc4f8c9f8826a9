//! The client of SMB1 (NT LM 0.12): one connection, as many requests in flight as the server allows.
//!
//! It shares the login, the names and the slots' buffers with the client of SMB2 and nothing else, because its messages have
//! another header, another signature and no credits. [`handshake`] opens a [`session`], which drives a [`connection`].

mod connection;
mod exchange;
mod handshake;
mod locks;
mod names;
mod netbios;
mod oplocks;
mod session;

pub(crate) use handshake::open_session;
pub(crate) use netbios::PORT as NETBIOS_PORT;
