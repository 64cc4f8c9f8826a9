//! SAP: finding servers by service type (docs/protocols/ncp.md 1.8).

use super::bytes::message;
use super::ipx::Address;
use super::{Be16, Codec, Raw, Reader, WireError};

/// The service of file servers.
pub const FILE_SERVER: u16 = 0x0004;
/// Hop count of a service that is down.
pub const DOWN: u16 = 16;
/// The largest number of entries in a packet.
pub const MAX_ENTRIES: usize = 7;

const ENTRY_LEN: usize = 64;

message! {
    /// An offered service, 64 bytes (docs/protocols/ncp.md 1.8).
    SapEntry {
        /// Service type.
        service: u16 as Be16,
        /// Name, padded with NUL.
        name: [u8; 48] as Raw<48>,
        /// Address.
        address: Address as Address,
        /// Hop count; [`DOWN`] when the service is down.
        hops: u16 as Be16,
    }
}

/// A SAP packet (docs/protocols/ncp.md 1.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SapPacket<'a> {
    /// 1: a query for all servers of a service type.
    GeneralQuery(u16),
    /// 2: the response to a general query, also broadcast periodically.
    GeneralResponse(SapEntries<'a>),
    /// 3: a query for the nearest server of a service type.
    NearestQuery(u16),
    /// 4: the response to a nearest query; exactly one entry.
    NearestResponse(SapEntries<'a>),
}

/// The entries of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SapEntries<'a>(&'a [u8]);

impl SapEntries<'_> {
    /// The entries, at most [`MAX_ENTRIES`]; incomplete trailing bytes are ignored.
    pub fn iter(&self) -> impl Iterator<Item = SapEntry> {
        self.0.chunks_exact(ENTRY_LEN).take(MAX_ENTRIES).filter_map(|chunk| SapEntry::decode(chunk).ok())
    }
}

impl<'a> SapPacket<'a> {
    /// Parses a packet.
    pub fn decode(packet: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(packet);
        Ok(match reader.get::<Be16>()? {
            1 => Self::GeneralQuery(reader.get::<Be16>()?),
            2 => Self::GeneralResponse(SapEntries(reader.rest())),
            3 => Self::NearestQuery(reader.get::<Be16>()?),
            4 => Self::NearestResponse(SapEntries(reader.rest())),
            other => return Err(WireError::BadValue { field: "SAP operation", value: u32::from(other) }),
        })
    }

    /// Appends a query.
    pub fn put_query(nearest: bool, service: u16, out: &mut Vec<u8>) {
        Be16::put(if nearest { &3 } else { &1 }, out);
        Be16::put(&service, out);
    }

    /// Appends a general response with the first [`MAX_ENTRIES`] entries.
    pub fn put_general(entries: &[SapEntry], out: &mut Vec<u8>) {
        Be16::put(&2, out);
        entries.iter().take(MAX_ENTRIES).for_each(|entry| SapEntry::put(entry, out));
    }

    /// Appends the response to a nearest query.
    pub fn put_nearest(entry: &SapEntry, out: &mut Vec<u8>) {
        Be16::put(&4, out);
        SapEntry::put(entry, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::hex;
    use crate::wire::text::padded;

    fn entry() -> SapEntry {
        let address = Address::of_server(0x0abc_0001);
        SapEntry { service: FILE_SERVER, name: padded(b"MARSRSV").unwrap(), address, hops: 1 }
    }

    /// docs/protocols/ncp.md 1.8; linux-kernel-client-mars-server-ethernet-ipx.pcap, frames 20, 21 and 15.
    #[test]
    fn nearest_query_and_response_match_captures() {
        let mut query = Vec::new();
        SapPacket::put_query(true, FILE_SERVER, &mut query);
        assert_eq!(query, hex("0003 0004"));
        assert_eq!(SapPacket::decode(&query), Ok(SapPacket::NearestQuery(FILE_SERVER)));
        let mut response = Vec::new();
        SapPacket::put_nearest(&entry(), &mut response);
        assert_eq!(response.len(), 66);
        assert_eq!(response[..11], hex("0004 0004 4d415253525356")[..]);
        assert_eq!(response[52..], hex("0abc0001 000000000001 0451 0001")[..]);
        let SapPacket::NearestResponse(entries) = SapPacket::decode(&response).unwrap() else { panic!() };
        assert_eq!(entries.iter().collect::<Vec<_>>(), [entry()]);
    }

    /// docs/protocols/ncp.md 1.8: up to seven entries.
    #[test]
    fn general_response_has_at_most_seven_entries() {
        let mut response = Vec::new();
        SapPacket::put_general(&[entry(); 9], &mut response);
        assert_eq!(response.len(), 2 + 7 * 64);
        let SapPacket::GeneralResponse(entries) = SapPacket::decode(&response[..131]).unwrap() else {
            panic!()
        };
        assert_eq!(entries.iter().count(), 2);
        assert_eq!(SapPacket::decode(&hex("0001 ffff")), Ok(SapPacket::GeneralQuery(0xffff)));
        assert!(SapPacket::decode(&hex("0009")).is_err());
    }
}
