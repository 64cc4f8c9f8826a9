//! IP packets, and the TCP segments and UDP datagrams in them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sharebench_ncp::wire::tcp;

use super::{Content, ipx};
use crate::input::message::Side;

const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER_LEN: usize = 8;
/// Extension headers of IPv6 whose length is in units of 8 bytes (RFC 8200 4): hop-by-hop, routing, destination options.
const EXTENSIONS: [u8; 3] = [0, 43, 60];
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const MAX_EXTENSIONS: usize = 8;

/// A TCP segment (RFC 9293 3.1).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<'a> {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) sequence: u32,
    pub(crate) acknowledged: Option<u32>,
    pub(crate) syn: bool,
    /// What was captured of the payload.
    pub(crate) payload: &'a [u8],
    /// Bytes of the payload on the wire.
    pub(crate) len: usize,
}

/// A datagram: of UDP (RFC 768), or an IPX packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Datagram<'a> {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    /// Who sent it, if one of its ports or sockets is that of NCP.
    pub(crate) ncp: Option<Side>,
    /// What was captured of the payload. Of a datagram in several fragments it is that of the first one.
    pub(crate) payload: &'a [u8],
    /// Bytes of the payload on the wire.
    pub(crate) len: usize,
}

/// What an IP packet holds, `wire` bytes of which were on the wire; none for other protocols than TCP and UDP, and for fragments
/// but the first one of a datagram.
pub(super) fn content(bytes: &[u8], wire: usize) -> Option<Content<'_>> {
    let network = match bytes.first()? >> 4 {
        4 => version_4(bytes, wire)?,
        6 => version_6(bytes, wire)?,
        _ => return None,
    };
    match network.protocol {
        TCP if !network.is_fragment => segment(&network).map(Content::Segment),
        UDP => datagram(&network).map(Content::Datagram),
        _ => None,
    }
}

fn datagram<'a>(network: &Network<'a>) -> Option<Datagram<'a>> {
    let ports = [short(network.transport, 0)?, short(network.transport, 2)?];
    let len = usize::from(short(network.transport, 4)?).checked_sub(UDP_HEADER_LEN)?;
    let payload = network.transport.get(UDP_HEADER_LEN..)?;
    let payload = payload.get(..len).unwrap_or(payload);
    if ipx::in_udp(ports, payload, len) {
        return ipx::datagram(payload);
    }
    let [from_port, to_port] = ports;
    Some(Datagram {
        from: SocketAddr::new(network.from, from_port),
        to: SocketAddr::new(network.to, to_port),
        ncp: ncp_side(ports, tcp::PORT),
        payload,
        len,
    })
}

/// Who sent a datagram between these ports or sockets, of which the server has `server`; none if neither has it.
pub(super) fn ncp_side([from, to]: [u16; 2], server: u16) -> Option<Side> {
    match (from == server, to == server) {
        (_, true) => Some(Side::Client),
        (true, false) => Some(Side::Server),
        (false, false) => None,
    }
}

fn segment<'a>(network: &Network<'a>) -> Option<Segment<'a>> {
    let Network { from, to, transport, len: wire, .. } = *network;
    let from_port = short(transport, 0)?;
    let to_port = short(transport, 2)?;
    let header = usize::from(transport.get(12)? >> 4) * 4;
    let flags = *transport.get(13)?;
    let len = wire.checked_sub(header)?;
    // What exceeds the packet is padding of the link.
    let payload = transport.get(header..).unwrap_or_default();
    let payload = payload.get(..len).unwrap_or(payload);
    Some(Segment {
        from: SocketAddr::new(from, from_port),
        to: SocketAddr::new(to, to_port),
        sequence: word(transport, 4)?,
        acknowledged: if flags & 0x10 != 0 { word(transport, 8) } else { None },
        syn: flags & 0x02 != 0,
        payload,
        len,
    })
}

/// An IP packet.
struct Network<'a> {
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    /// The first one of several fragments.
    is_fragment: bool,
    transport: &'a [u8],
    /// Bytes of `transport` on the wire.
    len: usize,
}

fn version_4(bytes: &[u8], wire: usize) -> Option<Network<'_>> {
    let header = usize::from(bytes.first()? & 0x0F) * 4;
    let fragment = short(bytes, 6)?;
    // Its start is in another packet.
    if fragment & 0x1FFF != 0 {
        return None;
    }
    let address = |at: usize| Some(IpAddr::V4(Ipv4Addr::from(*bytes.get(at..)?.first_chunk::<4>()?)));
    // Zero where the network adapter is to cut the segment.
    let total = match short(bytes, 2)? {
        0 => wire,
        total => usize::from(total),
    };
    Some(Network {
        from: address(12)?,
        to: address(16)?,
        protocol: *bytes.get(9)?,
        is_fragment: fragment & 0x2000 != 0,
        transport: bytes.get(header..)?,
        len: total.checked_sub(header)?,
    })
}

fn version_6(bytes: &[u8], wire: usize) -> Option<Network<'_>> {
    let address = |at: usize| Some(IpAddr::V6(Ipv6Addr::from(*bytes.get(at..)?.first_chunk::<16>()?)));
    let mut len = match short(bytes, 4)? {
        0 => wire.checked_sub(40)?,
        len => usize::from(len),
    };
    let mut kind = *bytes.get(6)?;
    let mut rest = bytes.get(40..)?;
    let mut is_fragment = false;
    for _ in 0..MAX_EXTENSIONS {
        let extension = match kind {
            TCP | UDP => {
                let from = address(8)?;
                let to = address(24)?;
                return Some(Network { from, to, protocol: kind, is_fragment, transport: rest, len });
            }
            kind if EXTENSIONS.contains(&kind) => (usize::from(*rest.get(1)?) + 1) * 8,
            AUTHENTICATION => (usize::from(*rest.get(1)?) + 2) * 4,
            // The first fragment; a single one is a whole packet (RFC 6946).
            FRAGMENT if short(rest, 2)? & 0xFFF8 == 0 => {
                is_fragment = short(rest, 2)? & 1 != 0;
                8
            }
            _ => return None,
        };
        kind = *rest.first()?;
        rest = rest.get(extension..)?;
        len = len.checked_sub(extension)?;
    }
    None
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
