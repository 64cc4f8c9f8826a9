//! The origin of packets, and the machine of a client.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::wire::ipx::Address;

/// The origin of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    /// A stream in a simulation, by a number that the front end assigns. Failed logins delay nothing there.
    Stream(u64),
    /// A stream with the address of its client.
    AddressedStream(u64, IpAddr),
    /// An IP address.
    Ip(SocketAddr),
    /// An IPX address.
    Ipx(Address),
}

/// The machine that a client is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoginSource {
    /// A transport without addresses, of simulations. Nothing is delayed there.
    Unknown,
    /// An IP address.
    Ip(IpAddr),
    /// Network and node of IPX.
    Ipx(u32, [u8; 6]),
}

impl From<Peer> for LoginSource {
    fn from(peer: Peer) -> Self {
        match peer {
            Peer::Stream(_) => Self::Unknown,
            Peer::AddressedStream(_, address) => Self::Ip(address),
            Peer::Ip(address) => Self::Ip(address.ip().to_canonical()),
            Peer::Ipx(address) => Self::Ipx(address.network, address.node),
        }
    }
}

impl fmt::Display for LoginSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("an unknown address"),
            Self::Ip(address) => write!(f, "{address}"),
            Self::Ipx(network, node) => {
                write!(f, "{network:08x}:")?;
                node.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}
