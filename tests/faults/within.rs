//! Embedded servers inside the suite, with limits for which the program has no flags.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sharebench_ncp::server::Watchdog;
use sharebench_server::{
    DirectoryOptions, DirectoryVolume, NcpServer, NcpServerOptions, NfsServer, NfsServerOptions, SmbServer,
    SmbServerOptions, Volume,
};
use sharebench_target::Secret;
use sharebench_tests::{Served, Smbd};

use crate::peer::Kind;

/// Maximum connections of such a server.
const CONNECTIONS: u16 = 8;
/// The watchdog probes a client and closes its connection within one think time of the users. A stall of the machine
/// of one second does not trigger it.
const WATCHDOG: Watchdog =
    Watchdog { idle: Duration::from_millis(400), interval: Duration::from_millis(400), attempts: 8 };

/// A running server.
pub enum Within {
    Smb(SmbServer),
    Nfs(NfsServer),
    Ncp(NcpServer),
}

impl Within {
    /// Serves a directory.
    pub fn start(kind: Kind, directory: &Path) -> Self {
        let volume = DirectoryVolume::open(directory, &DirectoryOptions::default()).unwrap();
        let volume: Arc<dyn Volume> = Arc::new(volume);
        let any = "127.0.0.1:0".parse().unwrap();
        let accounts = vec![(Served::USER.to_owned(), Secret::new(Smbd::PASSWORD))];
        let max_connections = usize::from(CONNECTIONS);
        match kind {
            Kind::Smb => {
                let options = SmbServerOptions { accounts, max_connections, ..SmbServerOptions::default() };
                Self::Smb(SmbServer::start(any, volume, options).unwrap())
            }
            Kind::Nfs => {
                let options = NfsServerOptions { max_connections, ..NfsServerOptions::default() };
                Self::Nfs(NfsServer::start(any, volume, options).unwrap())
            }
            _ => {
                let options = NcpServerOptions {
                    accounts,
                    max_connections: CONNECTIONS,
                    watchdog: WATCHDOG,
                    ..NcpServerOptions::default()
                };
                Self::Ncp(NcpServer::start(any, volume, options).unwrap())
            }
        }
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        match self {
            Self::Smb(server) => server.addr().port(),
            Self::Nfs(server) => server.addr().port(),
            Self::Ncp(server) => server.addr().port(),
        }
    }

    /// Returns the URL of the server; for NCP on UDP, because only UDP has a watchdog.
    pub fn url(&self) -> String {
        let user = Served::USER;
        let port = self.port();
        match self {
            Self::Smb(_) => format!("smb://{user}@127.0.0.1:{port}/share/"),
            Self::Nfs(_) => format!("nfs://127.0.0.1:{port}/export/?mountport={port}"),
            Self::Ncp(_) => format!("ncp://{user}@127.0.0.1:{port}/SHARE/?transport=udp"),
        }
    }
}
