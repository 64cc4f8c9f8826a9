//! The servers of the suite, real and embedded, with one interface for signals, ports and the directory.

use std::path::PathBuf;

use sharebench_tests::{
    Disk, Failing, Ganesha, GaneshaOptions, Need, Served, Sharebench, Signal, Smbd, SmbdOptions,
};

use crate::case::Case;
use crate::stage::Stage;
use crate::within::Within;

/// Command that runs a program as an unprivileged user.
const NOBODY: [&str; 5] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];

/// Kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Samba.
    Smbd,
    /// NFS-Ganesha.
    Ganesha,
    /// `sharebench serve` over SMB.
    Smb,
    /// `sharebench serve` over NFS.
    Nfs,
    /// The same over version 4.1.
    Nfs4,
    /// The same with four connections per session.
    Nfs4Connections,
    /// NFS-Ganesha over version 4.1.
    Ganesha4,
    /// `sharebench serve` over NCP on TCP.
    Ncp,
    /// `sharebench serve` over NCP on TCP, with a volume that has DOS names only.
    NcpDos,
    /// No server: a directory of this machine.
    Local,
}

impl Kind {
    /// Returns the name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smbd => "smbd",
            Self::Ganesha => "ganesha",
            Self::Smb => "embedded SMB",
            Self::Nfs => "embedded NFS",
            Self::Nfs4 => "embedded NFSv4.1",
            Self::Nfs4Connections => "embedded NFSv4.1, four connections",
            Self::Ganesha4 => "ganesha, NFSv4.1",
            Self::Ncp => "embedded NCP",
            Self::NcpDos => "embedded NCP, DOS names only",
            Self::Local => "local directory",
        }
    }

    /// Returns the requirements of the machine.
    pub fn needs(self) -> &'static [Need] {
        match self {
            Self::Smbd => &Smbd::NEEDS,
            Self::Ganesha | Self::Ganesha4 => &Ganesha::NEEDS,
            Self::Smb
            | Self::Nfs
            | Self::Nfs4
            | Self::Nfs4Connections
            | Self::Ncp
            | Self::NcpDos
            | Self::Local => &[],
        }
    }
}

/// A running server.
pub enum Peer {
    /// Samba.
    Smbd(Box<Smbd>),
    /// NFS-Ganesha, over one of its versions.
    Ganesha(Box<Ganesha>, Kind),
    /// `sharebench serve` over one of its protocols.
    Served(Box<Served>, Kind),
    /// An embedded server inside the suite.
    Within(Within, PathBuf),
    /// Only a directory.
    Local(PathBuf),
}

impl Peer {
    /// Starts the server of a case, on its own disk if there is one, and with a library that fails system calls.
    pub fn start(
        case: &Case,
        sharebench: &Sharebench,
        disk: Option<&Disk>,
        failing: Option<&Failing>,
    ) -> Self {
        let kind = case.at;
        let stage = case.stage;
        let disk = disk.cloned();
        let failing = failing.cloned();
        match kind {
            Kind::Smbd => {
                let dialects = case.is_smb1().then_some(("NT1", "SMB3_11"));
                let options = SmbdOptions { failing, disk, dialects, ..SmbdOptions::default() };
                Self::Smbd(Box::new(Smbd::start(&options).unwrap()))
            }
            Kind::Ganesha | Kind::Ganesha4 => {
                let options = GaneshaOptions { failing, disk, ..GaneshaOptions::default() };
                Self::Ganesha(Box::new(Ganesha::start(&options).unwrap()), kind)
            }
            Kind::Smb | Kind::Nfs | Kind::Nfs4 | Kind::Ncp if stage == Stage::Within => {
                let directory = sharebench.home().join("within");
                std::fs::create_dir(&directory).unwrap();
                Self::Within(Within::start(kind, &directory), directory)
            }
            Kind::Smb | Kind::Nfs | Kind::Nfs4 | Kind::Nfs4Connections | Kind::Ncp | Kind::NcpDos => {
                let mount = disk.as_ref().map(|disk| disk.mount("served") + " && exec \"$@\"");
                let words: &[&str] = match &mount {
                    Some(mount) => &["unshare", "--mount", "sh", "-c", mount, "sh"],
                    None if stage == Stage::NobodyServes => &NOBODY,
                    None => &[],
                };
                let flags: &[&str] = if kind == Kind::NcpDos { &["--ncp-options", "names=dos"] } else { &[] };
                let served = sharebench.serve_by(words, "served", flags).unwrap();
                Self::Served(Box::new(served), kind)
            }
            Kind::Local => {
                let directory = sharebench.home().join("local");
                std::fs::create_dir(&directory).unwrap();
                Self::Local(directory)
            }
        }
    }

    /// Returns the TCP port of its protocol.
    pub fn port(&self) -> u16 {
        match self {
            Self::Smbd(smbd) => smbd.port(),
            Self::Ganesha(ganesha, _) => ganesha.port(),
            Self::Served(served, Kind::Smb) => served.smb_port,
            Self::Served(served, Kind::Nfs | Kind::Nfs4 | Kind::Nfs4Connections) => served.nfs_port,
            Self::Served(served, _) => served.ncp_port,
            Self::Within(server, _) => server.port(),
            Self::Local(_) => 0,
        }
    }

    /// Returns the URL of the target, with the data connection through another port if there is one.
    pub fn url(&self, through: Option<u16>) -> String {
        let url = match self {
            Self::Smbd(smbd) => smbd.url("", ""),
            Self::Ganesha(ganesha, Kind::Ganesha4) => ganesha.url4("", "4.1"),
            Self::Ganesha(ganesha, _) => ganesha.url("", ""),
            Self::Served(served, Kind::Smb) => served.smb_url(""),
            Self::Served(served, Kind::Nfs) => served.nfs_url(""),
            Self::Served(served, Kind::Nfs4) => served.nfs4_url("", "vers=4.1"),
            Self::Served(served, Kind::Nfs4Connections) => served.nfs4_url("", "vers=4.1&nconnect=4"),
            Self::Served(served, _) => served.ncp_url(""),
            Self::Within(server, _) => server.url(),
            Self::Local(directory) => directory.display().to_string(),
        };
        let Some(port) = through else { return url };
        url.replacen(&format!("127.0.0.1:{}/", self.port()), &format!("127.0.0.1:{port}/"), 1)
    }

    /// Returns the directory of its files.
    pub fn directory(&self) -> PathBuf {
        match self {
            Self::Smbd(smbd) => smbd.share(),
            Self::Ganesha(ganesha, _) => ganesha.directory(),
            // The directory may be a mount in the mount namespace of the server.
            Self::Served(served, _) => served.program().path(served.directory()),
            Self::Within(_, directory) | Self::Local(directory) => directory.clone(),
        }
    }

    /// Returns the id of the embedded server process.
    pub fn pid(&self) -> u32 {
        match self {
            Self::Served(served, _) => served.program().pid(),
            _ => std::process::id(),
        }
    }

    /// Kills the server.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Stops the server with SIGSTOP.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Continues a stopped server.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        match self {
            Self::Smbd(smbd) => smbd.signal(signal),
            Self::Ganesha(ganesha, _) => ganesha.signal(signal),
            Self::Served(served, _) => served.program().signal_group(signal),
            Self::Within(..) | Self::Local(_) => {}
        }
    }

    /// Kills the server and starts it again on the same port.
    pub fn restart(&mut self, sharebench: &Sharebench) {
        match self {
            Self::Smbd(smbd) => smbd.restart().unwrap(),
            Self::Ganesha(ganesha, _) => ganesha.restart().unwrap(),
            Self::Served(served, _) => served.restart(sharebench).unwrap(),
            Self::Within(..) | Self::Local(_) => {}
        }
    }
}
