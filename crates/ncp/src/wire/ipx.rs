//! The IPX header, its addresses and its checksum (docs/protocols/ncp.md 1.7, 1.10).

use super::bytes::message;
use super::{Be16, Be32, Codec, Raw, Reader, U8, WireError};

/// Bytes of the header.
pub const HEADER_LEN: usize = 30;

/// Well-known sockets.
#[expect(missing_docs, reason = "the names are the protocol's")]
pub mod socket {
    pub const NCP: u16 = 0x0451;
    pub const SAP: u16 = 0x0452;
    pub const RIP: u16 = 0x0453;
}

/// Packet types of the header.
#[expect(missing_docs, reason = "the names are the protocol's")]
pub mod packet_type {
    pub const UNKNOWN: u8 = 0;
    pub const RIP: u8 = 1;
    pub const SAP: u8 = 4;
    pub const NCP: u8 = 0x11;
    pub const NETBIOS: u8 = 0x14;
}

/// The checksum field of a packet without checksum.
pub const NO_CHECKSUM: u16 = 0xFFFF;

message! {
    /// An address of a packet (docs/protocols/ncp.md 1.7).
    Address {
        /// Network.
        network: u32 as Be32,
        /// Node: a MAC address, or 1 on the internal network of a server.
        node: [u8; 6] as Raw<6>,
        /// Socket.
        socket: u16 as Be16,
    }
}

impl Address {
    /// The broadcast node.
    pub const BROADCAST: [u8; 6] = [0xFF; 6];

    /// The NCP address of the server on this internal network.
    pub const fn of_server(network: u32) -> Self {
        Self { network, node: [0, 0, 0, 0, 0, 1], socket: socket::NCP }
    }
}

message! {
    /// The header of 30 bytes (docs/protocols/ncp.md 1.7).
    IpxHeader {
        /// See [`checksum`].
        checksum: u16 as Be16,
        /// Bytes of the packet including the header, without padding.
        length: u16 as Be16,
        /// Hop count.
        hops: u8 as U8,
        /// See [`packet_type`].
        kind: u8 as U8,
        /// Destination.
        destination: Address as Address,
        /// Source.
        source: Address as Address,
    }
}

/// A packet: header and payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpxPacket<'a> {
    /// The header.
    pub header: IpxHeader,
    /// Payload; the header determines its length.
    pub payload: &'a [u8],
}

impl<'a> IpxPacket<'a> {
    /// Builds a packet without checksum.
    pub const fn new(
        kind: u8,
        source: Address,
        destination: Address,
        payload: &'a [u8],
    ) -> Result<Self, WireError> {
        let len = payload.len();
        let max = u16::MAX as usize - HEADER_LEN;
        if len > max {
            return Err(WireError::TooLong { field: "IPX payload", len, max });
        }
        let length = (HEADER_LEN + len) as u16;
        let header = IpxHeader { checksum: NO_CHECKSUM, length, hops: 0, kind, destination, source };
        Ok(Self { header, payload })
    }

    /// Parses a packet from a datagram or frame, which may have padding.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(bytes);
        let header = reader.get::<IpxHeader>()?;
        let bad = WireError::BadValue { field: "IPX length", value: u32::from(header.length) };
        let payload = reader.take(usize::from(header.length).checked_sub(HEADER_LEN).ok_or(bad)?)?;
        Ok(Self { header, payload })
    }

    /// Appends the packet with the checksum of its header.
    pub fn put(&self, out: &mut Vec<u8>) {
        IpxHeader::put(&self.header, out);
        out.extend_from_slice(self.payload);
    }

    /// Appends the packet with a computed checksum.
    pub fn put_checked(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.put(out);
        let sum = checksum(&out[start..]);
        out[start..start + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The checksum of a whole packet: the complement of the one's-complement sum of its words. The checksum field is
/// skipped, the hop count is taken as 0, and an odd last byte is padded with zero. It is never FFFF, which means "not
/// used" (docs/protocols/ncp.md 1.10).
pub fn checksum(packet: &[u8]) -> u16 {
    let words = packet.chunks(2).enumerate().skip(1).map(|(number, pair)| match *pair {
        // The hop count is the high byte of the third word.
        [_, low] if number == 2 => u64::from(low),
        [high, low] => u64::from(u16::from_be_bytes([high, low])),
        [high] => u64::from(high) << 8,
        _ => 0,
    });
    let mut sum: u64 = words.sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    match !(sum as u16) {
        NO_CHECKSUM => 0,
        sum => sum,
    }
}

/// True when the checksum of a whole packet is correct or not used.
pub fn is_intact(packet: &[u8]) -> bool {
    match packet.first_chunk::<2>() {
        Some(field) => {
            matches!(u16::from_be_bytes(*field), NO_CHECKSUM)
                || u16::from_be_bytes(*field) == checksum(packet)
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::hex;

    /// docs/protocols/ncp.md 1.7; linux-kernel-client-mars-server-ethernet-ipx.pcap, frame 27.
    const CREATE: &str =
        "ffff 0025 00 11 0abc0001 000000000001 0451 00000010 525400000002 4001 111101ff01ff00";

    fn client() -> Address {
        Address { network: 0x10, node: [0x52, 0x54, 0, 0, 0, 2], socket: 0x4001 }
    }

    #[test]
    fn ipx_header_has_30_big_endian_bytes() {
        let payload = hex("111101ff01ff00");
        let server = Address::of_server(0x0abc_0001);
        let packet = IpxPacket::new(packet_type::NCP, client(), server, &payload).unwrap();
        let mut out = Vec::new();
        packet.put(&mut out);
        assert_eq!(out, hex(CREATE));
        assert_eq!(IpxPacket::decode(&out), Ok(packet));
    }

    #[test]
    fn decoding_removes_padding_and_rejects_a_wrong_length() {
        let mut wire = hex(CREATE);
        wire.resize(60, 0);
        assert_eq!(IpxPacket::decode(&wire).unwrap().payload, hex("111101ff01ff00"));
        assert!(IpxPacket::decode(&wire[..36]).is_err());
        wire[3] = 29;
        let error = WireError::BadValue { field: "IPX length", value: 29 };
        assert_eq!(IpxPacket::decode(&wire), Err(error));
        assert!(IpxPacket::new(0, client(), client(), &vec![0; 65536]).is_err());
    }

    /// docs/protocols/ncp.md 1.10, computed by hand: words 0002 + 0011 + 0001 + 0100 for an odd packet.
    #[test]
    fn checksum_skips_its_field_and_hop_count_and_pads_odd_packets() {
        assert_eq!(checksum(&hex("abcd 0002 0011 0001 01")), !0x0114);
        assert_eq!(checksum(&hex("0000 0002 0711 0001 01")), !0x0114);
        // The carry is added at the low end.
        assert_eq!(checksum(&hex("0000 ffff 0002")), !0x0002);
        // A sum of zero would read as "not used".
        assert_eq!(checksum(&hex("0000 0000 0000")), 0);
    }

    #[test]
    fn checksum_detects_every_changed_bit() {
        let wire = hex(CREATE);
        assert!(is_intact(&wire), "no checksum is intact");
        let mut out = Vec::new();
        IpxPacket::decode(&wire).unwrap().put_checked(&mut out);
        assert!(is_intact(&out));
        out[4] = 3;
        assert!(is_intact(&out), "routers change the hop count");
        out[33] ^= 1;
        assert!(!is_intact(&out));
        assert!(!is_intact(&[]));
    }
}
