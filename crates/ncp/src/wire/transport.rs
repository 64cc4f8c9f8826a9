//! What carries NCP packets (docs/protocols/ncp.md 1.5 to 1.9).

/// A transport of NCP packets. It decides how packets are framed, signed and retransmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransportKind {
    /// TCP: each message has a header, signatures precede the packet, and nothing is retransmitted.
    Tcp,
    /// UDP: a datagram is one packet, signatures follow it, and those of replies cover the data only.
    Udp,
    /// IPX packets in UDP datagrams (RFC 1234); signatures follow the NCP packet.
    IpxInUdp,
    /// IPX packets in Ethernet frames; signatures follow the NCP packet.
    IpxOnEthernet,
}

impl TransportKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Tcp, Self::Udp, Self::IpxInUdp, Self::IpxOnEthernet];

    /// The short name that options and facts use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::IpxInUdp => "ipx",
            Self::IpxOnEthernet => "ether",
        }
    }

    /// True when each message is a datagram, which may be lost, duplicated or reordered.
    pub const fn is_datagram(self) -> bool {
        !matches!(self, Self::Tcp)
    }

    /// True when packets have IPX headers.
    pub const fn is_ipx(self) -> bool {
        matches!(self, Self::IpxInUdp | Self::IpxOnEthernet)
    }
}
