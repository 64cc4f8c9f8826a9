//! Packet burst: the packet header, missing-fragment lists, and the contents of bursts (docs/protocols/ncp.md 4.2,
//! 4.3).

use super::bytes::message;
use super::packet::BURST;
use super::{After, Be16, Be32, Codec, Le32, Reader, ShortHandle, U8, WireError};

/// Bytes of the header.
pub const HEADER_LEN: usize = 36;
/// The stream type of a burst.
pub const BIG_SEND: u8 = 2;

/// Bits of the flags.
#[expect(missing_docs, reason = "the names are the field's")]
pub mod flag {
    pub const ABORT: u8 = 0x04;
    pub const BUSY: u8 = 0x08;
    pub const END_OF_BURST: u8 = 0x10;
    pub const MISSING_LIST: u8 = 0x40;
    /// A control packet, without burst data.
    pub const SYSTEM: u8 = 0x80;
}

message! {
    /// The header after the type 7777 (docs/protocols/ncp.md 4.2).
    Fields {
        /// See [`flag`].
        flags: u8 as U8,
        /// See [`BIG_SEND`].
        stream: u8 as U8,
        /// Connection id of the sender.
        source: u32 as Be32,
        /// Connection id of the receiver.
        destination: u32 as Be32,
        /// Packet sequence number.
        sequence: u32 as Be32,
        /// Gap time between packets, in units of 100 µs.
        delay: u32 as Be32,
        /// Burst sequence number.
        burst: u16 as Be16,
        /// The next burst number expected from the peer.
        acknowledged: u16 as Be16,
        /// Bytes of the whole burst; `mars_nwe` sets the length of the fragment in retransmissions.
        total: u32 as Be32,
        /// Offset of this fragment within the burst.
        offset: u32 as Be32,
        /// Bytes of this fragment.
        length: u16 as Be16,
        /// Entries of the missing-fragment list.
        missing: u16 as Be16,
    }
}

message! {
    /// A missing range of a burst (docs/protocols/ncp.md 4.2).
    Missing {
        /// Offset of the range.
        offset: u32 as Be32,
        /// Length of the range.
        length: u16 as Be16,
    }
}

/// A packet of a burst connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BurstPacket<'a> {
    /// The header.
    pub fields: Fields,
    body: &'a [u8],
}

const MISSING_LEN: usize = 6;

impl<'a> BurstPacket<'a> {
    /// Parses a packet. Data and list must lie within the packet. The receiver checks that the fragment lies within
    /// its burst, because only it knows the length of the burst.
    pub fn decode(packet: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(packet);
        let kind = reader.get::<Be16>()?;
        if kind != BURST {
            return Err(WireError::BadValue { field: "type", value: u32::from(kind) });
        }
        let fields = reader.get::<Fields>()?;
        // List and data are both taken from the packet before either is used, so that no later access can pass
        // its end.
        let listed = usize::from(fields.missing) * MISSING_LEN;
        let body = reader.take(listed + usize::from(fields.length))?;
        Ok(Self { fields, body })
    }

    /// The burst data of this packet.
    pub fn data(&self) -> &'a [u8] {
        self.body.get(usize::from(self.fields.missing) * MISSING_LEN..).unwrap_or_default()
    }

    /// The missing ranges that this packet lists.
    pub fn missing(&self) -> impl Iterator<Item = Missing> + use<'a> {
        let list = self.body.chunks_exact(MISSING_LEN).take(usize::from(self.fields.missing));
        list.filter_map(|chunk| Missing::decode(chunk).ok())
    }

    /// Appends a fragment and sets its length fields; fails with `TooLong` above 65535 bytes.
    pub fn put_fragment(fields: Fields, data: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let max = usize::from(u16::MAX);
        let length = u16::try_from(data.len()).map_err(|_| WireError::TooLong {
            field: "fragment",
            len: data.len(),
            max,
        })?;
        Be16::put(&BURST, out);
        Fields::put(&Fields { length, missing: 0, ..fields }, out);
        out.extend_from_slice(data);
        Ok(())
    }

    /// Appends a control packet with a missing-fragment list, which may be empty.
    pub fn put_missing(fields: Fields, missing: &[Missing], out: &mut Vec<u8>) -> Result<(), WireError> {
        let max = usize::from(u16::MAX);
        let count = u16::try_from(missing.len()).map_err(|_| WireError::TooLong {
            field: "missing list",
            len: missing.len(),
            max,
        })?;
        Be16::put(&BURST, out);
        Fields::put(&Fields { length: 0, missing: count, flags: fields.flags | flag::SYSTEM, ..fields }, out);
        for part in missing {
            Missing::put(part, out);
        }
        Ok(())
    }
}

message! {
    /// Requests a read or write: the whole burst of a read, or the head of a burst that carries data to write
    /// (docs/protocols/ncp.md 4.3).
    BurstCall {
        /// [`READ`] or [`WRITE`].
        function: u32 as Le32,
        /// The open file.
        file: ShortHandle as ShortHandle,
        /// Offset in the file.
        offset: u32 as After<8, Be32>,
        /// Count in bytes.
        length: u32 as Be32,
    }
}

/// [`BurstCall::function`] of a read.
pub const READ: u32 = 1;
/// [`BurstCall::function`] of a write.
pub const WRITE: u32 = 2;

message! {
    /// The head of the burst that answers a read; the data follows (docs/protocols/ncp.md 4.3).
    BurstReadReply {
        /// 0 success, 1 initialisation error, 2 I/O error, 3 no data.
        result: u32 as Le32,
        /// Bytes of data that follow.
        length: u32 as Be32,
    }
}

message! {
    /// The burst that answers a write (docs/protocols/ncp.md 4.3).
    BurstWriteReply {
        /// 0 success, 4 write error.
        result: u32 as Le32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::{bytes, hex};

    const CLIENT: Fields = Fields {
        flags: flag::END_OF_BURST,
        stream: 0,
        source: 0x1122_3344,
        destination: 0x0100_f90f,
        sequence: 0,
        delay: 0,
        burst: 0,
        acknowledged: 0,
        total: 24,
        offset: 0,
        length: 24,
        missing: 0,
    };

    /// docs/protocols/ncp.md 4.2, 4.3; mars-server-ipx-in-udp-with-burst.pcap, frame 163: read 7000 bytes at 4.
    #[test]
    fn read_burst_has_one_fragment_of_24_bytes() {
        let wire = hex("7777 10 00 11223344 0100f90f 00000000 00000000 0000 0000 00000018 00000000 0018 0000
            01000000 03000000 0000000000000000 00000004 00001b58");
        let call = BurstCall { function: READ, file: ShortHandle([3, 0, 0, 0]), offset: 4, length: 7000 };
        let mut out = Vec::new();
        BurstPacket::put_fragment(CLIENT, &bytes::<BurstCall>(&call), &mut out).unwrap();
        assert_eq!(out, wire);
        let packet = BurstPacket::decode(&wire).unwrap();
        assert_eq!((packet.fields, BurstCall::decode(packet.data())), (CLIENT, Ok(call)));
    }

    /// docs/protocols/ncp.md 4.4; mars-server-ipx-in-udp-with-burst.pcap, frame 169: the second fragment is missing.
    #[test]
    fn control_packet_lists_missing_ranges() {
        let wire = hex(
            "7777 80 02 11223344 0100f90f 00000001 00000000 0000 0000 00000000 00000000 0000 0001 0000059a 059a",
        );
        let fields = Fields { flags: 0, stream: BIG_SEND, sequence: 1, total: 0, ..CLIENT };
        let part = Missing { offset: 0x59a, length: 0x59a };
        let mut out = Vec::new();
        BurstPacket::put_missing(fields, &[part], &mut out).unwrap();
        assert_eq!(out, wire);
        let packet = BurstPacket::decode(&wire).unwrap();
        assert_eq!((packet.missing().collect::<Vec<_>>(), packet.data()), (vec![part], &[][..]));
    }

    /// docs/protocols/ncp.md 4.3; mars-server-ipx-in-udp-with-burst.pcap, frames 164 and 172.
    #[test]
    fn burst_replies_start_with_their_result() {
        let read = BurstReadReply::decode(&hex("00000000 00001b58")).unwrap();
        assert_eq!(read, BurstReadReply { result: 0, length: 7000 });
        assert_eq!(bytes::<BurstReadReply>(&read), hex("00000000 00001b58"));
        assert_eq!(bytes::<BurstWriteReply>(&BurstWriteReply { result: 4 }), hex("04000000"));
    }

    #[test]
    fn data_and_lists_beyond_their_packet_are_errors() {
        let mut out = Vec::new();
        BurstPacket::put_fragment(CLIENT, &[0; 24], &mut out).unwrap();
        assert!(BurstPacket::decode(&out[..out.len() - 1]).is_err());
        let mut out = Vec::new();
        BurstPacket::put_missing(CLIENT, &[Missing { offset: 0, length: 1 }; 3], &mut out).unwrap();
        assert!(BurstPacket::decode(&out[..out.len() - 1]).is_err());
    }
}
