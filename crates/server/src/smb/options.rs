//! Options of the SMB front end.

use std::net::SocketAddr;
use std::sync::Arc;

use sharebench_target::Secret;
use smb_server::{Access, Share};

use crate::Volume;
use crate::front_end::{EventLog, ServeError};
use crate::smb::PROTOCOL;
use crate::smb::share::VolumeShare;

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
#[derive(Debug, Clone)]
pub struct SmbServerOptions {
    /// Name of the share.
    pub share: String,
    /// Accounts that may log in, with their passwords. Without accounts everybody may, as guest.
    pub accounts: Vec<(String, Secret)>,
    /// Reject every change.
    pub read_only: bool,
    /// Protection of messages that the server requires.
    pub protection: Protection,
    /// Grant leases, with which clients cache. Disable it if the tree also changes other than through this server,
    /// because clients would continue to serve stale data.
    pub leases: bool,
    /// Largest READ and WRITE, in bytes: 64 KiB to 8 MiB.
    pub max_transfer: u32,
    /// Maximum number of connections.
    pub max_connections: usize,
    /// Receives failed logins and refused connections.
    pub log: EventLog,
    /// Threads that serve connections; at least 1.
    pub threads: usize,
}

impl Default for SmbServerOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            share: "share".to_owned(),
            accounts: Vec::new(),
            read_only: false,
            protection: Protection::Optional,
            leases: true,
            max_transfer: 1 << 20,
            max_connections: 10_000,
            log: EventLog::default(),
            threads: cores.min(8),
        }
    }
}

impl SmbServerOptions {
    /// Creates a server that is not bound yet.
    pub(super) fn build(
        self,
        addr: SocketAddr,
        volume: Arc<dyn Volume>,
    ) -> Result<smb_server::SmbServer, ServeError> {
        if self.accounts.is_empty() && self.protection != Protection::Optional {
            return Err(ServeError::KeysNeedAccounts { protocol: PROTOCOL });
        }
        let share = Share::new(&self.share, VolumeShare::new(volume, self.read_only)).leases(self.leases);
        let access = if self.read_only { Access::Read } else { Access::ReadWrite };
        let share = match (self.accounts.is_empty(), self.read_only) {
            (true, true) => share.public_read_only(),
            (true, false) => share.public(),
            (false, _) => self.accounts.iter().fold(share, |share, (name, _)| share.user(name, access)),
        };
        let builder = smb_server::SmbServer::builder()
            .listen(addr)
            .netbios_name("SHAREBENCH")
            .require_signing(self.protection == Protection::Signed)
            .encrypt_data(self.protection == Protection::Encrypted)
            .max_read_size(self.max_transfer)
            .max_write_size(self.max_transfer)
            .max_connections(self.max_connections)
            .max_opens_per_connection(OPENS_PER_CONNECTION);
        let accounts = self.accounts.iter();
        let builder =
            accounts.fold(builder, |builder, (name, password)| builder.user(name, &*password.expose()));
        let error = |error: smb_server::BuildError| ServeError::Options {
            protocol: PROTOCOL,
            detail: error.to_string(),
        };
        builder.share(share).build().map_err(error)
    }
}

/// Maximum number of open files per connection. The default of `smb-server` is too small for a benchmark's trees.
const OPENS_PER_CONNECTION: usize = 16_384;

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
