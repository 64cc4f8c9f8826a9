//! RIP: finding the route to a network (docs/protocols/ncp.md 1.8).

use super::bytes::message;
use super::{Be16, Be32, Codec, Reader, WireError};

/// In a request: any network.
pub const ANY_NETWORK: u32 = u32::MAX;

const ENTRY_LEN: usize = 8;
/// Entries that fit into a packet of the size that every router forwards.
const MAX_ENTRIES: usize = 50;

message! {
    /// A network and its distance (docs/protocols/ncp.md 1.8).
    RipEntry {
        /// Network.
        network: u32 as Be32,
        /// Hop count; 16 means unreachable.
        hops: u16 as Be16,
        /// Delay in ticks of 1/18 s.
        ticks: u16 as Be16,
    }
}

/// A RIP packet (docs/protocols/ncp.md 1.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RipPacket<'a> {
    /// True for a response, false for a request.
    pub response: bool,
    entries: &'a [u8],
}

impl<'a> RipPacket<'a> {
    /// Parses a packet.
    pub fn decode(packet: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(packet);
        let response = match reader.get::<Be16>()? {
            1 => false,
            2 => true,
            other => return Err(WireError::BadValue { field: "RIP operation", value: u32::from(other) }),
        };
        Ok(Self { response, entries: reader.rest() })
    }

    /// The entries, at most 50; incomplete trailing bytes are ignored.
    pub fn entries(&self) -> impl Iterator<Item = RipEntry> + use<'a> {
        self.entries
            .chunks_exact(ENTRY_LEN)
            .take(MAX_ENTRIES)
            .filter_map(|chunk| RipEntry::decode(chunk).ok())
    }

    /// Appends a packet with the first 50 entries.
    pub fn put(response: bool, entries: &[RipEntry], out: &mut Vec<u8>) {
        Be16::put(if response { &2 } else { &1 }, out);
        entries.iter().take(MAX_ENTRIES).for_each(|entry| RipEntry::put(entry, out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::hex;

    /// docs/protocols/ncp.md 1.8; linux-kernel-client-mars-server-ethernet-ipx.pcap, frames 25, 26 and 16.
    #[test]
    fn rip_request_and_response_match_captures() {
        let asked = RipEntry { network: 0x0abc_0001, hops: 0, ticks: 0 };
        let mut request = Vec::new();
        RipPacket::put(false, &[asked], &mut request);
        assert_eq!(request, hex("0001 0abc0001 0000 0000"));
        let mut response = Vec::new();
        RipPacket::put(true, &[RipEntry { hops: 1, ticks: 2, ..asked }], &mut response);
        assert_eq!(response, hex("0002 0abc0001 0001 0002"));
        let packet = RipPacket::decode(&response).unwrap();
        assert!(packet.response);
        assert_eq!(packet.entries().collect::<Vec<_>>(), [RipEntry { hops: 1, ticks: 2, ..asked }]);
        let any = RipPacket::decode(&hex("0001 ffffffff ffff ffff")).map(|packet| packet.entries().count());
        assert_eq!(any, Ok(1));
        assert!(RipPacket::decode(&hex("0003")).is_err());
    }
}
