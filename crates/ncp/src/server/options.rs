//! Options and users of a server, and the interface to its environment.

use std::time::Duration;

use super::peer::LoginSource;
use super::state_budget::StateBudget;
use crate::security::level::Level;
use crate::security::password::{self, PasswordHash};
use crate::wire::Completion;
use crate::wire::ipx::Address;
use crate::wire::server_info::DateAndTime;

/// What a server needs from the program that runs it: randomness, clocks and a way to wake waiting requests.
///
/// A simulation implements it with virtual time and fixed keys, so that its runs are reproducible.
pub trait Environment: Send + Sync + 'static {
    /// An unpredictable key for one login.
    fn login_key(&self) -> [u8; 8];

    /// Date and time of day.
    fn date_and_time(&self) -> DateAndTime;

    /// Time since an arbitrary start.
    fn now(&self) -> Duration;

    /// A login failed because of its name or password. Both parameters come from the client.
    fn login_failed(&self, _source: LoginSource, _name: &[u8]) {}

    /// A user has logged in. The name comes from the client.
    fn logged_in(&self, _source: LoginSource, _name: &[u8]) {}

    /// A login was rejected for another reason than its name or password: because of earlier failures, or by a policy.
    /// While failures delay logins, only the first one is reported.
    fn login_rejected(&self, _source: LoginSource, _name: &[u8], _completion: Completion) {}

    /// A client negotiated again without signatures after a login with them: the reply states that they stay.
    fn signatures_kept(&self, _source: LoginSource) {}

    /// A client was refused because the server has no free connection.
    fn connection_refused(&self) {}

    /// The memory for the state of clients, which several servers may share.
    fn state_budget(&self) -> StateBudget {
        StateBudget::default()
    }

    /// A lock was released while requests wait: call [`super::Server::resume`] for each of their clients.
    fn released(&self) {}
}

/// An account that may log in.
#[derive(Debug, Clone)]
pub struct User {
    /// User name in upper case, at most 47 bytes.
    pub name: Vec<u8>,
    /// Bindery object id.
    pub id: u32,
    /// Password hash.
    pub hash: PasswordHash,
    /// Names of the groups of the user in upper case, in addition to EVERYONE.
    pub groups: Vec<Vec<u8>>,
    /// Full name, the property IDENTIFICATION; empty without one.
    pub full_name: Vec<u8>,
}

impl User {
    /// Creates a user; name and password are converted to upper case, as clients send them.
    pub fn new(name: &str, id: u32, password: &str) -> Self {
        let hash = password::hash_upper(id, password);
        let name = name.to_ascii_uppercase().into_bytes();
        Self { name, id, hash, groups: Vec::new(), full_name: Vec::new() }
    }
}

/// When the server queries silent clients on datagrams, and when it removes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchdog {
    /// Silence before the first query.
    pub idle: Duration,
    /// Pause between queries.
    pub interval: Duration,
    /// Unanswered queries after which a client is removed.
    pub attempts: u32,
}

impl Watchdog {
    /// A watchdog with this idle time and number of queries. The pause between queries is a fifth of the idle time, the
    /// proportion of NetWare.
    pub const fn new(idle: Duration, attempts: u32) -> Self {
        Self { idle, interval: Duration::from_millis(idle.as_millis() as u64 / 5), attempts }
    }
}

impl Default for Watchdog {
    /// 5 minutes, then every minute, ten times: the values known of NetWare (docs/protocols/ncp.md 1.7).
    fn default() -> Self {
        Self::new(Duration::from_mins(5), 10)
    }
}

/// Options of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// Server name, padded with NUL.
    pub name: [u8; 48],
    /// Address of the server, the property `NET_ADDRESS` of its object.
    pub net_address: Address,
    /// Major and minor version that the server reports; clients select functions by it (docs/protocols/ncp.md 2.3).
    pub version: (u8, u8),
    /// The largest number of connections.
    pub max_connections: u16,
    /// Accounts that may log in.
    pub users: Vec<User>,
    /// When packets are signed.
    pub signatures: Level,
    /// When IPX packets have checksums, where the frames support them.
    pub checksums: Level,
    /// Socket, or UDP port, that returns probes of the path; 0 without one.
    pub echo_socket: u16,
    /// The largest packet that can be negotiated, as 0x61 and 0x65 count it.
    pub max_packet: u16,
    /// True to accept logins with clear-text passwords.
    pub clear_passwords: bool,
    /// Watchdog of silent clients.
    pub watchdog: Watchdog,
}
