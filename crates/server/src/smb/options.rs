//! Options of the SMB front end.

use std::time::Duration;

use sharebench_gss::AcceptorKeys;
use sharebench_smb::ServerMechanisms;
use sharebench_target::Secret;

use crate::front_ends::front_end::{EventLog, IDLE_TIMEOUT, LOGIN_TIMEOUT, ServeError};
use crate::front_ends::state_budget::StateBudget;
use crate::smb::files::write_times::WriteTimes;
use crate::volume::change_reports::ChangeReports;
use crate::volume::name::check_portable_name;

/// The protocol's name in messages.
pub(super) const PROTOCOL: &str = "smb";

/// Protection of messages that the server requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protection {
    /// The client decides.
    #[default]
    Optional,
    /// Sessions that do not sign are rejected.
    Signed,
    /// Sessions that do not encrypt are rejected.
    Encrypted,
}

/// Options of [`SmbServer`](crate::SmbServer).
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[derive(Debug, Clone)]
pub struct SmbServerOptions {
    /// Name of the share.
    pub share: String,
    /// Accounts that may log in, with their passwords. Without accounts everybody may, as guest.
    pub accounts: Vec<(String, Secret)>,
    /// Keys for which Kerberos tickets are accepted. With them, a client without an account needs a ticket, and a ticket
    /// suffices without accounts.
    pub keys: Option<AcceptorKeys>,
    /// Reject every change.
    pub read_only: bool,
    /// Clients may cache what they read, and handles. It requires that this server learns of all changes of the volume.
    pub leases: bool,
    /// Where other front ends of the volume report their changes, so that clients do not cache what they have changed.
    pub changes: ChangeReports,
    /// Clients may also cache what they write, which requires that nobody uses the volume but over this server.
    pub exclusive: bool,
    /// Answer clients that offer nothing newer than SMB1 (NT LM 0.12), which is unsafe. Loopback addresses only.
    pub smb1: bool,
    /// Protection of messages that the server requires.
    pub protection: Protection,
    /// When clients see the time of a write.
    pub write_times: WriteTimes,
    /// Largest READ and WRITE, in bytes: 64 KiB to 8 MiB.
    pub max_transfer: u32,
    /// Maximum number of connections. At the limit, the oldest connection without a login is closed for a new one; if
    /// there is none, the new one is closed.
    pub max_connections: usize,
    /// Maximum number of open files per connection. [`SmbServer::limit_opens`](crate::SmbServer::limit_opens) changes it.
    pub max_opens: usize,
    /// Maximum number of messages of one connection in progress; more wait in the socket.
    pub max_in_flight: usize,
    /// Timeout for receiving a message once it has begun, and for sending a reply. A slower connection is closed.
    pub io_timeout: Duration,
    /// Timeout from accepting a connection to the first login on it.
    pub login_timeout: Duration,
    /// Longest time without a request.
    pub idle_timeout: Duration,
    /// Memory for the state of clients.
    pub budget: StateBudget,
    /// Receives failed logins and refused connections.
    pub log: EventLog,
    /// Threads that serve connections; at least 1.
    pub threads: usize,
    /// Threads that wait for a volume that blocks; at least 1. A volume that never blocks needs none.
    pub workers: usize,
}

impl Default for SmbServerOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            share: "share".to_owned(),
            accounts: Vec::new(),
            keys: None,
            read_only: false,
            leases: false,
            changes: ChangeReports::default(),
            exclusive: false,
            smb1: false,
            protection: Protection::Optional,
            write_times: WriteTimes::AtOnce,
            max_transfer: 1 << 20,
            max_connections: 10_000,
            max_opens: 16_384,
            max_in_flight: 256,
            io_timeout: Duration::from_secs(60),
            login_timeout: LOGIN_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            budget: StateBudget::default(),
            log: EventLog::default(),
            threads: cores.min(8),
            workers: 64,
        }
    }
}

impl SmbServerOptions {
    /// True if not everybody may log in.
    pub(super) fn has_accounts(&self) -> bool {
        !self.accounts.is_empty() || self.keys.is_some()
    }

    /// The mechanisms of logins.
    pub(super) fn mechanisms(&self) -> ServerMechanisms {
        match &self.keys {
            None => ServerMechanisms::Ntlm,
            Some(_) if self.accounts.is_empty() => ServerMechanisms::Kerberos,
            Some(_) => ServerMechanisms::Both,
        }
    }

    pub(super) fn check(&self) -> Result<(), ServeError> {
        if !self.has_accounts() && self.protection != Protection::Optional {
            return Err(ServeError::KeysNeedAccounts { protocol: PROTOCOL });
        }
        let wrong = |detail: String| Err(ServeError::Options { protocol: PROTOCOL, detail });
        if self.smb1 && self.protection == Protection::Encrypted {
            return wrong("SMB1 has no encryption, so that it cannot be required".to_owned());
        }
        let pipes = self.share.eq_ignore_ascii_case("IPC$");
        if pipes || self.share.chars().count() > MAX_SHARE_NAME || check_portable_name(&self.share).is_err() {
            return wrong(format!("'{}' is not the name of a share", self.share));
        }
        if let Some((name, _)) = self.accounts.iter().find(|(name, _)| name.is_empty()) {
            return wrong(format!("'{name}' is not the name of an account"));
        }
        if !(64 << 10..=8 << 20).contains(&self.max_transfer) {
            return wrong(format!(
                "a largest transfer of {} bytes is not 64 KiB to 8 MiB",
                self.max_transfer
            ));
        }
        Ok(())
    }
}

/// Longest name of a share in characters (MS-SRVS 2.2.4.22).
const MAX_SHARE_NAME: usize = 80;

#[cfg(test)]
mod tests {
    use super::{Secret, SmbServerOptions};

    #[test]
    fn debug_shows_no_password() {
        let accounts = vec![("alice".to_owned(), Secret::new("hunter2"))];
        let shown = format!("{:?}", SmbServerOptions { accounts, ..SmbServerOptions::default() });
        assert!(shown.contains("alice") && !shown.contains("hunter2"), "{shown}");
    }
}
