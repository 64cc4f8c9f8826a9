//! How the SMB front end serves its volume.

use std::net::SocketAddr;
use std::sync::Arc;

use sharebench_target::Secret;
use smb_server::{Access, Share};

use crate::Volume;
use crate::front_end::ServeError;
use crate::smb::PROTOCOL;
use crate::smb::share::VolumeShare;

/// What sessions must do to their messages, beyond what the client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protection {
    /// What the client chooses.
    #[default]
    Optional,
    /// Sessions that do not sign are refused.
    Signed,
    /// Sessions that do not encrypt are refused.
    Encrypted,
}

/// Options of [`SmbServer`](crate::SmbServer).
#[derive(Debug, Clone)]
pub struct SmbServerOptions {
    /// Name of the share.
    pub share: String,
    /// Who may log in, and with which password. Without users everybody may, as guest.
    pub users: Vec<(String, Secret)>,
    /// Refuse every change.
    pub read_only: bool,
    /// What sessions must do to their messages.
    pub protection: Protection,
    /// Let clients cache by leases. Turn it off where the tree also changes by other ways than this
    /// server: clients would go on serving what they cached.
    pub leases: bool,
    /// Largest READ and WRITE, in bytes: 64 KiB to 8 MiB.
    pub max_transfer: u32,
    /// Connections served at once.
    pub max_connections: usize,
    /// Threads that serve connections; at least 1.
    pub threads: usize,
}

impl Default for SmbServerOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            share: "share".to_owned(),
            users: Vec::new(),
            read_only: false,
            protection: Protection::Optional,
            leases: true,
            max_transfer: 1 << 20,
            max_connections: 10_000,
            threads: cores.min(8),
        }
    }
}

impl SmbServerOptions {
    /// A server that is not bound yet.
    pub(super) fn build(
        self,
        addr: SocketAddr,
        volume: Arc<dyn Volume>,
    ) -> Result<smb_server::SmbServer, ServeError> {
        if self.users.is_empty() && self.protection != Protection::Optional {
            return Err(ServeError::KeysNeedUsers { protocol: PROTOCOL });
        }
        let share = Share::new(&self.share, VolumeShare::new(volume, self.read_only)).leases(self.leases);
        let access = if self.read_only { Access::Read } else { Access::ReadWrite };
        let share = match (self.users.is_empty(), self.read_only) {
            (true, true) => share.public_read_only(),
            (true, false) => share.public(),
            (false, _) => self.users.iter().fold(share, |share, (name, _)| share.user(name, access)),
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
        let users = self.users.iter();
        let builder =
            users.fold(builder, |builder, (name, password)| builder.user(name, &*password.expose()));
        let refused = |error: smb_server::BuildError| ServeError::Options {
            protocol: PROTOCOL,
            detail: error.to_string(),
        };
        builder.share(share).build().map_err(refused)
    }
}

/// Most files one connection may hold open; the crate's own default is too small for a benchmark's trees.
const OPENS_PER_CONNECTION: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::{Secret, SmbServerOptions};

    #[test]
    fn debug_shows_no_password() {
        let users = vec![("alice".to_owned(), Secret::new("hunter2"))];
        let shown = format!("{:?}", SmbServerOptions { users, ..SmbServerOptions::default() });
        assert!(shown.contains("alice") && !shown.contains("hunter2"), "{shown}");
    }
}
