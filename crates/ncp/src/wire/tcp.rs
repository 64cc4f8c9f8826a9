//! NCP over TCP, port 524: a marker, a length and an optional signature precede each packet (docs/protocols/ncp.md
//! 1.5).

use super::{Be32, Reader, WireError};

/// The port of NCP, on TCP and UDP.
pub const PORT: u16 = 524;
/// Bytes before a client packet, or before its signature.
pub const REQUEST_HEADER_LEN: usize = 16;
/// Bytes before a server packet, or before its signature.
pub const REPLY_HEADER_LEN: usize = 8;
/// The longest accepted message: the data of one call is below 64 KiB.
pub const MAX_MESSAGE: usize = 0x1_0000 + 1024;

const REQUEST: [u8; 4] = *b"DmdT";
const REPLY: [u8; 4] = *b"tNcP";
const VERSION: u32 = 1;
/// Bits of the length field that are the length; Wireshark treats the top bit as "signed".
const LENGTH_BITS: u32 = 0x0FFF_FFFF;

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From client to server.
    Request,
    /// From server to client.
    Reply,
}

/// The length of the message at the front of a stream, including its header; none until the length has arrived. An
/// unknown marker or an impossible length is an error, because the end of the message is then unknown.
pub fn message_len(direction: Direction, stream: &[u8]) -> Result<Option<usize>, WireError> {
    let Some((head, _)) = stream.split_first_chunk::<8>() else { return Ok(None) };
    let [a, b, c, d, length @ ..] = *head;
    let (marker, header) = match direction {
        Direction::Request => (REQUEST, REQUEST_HEADER_LEN),
        Direction::Reply => (REPLY, REPLY_HEADER_LEN),
    };
    if [a, b, c, d] != marker {
        return Err(WireError::BadValue { field: "marker", value: u32::from_be_bytes([a, b, c, d]) });
    }
    // ncpfs accepts signed replies with the top bit clear, so the bit is ignored instead of required
    // (docs/protocols/ncp.md 1.5).
    let length = u32::from_be_bytes(length) & LENGTH_BITS;
    let fits = (header..=MAX_MESSAGE).contains(&(length as usize));
    if fits { Ok(Some(length as usize)) } else { Err(WireError::BadValue { field: "length", value: length }) }
}

/// The header of a client message of `wire_len` bytes; `reply_buffer` is the longest reply that the client accepts.
pub fn request_header(wire_len: usize, reply_buffer: u32) -> [u8; REQUEST_HEADER_LEN] {
    let mut header = [0; REQUEST_HEADER_LEN];
    header[..4].copy_from_slice(&REQUEST);
    header[4..8].copy_from_slice(&(wire_len as u32).to_be_bytes());
    header[8..12].copy_from_slice(&VERSION.to_be_bytes());
    header[12..].copy_from_slice(&reply_buffer.to_be_bytes());
    header
}

/// The header of a server message of `wire_len` bytes.
pub fn reply_header(wire_len: usize) -> [u8; REPLY_HEADER_LEN] {
    let mut header = [0; REPLY_HEADER_LEN];
    header[..4].copy_from_slice(&REPLY);
    header[4..].copy_from_slice(&(wire_len as u32).to_be_bytes());
    header
}

/// A message of a client (docs/protocols/ncp.md 1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TcpRequest<'a> {
    /// The longest reply that the client accepts.
    pub reply_buffer: u32,
    /// The signature, if packets are signed.
    pub signature: Option<[u8; 8]>,
    /// The packet.
    pub packet: &'a [u8],
}

impl<'a> TcpRequest<'a> {
    /// Length of the whole message, which the signature covers.
    pub const fn wire_len(&self) -> usize {
        REQUEST_HEADER_LEN + if self.signature.is_some() { 8 } else { 0 } + self.packet.len()
    }

    /// Appends the message.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&request_header(self.wire_len(), self.reply_buffer));
        out.extend(self.signature.into_iter().flatten());
        out.extend_from_slice(self.packet);
    }

    /// Parses a whole message whose length [`message_len`] has determined. Only the connection knows whether packets
    /// are signed.
    pub fn decode(message: &'a [u8], signed: bool) -> Result<Self, WireError> {
        let mut reader = Reader::new(message);
        reader.take(8)?;
        let version = reader.get::<Be32>()?;
        let reply_buffer = reader.get::<Be32>()?;
        if version != VERSION {
            return Err(WireError::BadValue { field: "version", value: version });
        }
        let signature = if signed { Some(reader.array()?) } else { None };
        Ok(Self { reply_buffer, signature, packet: reader.rest() })
    }
}

/// A message of a server (docs/protocols/ncp.md 1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TcpReply<'a> {
    /// The signature, if packets are signed.
    pub signature: Option<[u8; 8]>,
    /// The packet.
    pub packet: &'a [u8],
}

impl<'a> TcpReply<'a> {
    /// Length of the whole message, which the signature covers.
    pub const fn wire_len(&self) -> usize {
        REPLY_HEADER_LEN + if self.signature.is_some() { 8 } else { 0 } + self.packet.len()
    }

    /// Appends the message.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&reply_header(self.wire_len()));
        out.extend(self.signature.into_iter().flatten());
        out.extend_from_slice(self.packet);
    }

    /// Parses a whole message, as [`TcpRequest::decode`] does.
    pub fn decode(message: &'a [u8], signed: bool) -> Result<Self, WireError> {
        let mut reader = Reader::new(message);
        reader.take(8)?;
        let signature = if signed { Some(reader.array()?) } else { None };
        Ok(Self { signature, packet: reader.rest() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::hex;

    /// docs/protocols/ncp.md 1.5; libncp-client-udp-tcp-unsigned.pcap, frames 68 and 69.
    #[test]
    fn message_starts_with_marker_and_length() {
        let packet = hex("22220102010061040802");
        let request = TcpRequest { reply_buffer: 0x1_0000, signature: None, packet: &packet };
        let mut out = Vec::new();
        request.put(&mut out);
        assert_eq!(out, hex("446d6454 0000001a 00000001 00010000 22220102010061040802"));
        assert_eq!(message_len(Direction::Request, &out), Ok(Some(26)));
        assert_eq!(TcpRequest::decode(&out, false), Ok(request));
        let packet = hex("33330102010000000408000000");
        let mut out = Vec::new();
        TcpReply { signature: None, packet: &packet }.put(&mut out);
        assert_eq!(out, hex("744e6350 00000015 33330102010000000408000000"));
    }

    /// docs/protocols/ncp.md 1.5, 5.1; libncp-client-udp-tcp-signed.pcap, frames 78 and 81.
    #[test]
    fn signature_precedes_the_packet_and_counts_in_the_length() {
        let wire = hex("446d645400000022 00000001 00010000 16357f85362201bd 22220502010017000111");
        let request = TcpRequest::decode(&wire, true).unwrap();
        assert_eq!(request.signature, Some([0x16, 0x35, 0x7f, 0x85, 0x36, 0x22, 0x01, 0xbd]));
        assert_eq!((request.wire_len(), &request.packet[..2]), (0x22, &[0x22, 0x22][..]));
        let wire = hex("744e63500000001f fc8e98403eb0a6b3 33330602010000007e0b1501020306");
        let reply = TcpReply::decode(&wire, true).unwrap();
        let mut out = Vec::new();
        reply.put(&mut out);
        assert_eq!((out, reply.wire_len()), (wire, 0x1f));
    }

    #[test]
    fn stream_with_unknown_marker_or_length_is_an_error() {
        assert_eq!(message_len(Direction::Reply, b"tNcP\0\0"), Ok(None));
        assert_eq!(message_len(Direction::Reply, b"tNcP\x80\0\0\x10"), Ok(Some(16)));
        for stream in [b"DmdT\0\0\0\x10", b"tNcP\x0f\xff\xff\xff", b"tNcP\0\0\0\x07"] {
            assert!(message_len(Direction::Reply, stream).is_err(), "{stream:?}");
        }
        let wire = hex("446d6454 0000001a 00000002 00010000");
        assert_eq!(TcpRequest::decode(&wire, false), Err(WireError::BadValue { field: "version", value: 2 }));
    }
}
