//! A mode of a hostile server: where it sits, and what it does with each reply.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU8, Ordering};

use sharebench_tests::{Need, Served};

use crate::proxy::{Answer, Distort, Exchange, Framing, Greet, HostileProxy};

/// The protocol of a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// NFS and MOUNT over TCP.
    Nfs,
    /// NFS 4.0.
    Nfs40,
    /// NFS 4.1.
    Nfs41,
    /// NFS 4.2.
    Nfs42,
    /// The port mapper over TCP.
    Portmapper,
    /// SMB without encryption.
    Smb,
    /// SMB with encryption.
    EncryptedSmb,
    /// SMB with encryption, by a server that has the keys: what the client decrypts is hostile.
    OpenedSmb,
    /// NCP over TCP.
    NcpTcp,
    /// NCP over UDP.
    NcpUdp,
    /// NCP on IPX in UDP.
    NcpIpx,
}

impl Protocol {
    /// Its name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nfs => "NFS and MOUNT",
            Self::Nfs40 => "NFS 4.0",
            Self::Nfs41 => "NFS 4.1",
            Self::Nfs42 => "NFS 4.2",
            Self::Portmapper => "port mapper",
            Self::Smb => "SMB",
            Self::EncryptedSmb => "encrypted SMB",
            Self::OpenedSmb => "encrypted SMB, content",
            Self::NcpTcp => "NCP over TCP",
            Self::NcpUdp => "NCP over UDP",
            Self::NcpIpx => "NCP on IPX",
        }
    }

    const fn framing(self) -> Framing {
        match self {
            Self::Nfs
            | Self::Nfs40
            | Self::Nfs41
            | Self::Nfs42
            | Self::Portmapper
            | Self::Smb
            | Self::EncryptedSmb => Framing::Prefix,
            Self::OpenedSmb => Framing::OpenedSmb,
            Self::NcpTcp => Framing::Ncp,
            Self::NcpUdp | Self::NcpIpx => Framing::Datagrams,
        }
    }

    const fn server_port(self, served: &Served) -> u16 {
        match self {
            Self::Nfs | Self::Nfs40 | Self::Nfs41 | Self::Nfs42 | Self::Portmapper => served.nfs_port,
            Self::Smb | Self::EncryptedSmb | Self::OpenedSmb => served.smb_port,
            Self::NcpTcp | Self::NcpUdp => served.ncp_port,
            Self::NcpIpx => served.ipx_port,
        }
    }
}

/// A way in which a server is hostile.
#[derive(Clone, Copy)]
pub struct Mode {
    /// The protocol.
    pub protocol: Protocol,
    /// Name in the table.
    pub what: &'static str,
    /// Replaces each reply.
    pub distort: Distort,
    /// What a new connection receives.
    pub greet: Greet,
    /// The program waits for its timeout.
    pub is_slow: bool,
    /// The server makes progress until a limit of the client ends it. The time for that depends on the machine.
    pub is_endless: bool,
    /// The real server sees wrong passwords.
    pub spoils_login: bool,
    /// The class of the error that every command but `probe` prints if it fails; empty where that depends on the command.
    pub error: &'static str,
}

impl Mode {
    /// A mode that replaces replies at once.
    pub const fn new(protocol: Protocol, what: &'static str, distort: Distort) -> Self {
        Self {
            protocol,
            what,
            distort,
            greet: || None,
            is_slow: false,
            is_endless: false,
            spoils_login: false,
            error: "",
        }
    }

    /// A mode at which the program waits for its timeout.
    pub const fn slow(protocol: Protocol, what: &'static str, distort: Distort) -> Self {
        Self { is_slow: true, ..Self::new(protocol, what, distort) }
    }

    /// A mode that acts as soon as a connection is open; the program waits for its timeout or attempts to connect until then.
    pub const fn greeting(protocol: Protocol, what: &'static str, greet: Greet) -> Self {
        Self { greet, is_slow: true, ..Self::new(protocol, what, forward) }
    }

    /// A mode at which the real server sees wrong passwords.
    pub const fn spoiling(protocol: Protocol, what: &'static str, distort: Distort) -> Self {
        Self { spoils_login: true, ..Self::new(protocol, what, distort) }
    }

    /// A mode that lists up to a limit of the client.
    pub const fn endless(protocol: Protocol, what: &'static str, distort: Distort) -> Self {
        Self { is_endless: true, ..Self::new(protocol, what, distort) }
    }

    /// What `--timeout` allows. Only what waits for it is short: the others must reach their end on any machine, because
    /// the exit code would otherwise depend on its speed.
    pub const fn timeout_s(&self) -> u64 {
        match self.protocol {
            Protocol::Nfs40 | Protocol::Nfs41 | Protocol::Nfs42 if self.is_slow => 6,
            _ if self.is_slow => 20,
            _ => 60,
        }
    }

    /// Requirements of the machine.
    pub const fn needs(&self) -> &'static [Need] {
        match self.protocol {
            // The port mapper has a port that only root can open.
            Protocol::Portmapper => &[Need::Root],
            _ => &[],
        }
    }

    /// Starts the hostile server; returns it with its URL.
    pub fn start(&self, served: &Served, directory: &str) -> std::io::Result<(HostileProxy, String)> {
        let at = match self.protocol {
            Protocol::Portmapper => (own_address(), PORTMAPPER_PORT),
            _ => (Ipv4Addr::LOCALHOST, 0),
        };
        let framing = self.protocol.framing();
        let server_port = self.protocol.server_port(served);
        let proxy = HostileProxy::start(at, server_port, framing, self.distort, self.greet)?;
        let port = proxy.port();
        let user = Served::USER;
        let url = match self.protocol {
            Protocol::Nfs => {
                format!("nfs://127.0.0.1:{port}{}/{directory}?mountport={port}", Served::EXPORT)
            }
            Protocol::Nfs40 | Protocol::Nfs41 | Protocol::Nfs42 => {
                let version = self.protocol.name().trim_start_matches("NFS ");
                format!("nfs://127.0.0.1:{port}{}/{directory}?vers={version}", Served::EXPORT)
            }
            Protocol::Portmapper => format!("nfs://{}{}/{directory}", at.0, Served::EXPORT),
            Protocol::Smb => format!("smb://{user}@127.0.0.1:{port}/share/{directory}"),
            Protocol::EncryptedSmb | Protocol::OpenedSmb => {
                format!("smb://{user}@127.0.0.1:{port}/share/{directory}?encrypt=required")
            }
            Protocol::NcpTcp => format!("ncp://{user}@127.0.0.1:{port}/SHARE/{directory}"),
            Protocol::NcpUdp => format!("ncp://{user}@127.0.0.1:{port}/SHARE/{directory}?transport=udp"),
            Protocol::NcpIpx => {
                format!("ncp://{user}@127.0.0.1:{port}/SHARE/{directory}?transport=ipx&split=on")
            }
        };
        Ok((proxy, url))
    }
}

/// The port of every port mapper (RFC 1833, 3).
const PORTMAPPER_PORT: u16 = 111;

/// An address of the loopback that no other port mapper uses.
fn own_address() -> Ipv4Addr {
    static TURN: AtomicU8 = AtomicU8::new(1);
    Ipv4Addr::new(127, 45, 67, TURN.fetch_add(1, Ordering::Relaxed))
}

/// A name that would clear a terminal, set its title and reverse the order of characters.
pub const ESCAPES: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\u{202e}name";

/// Passes a reply on unchanged.
pub fn forward(exchange: Exchange<'_>) -> Answer {
    Answer::Send(exchange.reply)
}

/// Bytes that mean nothing in any protocol, the same in each run.
pub fn garbage(len: usize) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}
