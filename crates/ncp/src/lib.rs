//! NetWare Core Protocol in user space.
//!
//! [`wire`] has the message codecs for both directions, [`security`] password hashes and packet signatures,
//! [`server`] a bindery server, and [`burst`] packet burst for both sides. None of them does I/O. [`client`] drives
//! the client side over a [`client::Transport`]; blocking transports are included. [`ether`] is a Linux packet
//! socket, and [`receive_buffer`] enlarges that of a datagram socket. [`target`] lets the engine measure a server with the
//! client; nothing else here depends on benchmarks.
//!
//! ```
//! use sharebench_ncp::security::password;
//! use sharebench_ncp::wire::login::{KeyedLogin, USER};
//! use sharebench_ncp::wire::{Pstr, Request};
//!
//! // The server has sent the key, and the id of the object BENCH.
//! let key = [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77];
//! let id = 0x0001_0002;
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
pub mod receive_buffer;
pub mod security;
pub mod server;
pub mod target;
pub mod wire;
