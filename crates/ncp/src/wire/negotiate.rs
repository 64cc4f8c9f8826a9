//! Negotiation of buffer sizes, security features and packet burst: 0x21, 0x61 and 0x65 (docs/protocols/ncp.md 2.2,
//! 4.1).

use super::bytes::message;
use super::{Be16, Be32, Codec, Reader, U8, WireError};

/// Security bits of 0x61 (docs/protocols/ncp.md 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Security(pub u8);

impl Security {
    /// IPX checksums.
    pub const CHECKSUM: Self = Self(0x01);
    /// Packet signatures.
    pub const SIGNATURE: Self = Self(0x02);
    /// Signatures over whole packets.
    pub const COMPLETE_SIGNATURE: Self = Self(0x04);
    /// Encryption.
    pub const ENCRYPTION: Self = Self(0x08);
    /// Large internet packets are disabled.
    pub const NO_LARGE_PACKETS: Self = Self(0x80);

    /// True when all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union with another set.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The intersection with another set.
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

message! {
    /// 0x21: proposes a buffer size (docs/protocols/ncp.md 2.2).
    NegotiateBuffer {
        /// Data bytes of a read or write.
        proposed: u16 as Be16,
    }
}

message! {
    /// Reply to 0x21 (docs/protocols/ncp.md 2.2).
    NegotiatedBuffer {
        /// The smaller of what both sides support.
        accepted: u16 as Be16,
    }
}

message! {
    /// 0x61: proposes a packet size and security features (docs/protocols/ncp.md 2.2).
    PacketSize {
        /// Size of the physical packet without MAC header.
        proposed: u16 as Be16,
        /// Features that the client requests: see [`Security`].
        security: u8 as U8,
    }
}

message! {
    /// Reply to 0x61 (docs/protocols/ncp.md 2.2).
    AcceptedPacketSize {
        /// Accepted size; over UDP, 0 accepts the proposed one.
        accepted: u16 as Be16,
        /// Socket that returns probes of the path.
        echo_socket: u16 as Be16,
        /// Features that the server enables: see [`Security`].
        security: u8 as U8,
    }
}

message! {
    /// 0x65: offers packet burst (docs/protocols/ncp.md 4.1).
    OfferBurst {
        /// Connection id of the client.
        id: u32 as Be32,
        /// Largest packet in bytes.
        max_packet: u32 as Be32,
        /// Socket for bursts, separate from that of requests.
        socket: u16 as Be16,
        /// The longest burst that the client sends, in bytes.
        max_send: u32 as Be32,
        /// The longest burst that the client receives, in bytes.
        max_receive: u32 as Be32,
    }
}

/// Reply to 0x65, with the two limits that some servers add to the eight documented bytes (docs/protocols/ncp.md
/// 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AcceptedBurst {
    /// Connection id of the server.
    pub id: u32,
    /// Largest packet in bytes.
    pub max_packet: u32,
    /// The longest bursts that the server sends and receives, in bytes.
    pub limits: Option<(u32, u32)>,
}

impl Codec<'_> for AcceptedBurst {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        Be32::put(&value.id, out);
        Be32::put(&value.max_packet, out);
        if let Some((send, receive)) = value.limits {
            Be32::put(&send, out);
            Be32::put(&receive, out);
        }
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let id = reader.get::<Be32>()?;
        let max_packet = reader.get::<Be32>()?;
        let limits = match reader.rest().len() {
            0..8 => None,
            _ => Some((reader.get::<Be32>()?, reader.get::<Be32>()?)),
        };
        Ok(Self { id, max_packet, limits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::{bytes, hex};

    /// docs/protocols/ncp.md 2.2; mars-server-ipx-in-udp-with-burst.pcap, frames 7, 8, 5 and 6.
    #[test]
    fn sizes_are_proposed_and_accepted() {
        assert_eq!(bytes::<NegotiateBuffer>(&NegotiateBuffer { proposed: 1024 }), hex("0400"));
        assert_eq!(bytes::<NegotiatedBuffer>(&NegotiatedBuffer { accepted: 1024 }), hex("0400"));
        assert_eq!(bytes::<PacketSize>(&PacketSize { proposed: 1500, security: 0 }), hex("05dc00"));
        let accepted = AcceptedPacketSize { accepted: 1500, echo_socket: 0x400a, security: 0 };
        assert_eq!(bytes::<AcceptedPacketSize>(&accepted), hex("05dc400a00"));
    }

    /// libncp-client-udp-tcp-signed.pcap, frame 3: 1032 bytes, with signatures.
    #[test]
    fn security_bit_requests_signatures() {
        let size = PacketSize::decode(&hex("040802")).unwrap();
        assert_eq!(size.proposed, 1032);
        assert!(Security(size.security).has(Security::SIGNATURE));
        assert_eq!(Security(0x83).both(Security::SIGNATURE), Security(0x02));
    }

    /// docs/protocols/ncp.md 4.1; mars-server-ipx-in-udp-with-burst.pcap, frames 119 and 120.
    #[test]
    fn reply_to_0x65_has_8_or_16_bytes() {
        let offer = OfferBurst {
            id: 0x1122_3344,
            max_packet: 1500,
            socket: 0x4e24,
            max_send: 0x1_0000,
            max_receive: 0x1_0000,
        };
        assert_eq!(bytes::<OfferBurst>(&offer), hex("11223344000005dc4e240001000000010000"));
        let accepted = AcceptedBurst { id: 0x0100_f90f, max_packet: 1500, limits: Some((0x2000, 0x582)) };
        assert_eq!(bytes::<AcceptedBurst>(&accepted), hex("0100f90f000005dc0000200000000582"));
        assert_eq!(AcceptedBurst::decode(&hex("0100f90f000005dc0000200000000582")), Ok(accepted));
        let documented = AcceptedBurst { limits: None, ..accepted };
        assert_eq!(AcceptedBurst::decode(&hex("0100f90f000005dc")), Ok(documented));
    }
}
