//! All front ends of one volume, started and stopped together.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use sharebench_gss::AcceptorKeys;
use sharebench_ncp::security::level::Level;
use sharebench_ncp::server::Watchdog;
use sharebench_target::Secret;

use crate::front_ends::front_end::{EventLog, FrontEnd, ServeError};
use crate::front_ends::refusal_log::RefusalLog;
use crate::front_ends::state_budget::StateBudget;
use crate::volume::view::VolumeView;
use crate::{
    BinderyProfile, ChangeReports, CommitPolicy, NameSpaces, NcpEtherOptions, NcpEtherServer, NcpServer,
    NcpServerOptions, NfsServer, NfsServerOptions, NfsTls, SmbServer, SmbServerOptions, Volume, WriteTimes,
};

/// Protocols and rules with which a volume is served.
// Each of them is a flag of its own.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Address for SMB, if it is served.
    pub smb: Option<SocketAddr>,
    /// Address for NFS, if it is served.
    pub nfs: Option<SocketAddr>,
    /// Address for NCP on TCP and UDP, if it is served.
    pub ncp: Option<SocketAddr>,
    /// Address for NCP on IPX in UDP, if it is served.
    pub ncp_ipx: Option<SocketAddr>,
    /// Interface for NCP on IPX in Ethernet frames, if it is served.
    pub ncp_ether: Option<NcpEtherOptions>,
    /// When NCP packets are signed.
    pub ncp_signatures: Level,
    /// When IPX packets on an Ethernet have checksums.
    pub ncp_checksums: Level,
    /// When committed files of NCP clients are on stable storage.
    pub ncp_commit: CommitPolicy,
    /// Name spaces of the NCP volume.
    pub ncp_names: NameSpaces,
    /// When SMB clients see the time of a write.
    pub smb_write_times: WriteTimes,
    /// Whether the SMB server answers clients of SMB1; see [`SmbServerOptions::smb1`].
    pub smb1: bool,
    /// Accounts that may log in, with their passwords.
    pub accounts: Vec<(String, Secret)>,
    /// Keys for which the SMB and NFS servers accept Kerberos tickets. NFS then requires Kerberos.
    pub keys: Option<AcceptorKeys>,
    /// Groups and full names of accounts, which the bindery of NCP shows.
    pub bindery_profiles: HashMap<String, BinderyProfile>,
    /// When NCP queries silent clients on datagrams, and when it removes them.
    pub ncp_watchdog: Watchdog,
    /// Whether `log` also receives successful logins over NCP.
    pub log_logins: bool,
    /// Reject every change.
    pub read_only: bool,
    /// Name of the SMB share; the NFS export is `/` and this name, the NCP volume this name in upper case.
    pub name: String,
    /// Maximum number of clients of each server; none for the defaults of the servers. NFS accepts twice as many
    /// connections, because a client needs two while it mounts.
    pub max_clients: Option<u16>,
    /// Receives failed logins and refused connections.
    pub log: EventLog,
    /// Serve NFS on an address that other machines can reach, although NFS has no passwords.
    pub expose_nfs: bool,
    /// TLS of NFS for clients that request it.
    pub nfs_tls: Option<NfsTls>,
    /// Answer version 3 of NFS over UDP as well; see [`NfsServerOptions::udp`].
    pub nfs_udp: bool,
    /// File that NFS keeps for the next start over the same volume; see [`NfsServerOptions::state`].
    pub nfs_state: Option<PathBuf>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            smb: None,
            nfs: None,
            ncp: None,
            ncp_ipx: None,
            ncp_ether: None,
            ncp_signatures: Level::IfRequested,
            ncp_checksums: Level::IfRequested,
            ncp_commit: CommitPolicy::Disk,
            ncp_names: NameSpaces::All,
            smb_write_times: WriteTimes::AtOnce,
            smb1: false,
            accounts: Vec::new(),
            keys: None,
            bindery_profiles: HashMap::new(),
            ncp_watchdog: Watchdog::default(),
            log_logins: false,
            read_only: false,
            name: "share".to_owned(),
            max_clients: None,
            log: EventLog::default(),
            expose_nfs: false,
            nfs_tls: None,
            nfs_udp: false,
            nfs_state: None,
        }
    }
}

impl ServeOptions {
    /// Options of the SMB server, which observes what the others change.
    fn smb_server(&self, changes: ChangeReports, budget: &StateBudget) -> SmbServerOptions {
        let others = self.nfs.or(self.ncp).or(self.ncp_ipx).is_some() || self.ncp_ether.is_some();
        let smb = SmbServerOptions {
            share: self.name.clone(),
            accounts: self.accounts.clone(),
            keys: self.keys.clone(),
            read_only: self.read_only,
            leases: true,
            write_times: self.smb_write_times,
            smb1: self.smb1,
            // NFS and NCP do not wait for the data that an SMB client would have to write back first.
            exclusive: !others,
            changes,
            budget: budget.clone(),
            log: self.log.clone(),
            ..SmbServerOptions::default()
        };
        let max_connections = self.max_clients.map_or(smb.max_connections, usize::from);
        SmbServerOptions { max_connections, ..smb }
    }

    /// Options of the NFS server, which observes what the others change.
    fn nfs_server(&self, changes: ChangeReports, budget: &StateBudget) -> NfsServerOptions {
        let nfs = NfsServerOptions {
            export: format!("/{}", self.name),
            expose: self.expose_nfs,
            state: self.nfs_state.clone(),
            changes,
            budget: budget.clone(),
            keys: self.keys.clone(),
            tls: self.nfs_tls.clone(),
            udp: self.nfs_udp,
            log: self.log.clone(),
            ..NfsServerOptions::default()
        };
        let max_connections = self.max_clients.map_or(nfs.max_connections, |most| 2 * usize::from(most));
        NfsServerOptions { max_connections, ..nfs }
    }

    /// Options of the NCP servers.
    fn ncp_server(&self, budget: StateBudget) -> NcpServerOptions {
        let ncp = NcpServerOptions {
            volume: self.name.clone(),
            accounts: self.accounts.clone(),
            signatures: self.ncp_signatures,
            checksums: self.ncp_checksums,
            commit: self.ncp_commit,
            names: self.ncp_names,
            bindery_profiles: self.bindery_profiles.clone(),
            watchdog: self.ncp_watchdog,
            log_logins: self.log_logins,
            budget,
            log: self.log.clone(),
            ..NcpServerOptions::default()
        };
        let max_connections = self.max_clients.unwrap_or(ncp.max_connections);
        NcpServerOptions { max_connections, ..ncp }
    }
}

/// The running servers of one volume. Dropping them stops them.
///
/// All of them serve the same tree at the same time, so that one benchmark can compare protocols over identical storage.
pub struct EmbeddedServers {
    front_ends: Vec<Box<dyn FrontEnd>>,
    /// A server on raw Ethernet, which has no IP address.
    ether: Option<NcpEtherServer>,
}

impl EmbeddedServers {
    /// Starts all requested servers, or none.
    ///
    /// # Errors
    /// The first server that fails to start; those before it are stopped.
    pub fn start(volume: &Arc<dyn Volume>, options: &ServeOptions) -> Result<Self, ServeError> {
        let mut servers = Self { front_ends: Vec::new(), ether: None };
        let volume: Arc<dyn Volume> = if options.read_only {
            Arc::new(VolumeView::read_only(Arc::clone(volume)))
        } else {
            Arc::clone(volume)
        };
        let budget = RefusalLog::state_budget(StateBudget::DEFAULT_BYTES, options.log.clone());
        let smb_changes = options.smb.map(|_| ChangeReports::default());
        let nfs_changes = options.nfs.map(|_| ChangeReports::default());
        // Only NFS serves links, and what the clients of one server cache ends with a change over another.
        let view = |links, others: &[&Option<ChangeReports>]| -> Arc<dyn Volume> {
            let reports: Vec<_> = others.iter().copied().flatten().cloned().collect();
            if reports.is_empty() {
                Arc::clone(&volume)
            } else {
                Arc::new(VolumeView::new(&volume, links, reports))
            }
        };
        if let Some(addr) = options.smb {
            let smb = options.smb_server(smb_changes.clone().unwrap_or_default(), &budget);
            servers.front_ends.push(Box::new(SmbServer::start(addr, view(false, &[&nfs_changes]), smb)?));
        }
        if let Some(addr) = options.nfs {
            let nfs = options.nfs_server(nfs_changes.clone().unwrap_or_default(), &budget);
            servers.front_ends.push(Box::new(NfsServer::start(addr, view(true, &[&smb_changes]), nfs)?));
        }
        let ncp = options.ncp_server(budget);
        let plain = view(false, &[&smb_changes, &nfs_changes]);
        if let Some(addr) = options.ncp {
            servers.front_ends.push(Box::new(NcpServer::start(addr, Arc::clone(&plain), ncp.clone())?));
        }
        if let Some(addr) = options.ncp_ipx {
            servers.front_ends.push(Box::new(NcpServer::start_ipx(addr, Arc::clone(&plain), ncp.clone())?));
        }
        if let Some(ether) = &options.ncp_ether {
            servers.ether = Some(NcpEtherServer::start(ether, plain, ncp)?);
        }
        Ok(servers)
    }

    /// Protocol and address of each server.
    pub fn addrs(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        self.front_ends.iter().map(|front_end| (front_end.protocol(), front_end.addr()))
    }

    /// Address of the server for `protocol`.
    pub fn addr(&self, protocol: &str) -> Option<SocketAddr> {
        self.addrs().find(|(served, _)| *served == protocol).map(|(_, addr)| addr)
    }

    /// Stops all servers.
    pub fn stop(self) {
        drop(self);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::sync::Arc;

    use super::{EmbeddedServers, ServeOptions};
    use crate::{MemoryVolume, ServeError, Volume};

    fn volume() -> Arc<dyn Volume> {
        Arc::new(MemoryVolume::new(1 << 20))
    }

    #[test]
    fn all_protocols_listen_until_stopped() {
        let any = Some("127.0.0.1:0".parse().unwrap());
        let options =
            ServeOptions { smb: any, nfs: any, ncp: any, read_only: true, ..ServeOptions::default() };
        let volume = volume();
        for drops in [true, false] {
            let servers = EmbeddedServers::start(&volume, &options).unwrap();
            let addrs = ["smb", "nfs", "ncp"].map(|protocol| servers.addr(protocol).unwrap());
            for addr in addrs {
                TcpStream::connect(addr).unwrap();
            }
            if drops {
                drop(servers);
            } else {
                servers.stop();
            }
            for addr in addrs {
                assert!(TcpStream::connect(addr).is_err(), "{addr}");
            }
        }
        assert_eq!(Arc::strong_count(&volume), 1);
    }

    #[test]
    fn servers_started_before_a_failure_are_stopped() {
        let smb = "127.0.0.1:0".parse().unwrap();
        let nfs = "0.0.0.0:0".parse().unwrap();
        let options = ServeOptions { smb: Some(smb), nfs: Some(nfs), ..ServeOptions::default() };
        let volume = volume();
        let error = EmbeddedServers::start(&volume, &options).err().unwrap();
        assert!(matches!(error, ServeError::Exposed { protocol: "nfs", .. }), "{error}");
        assert_eq!(Arc::strong_count(&volume), 1);
    }
}
