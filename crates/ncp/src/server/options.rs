//! How a server behaves, who may log in, and what it needs of the environment.

use std::net::SocketAddr;
use std::time::Duration;

use crate::security::level::Level;
use crate::security::password::{self, PasswordHash};
use crate::wire::ipx::Address;
use crate::wire::server_info::DateAndTime;

/// What a server needs of the environment around it.
pub trait Environment: Send + Sync + 'static {
    /// A key for a login that no one can foresee.
    fn login_key(&self) -> [u8; 8];

    /// Date and time of day.
    fn date_and_time(&self) -> DateAndTime;

    /// Time since a moment of its own.
    fn now(&self) -> Duration;

    /// A lock was given up while others wait for one: [`super::Server::resume`] is to be called for each of them.
    fn released(&self) {}
}

/// Someone who may log in.
#[derive(Debug, Clone)]
pub struct User {
    /// Name, in upper case, at most 47 bytes.
    pub name: Vec<u8>,
    /// Object id.
    pub id: u32,
    /// Hash of the password.
    pub hash: PasswordHash,
}

impl User {
    /// A user; name and password are put in upper case, as clients send them.
    pub fn new(name: &str, id: u32, password: &str) -> Self {
        let hash = password::hash_upper(id, password);
        Self { name: name.to_ascii_uppercase().into_bytes(), id, hash }
    }
}

/// When a client on datagrams is asked whether it is still there, and when it is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchdog {
    /// Silence after which it is asked first.
    pub idle: Duration,
    /// Pause between questions.
    pub interval: Duration,
    /// Questions without answer after which it is gone.
    pub attempts: u32,
}

impl Default for Watchdog {
    /// 5 minutes, then every minute, ten times: what NetWare is said to do (docs/protocols/ncp.md 1.7).
    fn default() -> Self {
        Self { idle: Duration::from_mins(5), interval: Duration::from_mins(1), attempts: 10 }
    }
}

/// How a server behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name, padded with NUL.
    pub name: [u8; 48],
    /// Version that clients see, major and minor: it makes them choose their functions.
    pub version: (u8, u8),
    /// Connections there can be.
    pub max_connections: u16,
    /// Who may log in.
    pub users: Vec<User>,
    /// When packets are signed.
    pub signatures: Level,
    /// When packets on IPX have checksums; never where their frames have none.
    pub checksums: Level,
    /// The socket, or port, that sends probes of the path back; 0 without one.
    pub echo_socket: u16,
    /// Bytes of the largest packet that is agreed upon, as 0x61 and 0x65 count them.
    pub max_packet: u16,
    /// True to let users log in with a password that travels as it is.
    pub clear_passwords: bool,
    /// How clients that are gone are found.
    pub watchdog: Watchdog,
}

/// Where a packet comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    /// A connection of the transport, by a number that the transport gives it.
    Stream(u64),
    /// An address on IP.
    Ip(SocketAddr),
    /// An address on IPX.
    Ipx(Address),
}
