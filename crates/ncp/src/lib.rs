//! NetWare Core Protocol in user space.
//!
//! [`wire`] holds the message codecs, both directions; [`security`] the arithmetic of logins and packet signatures;
//! [`server`] a bindery server; [`burst`] packet burst for both. None of them does any I/O. [`ether`] is a packet socket of Linux. [`client`] has a conversation without I/O as well, and
//! [`client::TcpClient`], which drives it over a blocking socket.
//!
//! ```
//! use sharebench_ncp::security::password;
//! use sharebench_ncp::wire::login::{KeyedLogin, USER};
//! use sharebench_ncp::wire::{Pstr, Request};
//!
//! // The server gave the key and the id of the object BENCH.
//! let (key, id) = ([0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77], 0x0001_0002);
//! let response = password::response(&key, &password::hash(id, b"BENCHPW"));
//! let name = Pstr::new(b"BENCH").expect("a short name");
//!
//! let mut call = Vec::new();
//! Request::from(KeyedLogin { response, kind: USER, name }).put(&mut call);
//! assert_eq!(call, b"\x17\x00\x11\x18\x70\x38\xac\x5f\x8b\xcc\x23\xd2\x00\x01\x05BENCH");
//! ```

pub mod burst;
pub mod client;
mod envelope;
pub mod ether;
pub mod security;
pub mod server;
pub mod wire;
