//! Embedded servers inside the suite, with limits for which the program has no flags.

use std::net::SocketAddr;
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
    /// NFSv4.1 with a short lease and a state file; the server, where it listens, and its options.
    Nfs4(Option<NfsServer>, SocketAddr, Box<(Arc<dyn Volume>, NfsServerOptions)>),
    Ncp(NcpServer),
}

/// Lease of NFSv4 clients, and length of the grace period after a restart.
const LEASE: Duration = Duration::from_secs(2);

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
            Kind::Nfs4 => {
                let state = Some(directory.with_extension("state"));
                let options = NfsServerOptions { lease: LEASE, state, ..NfsServerOptions::default() };
                let server = NfsServer::start(any, Arc::clone(&volume), options.clone()).unwrap();
                let address = server.addr();
                Self::Nfs4(Some(server), address, Box::new((volume, options)))
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

    /// Stops the server and starts it again on its port.
    pub fn restart(&mut self) {
        if let Self::Nfs4(server, address, start) = self {
            server.take().unwrap().stop();
            let (volume, options) = &**start;
            *server = Some(NfsServer::start(*address, Arc::clone(volume), options.clone()).unwrap());
        }
    }

    /// Number of NFSv4 clients that have a lease.
    pub fn nfs4_clients(&self) -> usize {
        match self {
            Self::Nfs4(Some(server), ..) => server.nfs4_clients(),
            _ => 0,
        }
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        match self {
            Self::Smb(server) => server.addr().port(),
            Self::Nfs(server) => server.addr().port(),
            Self::Nfs4(_, address, _) => address.port(),
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
            Self::Nfs4(..) => format!("nfs://127.0.0.1:{port}/export/?vers=4.1"),
            Self::Ncp(_) => format!("ncp://{user}@127.0.0.1:{port}/SHARE/?transport=udp"),
        }
    }
}
