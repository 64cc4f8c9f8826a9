//! Options of the NCP front end.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use sharebench_ncp::security::level::Level;
use sharebench_ncp::server::{Options, Server, StateBudget, User, Watchdog};
use sharebench_ncp::wire::ipx::Address;
use sharebench_ncp::wire::text::padded;
use sharebench_target::Secret;

use crate::Volume;
use crate::front_ends::front_end::{EventLog, IDLE_TIMEOUT, LOGIN_TIMEOUT, ServeError};
use crate::front_ends::refusal_log::RefusalLog;
use crate::ncp::environment::SystemEnvironment;
use crate::ncp::ipx::NETWORK;
use crate::ncp::volume::ServedVolume;

/// The protocol's name in messages.
pub(super) const PROTOCOL: &str = "ncp";

/// The longest volume name, and the longest account name, which is sent with a trailing NUL.
const MAX_VOLUME_NAME: usize = 15;
const MAX_USER_NAME: usize = 47;
/// Object id of the first account; smaller ids belong to objects that every server has.
const FIRST_USER: u32 = 0x0001_0001;
/// The account without password that exists when there are no others.
const GUEST: &str = "GUEST";

/// When the data of a committed file is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommitPolicy {
    /// Before the reply, as far as the volume supports it: `fdatasync` in a directory.
    #[default]
    Disk,
    /// At any time, as with `SET NCP FILE COMMIT=OFF`; write-through is ignored as well.
    None,
}

/// The names that a volume has for its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameSpaces {
    /// Long names, and 8.3 names derived from them.
    #[default]
    All,
    /// 8.3 names only, as on NetWare 3.x without the OS/2 name space: other new names are refused, and so are calls in
    /// other name spaces. A file with a long name is shown under its derived 8.3 name.
    Dos,
}

/// What the bindery of an NCP server shows of an account in addition to its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BinderyProfile {
    /// Groups of the user, in addition to EVERYONE; the server creates them.
    pub groups: Vec<String>,
    /// Full name; empty without one.
    pub full_name: String,
}

/// Properties of the transport that the server reports to clients.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransportLimits {
    /// True when packets can have checksums.
    pub(super) checksums: bool,
    /// Socket or port that returns probes of the path.
    pub(super) echo_socket: u16,
    /// The largest packet.
    pub(super) max_packet: u16,
}

/// The name by which clients find the server, padded with NUL.
pub(super) fn server_name() -> [u8; 48] {
    padded(b"SHAREBENCH").unwrap_or([0; 48])
}

/// Options of [`NcpServer`](crate::NcpServer).
#[derive(Debug, Clone)]
pub struct NcpServerOptions {
    /// Name of the volume; clients see it in upper case.
    pub volume: String,
    /// Accounts and passwords, both case-insensitive. Without accounts, GUEST may log in without password.
    pub accounts: Vec<(String, Secret)>,
    /// Groups and full names of accounts, which the bindery shows.
    pub bindery_profiles: HashMap<String, BinderyProfile>,
    /// When packets are signed.
    pub signatures: Level,
    /// When IPX packets have checksums, on Ethernet framings that support them.
    pub checksums: Level,
    /// When committed files are on disk.
    pub commit: CommitPolicy,
    /// Name spaces of the volume.
    pub names: NameSpaces,
    /// The largest number of connections; further ones are refused.
    pub max_connections: u16,
    /// When silent clients on datagrams are queried, and when they are removed with their files and locks.
    pub watchdog: Watchdog,
    /// The longest time for a TCP message to arrive completely, and for a reply to be received; a slower connection
    /// is closed.
    pub patience: Duration,
    /// The longest time from accepting a TCP connection to the login on it.
    pub login_timeout: Duration,
    /// The longest time without a request on a TCP connection of a user.
    pub idle_timeout: Duration,
    /// Memory for the state of clients.
    pub budget: StateBudget,
    /// Receives failed and rejected logins and refused connections.
    pub log: EventLog,
    /// Whether `log` also receives successful logins; `tracing` always does.
    pub log_logins: bool,
    /// Threads that serve connections; at least 1.
    pub threads: usize,
}

impl Default for NcpServerOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            volume: "share".to_owned(),
            accounts: Vec::new(),
            bindery_profiles: HashMap::new(),
            signatures: Level::IfRequested,
            checksums: Level::IfRequested,
            commit: CommitPolicy::Disk,
            names: NameSpaces::All,
            max_connections: 10_000,
            watchdog: Watchdog::default(),
            patience: Duration::from_secs(60),
            login_timeout: LOGIN_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            budget: StateBudget::default(),
            log: EventLog::default(),
            log_logins: false,
            threads: cores.min(8),
        }
    }
}

impl NcpServerOptions {
    /// Builds the protocol server.
    pub(super) fn build(
        self,
        volume: Arc<dyn Volume>,
        limits: TransportLimits,
        refusals: Arc<RefusalLog>,
    ) -> Result<Server<ServedVolume, SystemEnvironment>, ServeError> {
        let wrong = |detail: String| ServeError::Options { protocol: PROTOCOL, detail };
        let name = self.volume.to_uppercase();
        let plain = |byte: u8| byte.is_ascii_graphic() && !br#"*?:\/;,"<>|[]=+."#.contains(&byte);
        if name.is_empty() || name.len() > MAX_VOLUME_NAME || !name.bytes().all(plain) {
            let limit = MAX_VOLUME_NAME;
            return Err(wrong(format!(
                "'{name}' is not a valid volume name: give 1 to {limit} characters, without blanks and punctuation such as . : / *"
            )));
        }
        let users = users(&self.accounts, &self.bindery_profiles).map_err(wrong)?;
        let environment = SystemEnvironment::new(&self, refusals);
        let options = Options {
            name: server_name(),
            net_address: Address::of_server(NETWORK),
            version: (3, 11),
            max_connections: self.max_connections,
            users,
            signatures: self.signatures,
            checksums: if limits.checksums { self.checksums } else { Level::Never },
            echo_socket: limits.echo_socket,
            max_packet: limits.max_packet,
            clear_passwords: false,
            watchdog: self.watchdog,
        };
        let served = ServedVolume::new(volume, self.commit, self.names);
        Ok(Server::new(options, vec![(name.into_bytes(), served)], environment))
    }
}

/// The users of the accounts, or GUEST without password if there are none; the error is a sentence about an account.
fn users(
    accounts: &[(String, Secret)],
    profiles: &HashMap<String, BinderyProfile>,
) -> Result<Vec<User>, String> {
    let mut names = HashSet::new();
    let mut users = Vec::new();
    for ((account, password), id) in accounts.iter().zip(FIRST_USER..) {
        let mut user = User::new(account, id, &password.expose());
        let shown = String::from_utf8_lossy(&user.name).into_owned();
        if user.name.is_empty() || user.name.len() > MAX_USER_NAME {
            return Err(format!("'{shown}' is not a valid account name: give 1 to {MAX_USER_NAME} bytes"));
        }
        if !names.insert(user.name.clone()) {
            return Err(format!("duplicate account {shown}: names are case-insensitive"));
        }
        if let Some(profile) = profiles.get(account) {
            user.groups = profile.groups.iter().map(|name| name.to_ascii_uppercase().into_bytes()).collect();
            user.full_name = profile.full_name.clone().into_bytes();
        }
        users.push(user);
    }
    if users.is_empty() {
        users.push(User::new(GUEST, FIRST_USER, ""));
    }
    Ok(users)
}
