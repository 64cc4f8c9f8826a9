//! TLS for RPC connections (RFC 9289), for the NFS client and the NFS server.
//!
//! Both sides accept TLS 1.3 only, with the protocol name `sunrpc` or, as many peers do, with none. They read certificates and keys from PEM files. The client
//! verifies the certificate of the server by the name or the address of the URL, and may prove who it is with a certificate of
//! its own. Sessions are not resumed and no early data is sent, so that every connection costs a full handshake, whatever
//! connections were before it.
//!
//! This crate knows neither RPC nor NFS: its callers exchange the calls that precede a handshake. The library is `rustls` on
//! `aws-lc-rs` (docs/design/security-layers.md).

mod client;
mod error;
mod files;
mod server;
mod socket;
mod stream;
mod transport;

pub use client::ClientTls;
pub use error::{FileError, TlsError};
pub use server::ServerTls;
pub use stream::TlsStream;
pub use transport::Stream;

/// Name of RPC in the negotiation of the protocol (RFC 9289, 8.2).
const ALPN: &[u8] = b"sunrpc";
