//! Link layers: what precedes the packet of IP or IPX.

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
const ETHERTYPE_PPPOE: u16 = 0x8864;
const ETHERTYPE_IPX: u16 = 0x8137;
/// Types up to this are lengths of IEEE 802.3.
const MAX_LENGTH: u16 = 1500;
/// Linux cooked: IEEE 802.3 without 802.2, and with it (<https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html>).
const COOKED_8023: u16 = 1;
const COOKED_8022: u16 = 4;
/// IEEE 802.1Q, 802.1ad, and the type that was used before it.
const VLAN: [u16; 3] = [0x8100, 0x88A8, 0x9100];
const MAX_VLANS: usize = 4;

/// A packet of a network.
#[derive(Debug, Clone, Copy)]
pub(super) enum Network<'a> {
    Ip(&'a [u8]),
    Ipx(&'a [u8]),
}

/// The packet of a network in a packet with this link type; none if it holds something else.
pub(super) fn network(link: u32, bytes: &[u8]) -> Option<Network<'_>> {
    match link {
        // BSD loopback, in the byte order of the machine or of the network: the family says no more than the version does.
        0 | 108 => bytes.get(4..).map(Network::Ip),
        1 => by_type(short(bytes, 12)?, bytes.get(14..)?),
        12 | 14 | 101 | 228 | 229 => Some(Network::Ip(bytes)),
        // Linux cooked, versions 1 and 2.
        113 => by_type(short(bytes, 14)?, bytes.get(16..)?),
        276 => by_type(short(bytes, 0)?, bytes.get(20..)?),
        _ => None,
    }
}

fn by_type(mut kind: u16, mut bytes: &[u8]) -> Option<Network<'_>> {
    for _ in 0..MAX_VLANS {
        if !VLAN.contains(&kind) {
            break;
        }
        kind = short(bytes, 2)?;
        bytes = bytes.get(4..)?;
    }
    match kind {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Some(Network::Ip(bytes)),
        ETHERTYPE_PPPOE => bytes.get(8..).map(Network::Ip),
        ETHERTYPE_IPX => Some(Network::Ipx(bytes)),
        COOKED_8023 | COOKED_8022 => by_length(bytes),
        length if length <= MAX_LENGTH => by_length(bytes),
        _ => None,
    }
}

/// IPX in the frames of IEEE 802.3: without another header, after that of 802.2, and after that of SNAP.
fn by_length(bytes: &[u8]) -> Option<Network<'_>> {
    match bytes {
        [0xFF, 0xFF, ..] => Some(Network::Ipx(bytes)),
        [0xE0, 0xE0, 0x03, rest @ ..] | [0xAA, 0xAA, 0x03, 0, 0, 0, 0x81, 0x37, rest @ ..] => {
            Some(Network::Ipx(rest))
        }
        _ => None,
    }
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
