//! IPX packets, in Ethernet frames and in UDP datagrams (RFC 1234; docs/protocols/ncp.md 1.7 to 1.9).

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use sharebench_ncp::wire::ipx::{Address, HEADER_LEN, IpxHeader, socket};
use sharebench_ncp::wire::{Codec, ipx_udp};

use super::Datagram;
use super::ip::ncp_side;

/// The datagram in an IPX packet; none for anything else.
pub(super) fn datagram(bytes: &[u8]) -> Option<Datagram<'_>> {
    let header = IpxHeader::decode(bytes).ok()?;
    let len = usize::from(header.length).checked_sub(HEADER_LEN)?;
    let payload = bytes.get(HEADER_LEN..)?;
    Some(Datagram {
        from: address(header.source),
        to: address(header.destination),
        ncp: ncp_side([header.source.socket, header.destination.socket], socket::NCP),
        payload: payload.get(..len).unwrap_or(payload),
        len,
    })
}

/// The IPX packet in a UDP datagram of `len` bytes, if it is one: on the port of RFC 1234 or, on another one, by a header without
/// checksum whose length fits.
pub(super) fn in_udp(ports: [u16; 2], payload: &[u8], len: usize) -> bool {
    let fits = || {
        IpxHeader::decode(payload).is_ok_and(|header| {
            header.checksum == sharebench_ncp::wire::ipx::NO_CHECKSUM && usize::from(header.length) == len
        })
    };
    ports.contains(&ipx_udp::PORT) || fits()
}

/// An IPX address as one of IPv6: network and node after six bytes that no host's address begins with.
fn address(address: Address) -> SocketAddr {
    let mut bytes = [0; 16];
    bytes[0] = 1;
    bytes[6..10].copy_from_slice(&address.network.to_be_bytes());
    bytes[10..].copy_from_slice(&address.node);
    SocketAddr::new(IpAddr::V6(Ipv6Addr::from(bytes)), address.socket)
}
