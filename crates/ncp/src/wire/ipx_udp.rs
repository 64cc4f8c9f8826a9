//! IPX in UDP: nodes of RFC 1234, and the registration of ipxnet clients (docs/protocols/ncp.md 1.9).

use std::net::Ipv4Addr;

use super::WireError;
use super::ipx::{Address, IpxPacket, packet_type};

/// The port of RFC 1234 and the default port of ipxnet.
pub const PORT: u16 = 213;

/// The socket of ipxnet registrations.
const REGISTRATION: u16 = 2;

/// The node of an IPv4 host: two zero bytes, then its address (RFC 1234).
pub fn node_of(host: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = host.octets();
    [0, 0, a, b, c, d]
}

/// The IPv4 host of a node; none if the node is not of RFC 1234.
pub fn host_of(node: [u8; 6]) -> Option<Ipv4Addr> {
    match node {
        [0, 0, a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d)),
        _ => None,
    }
}

/// Appends the registration of an ipxnet client (docs/protocols/ncp.md 1.9).
pub fn put_registration(out: &mut Vec<u8>) -> Result<(), WireError> {
    let nowhere = Address { network: 0, node: [0; 6], socket: REGISTRATION };
    IpxPacket::new(packet_type::UNKNOWN, nowhere, nowhere, &[])?.put(out);
    Ok(())
}

/// True for a registration.
pub fn is_registration(packet: &IpxPacket<'_>) -> bool {
    let to = packet.header.destination;
    packet.header.source.socket == REGISTRATION && to.socket == REGISTRATION && to.node == [0; 6]
}

/// The address that an ipxnet server assigns in its answer to a registration; none for other packets.
pub fn assigned(packet: &IpxPacket<'_>) -> Option<[u8; 6]> {
    let to = packet.header.destination;
    (to.socket == REGISTRATION && to.node != [0; 6]).then_some(to.node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::hex;

    /// docs/protocols/ncp.md 1.9.
    #[test]
    fn node_contains_the_ipv4_address() {
        let host = Ipv4Addr::new(127, 0, 0, 2);
        assert_eq!(node_of(host), [0, 0, 127, 0, 0, 2]);
        assert_eq!(host_of(node_of(host)), Some(host));
        assert_eq!(host_of([0x52, 0x54, 0, 0, 0, 1]), None);
    }

    /// docs/protocols/ncp.md 1.9: from the description alone.
    #[test]
    fn registration_and_answer_match_the_document() {
        let mut out = Vec::new();
        put_registration(&mut out).unwrap();
        assert_eq!(out, hex("ffff 001e 00 00 00000000 000000000000 0002 00000000 000000000000 0002"));
        let packet = IpxPacket::decode(&out).unwrap();
        assert!(is_registration(&packet));
        assert_eq!(assigned(&packet), None);
        let answer = hex("ffff 001e 00 00 00000000 7f0000014e20 0002 00000001 7f00000100d5 0002");
        assert_eq!(assigned(&IpxPacket::decode(&answer).unwrap()), Some([0x7f, 0, 0, 1, 0x4e, 0x20]));
    }
}
