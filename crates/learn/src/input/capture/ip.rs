//! IP packets and the TCP segments in them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TCP: u8 = 6;
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

/// The segment in an IP packet, `wire` bytes of which were on the wire; none for fragments and other protocols.
pub(super) fn segment(bytes: &[u8], wire: usize) -> Option<Segment<'_>> {
    let (from, to, transport, wire) = match bytes.first()? >> 4 {
        4 => version_4(bytes, wire)?,
        6 => version_6(bytes, wire)?,
        _ => return None,
    };
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

/// Source, destination, payload and its length on the wire.
type Network<'a> = (IpAddr, IpAddr, &'a [u8], usize);

fn version_4(bytes: &[u8], wire: usize) -> Option<Network<'_>> {
    let header = usize::from(bytes.first()? & 0x0F) * 4;
    // More fragments follow, or it is not the first one.
    if short(bytes, 6)? & 0x3FFF != 0 || *bytes.get(9)? != TCP {
        return None;
    }
    let address = |at: usize| Some(IpAddr::V4(Ipv4Addr::from(*bytes.get(at..)?.first_chunk::<4>()?)));
    // Zero where the network adapter is to cut the segment.
    let total = match short(bytes, 2)? {
        0 => wire,
        total => usize::from(total),
    };
    Some((address(12)?, address(16)?, bytes.get(header..)?, total.checked_sub(header)?))
}

fn version_6(bytes: &[u8], wire: usize) -> Option<Network<'_>> {
    let address = |at: usize| Some(IpAddr::V6(Ipv6Addr::from(*bytes.get(at..)?.first_chunk::<16>()?)));
    let mut len = match short(bytes, 4)? {
        0 => wire.checked_sub(40)?,
        len => usize::from(len),
    };
    let mut kind = *bytes.get(6)?;
    let mut rest = bytes.get(40..)?;
    for _ in 0..MAX_EXTENSIONS {
        let extension = match kind {
            TCP => return Some((address(8)?, address(24)?, rest, len)),
            kind if EXTENSIONS.contains(&kind) => (usize::from(*rest.get(1)?) + 1) * 8,
            AUTHENTICATION => (usize::from(*rest.get(1)?) + 2) * 4,
            // A single fragment is a whole packet (RFC 6946).
            FRAGMENT if short(rest, 2)? & 0xFFF9 == 0 => 8,
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
