//! Link layers: what precedes the IP packet.

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
const ETHERTYPE_PPPOE: u16 = 0x8864;
/// IEEE 802.1Q, 802.1ad, and the type that was used before it.
const VLAN: [u16; 3] = [0x8100, 0x88A8, 0x9100];
const MAX_VLANS: usize = 4;

/// The IP packet in a packet with this link type; none if it holds something else.
pub(super) fn network(link: u32, bytes: &[u8]) -> Option<&[u8]> {
    match link {
        // BSD loopback, in the byte order of the machine or of the network: the family says no more than the version does.
        0 | 108 => bytes.get(4..),
        1 => by_type(short(bytes, 12)?, bytes.get(14..)?),
        12 | 14 | 101 | 228 | 229 => Some(bytes),
        // Linux cooked, versions 1 and 2.
        113 => by_type(short(bytes, 14)?, bytes.get(16..)?),
        276 => by_type(short(bytes, 0)?, bytes.get(20..)?),
        _ => None,
    }
}

fn by_type(mut kind: u16, mut bytes: &[u8]) -> Option<&[u8]> {
    for _ in 0..MAX_VLANS {
        if !VLAN.contains(&kind) {
            break;
        }
        kind = short(bytes, 2)?;
        bytes = bytes.get(4..)?;
    }
    match kind {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Some(bytes),
        ETHERTYPE_PPPOE => bytes.get(8..),
        _ => None,
    }
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
