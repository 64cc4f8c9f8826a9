//! File handles of four and six bytes, and counted file data (docs/protocols/ncp.md 3.1, 3.2).

use super::{Be16, Codec, Raw, Reader, WireError};

/// The four bytes by which a server identifies an open file; never all zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ShortHandle(pub [u8; 4]);

/// A file handle of the classic calls: two bytes that the server ignores, then the [`ShortHandle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileHandle(pub [u8; 6]);

impl FileHandle {
    /// The form in which the ncpfs client sends a handle that it got from a name-space call: the low word plus one
    /// precedes the four bytes.
    pub const fn of_name_space(short: ShortHandle) -> Self {
        let [low, high, c, d] = short.0;
        let next = u16::from_le_bytes([low, high]).wrapping_add(1).to_le_bytes();
        Self([next[0], next[1], low, high, c, d])
    }

    /// The form in which a server returns a handle.
    pub const fn of_server(short: ShortHandle) -> Self {
        let [a, b, c, d] = short.0;
        Self([0, 0, a, b, c, d])
    }

    /// The part that identifies the file.
    pub const fn short(self) -> ShortHandle {
        let [_, _, a, b, c, d] = self.0;
        ShortHandle([a, b, c, d])
    }
}

impl Codec<'_> for ShortHandle {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        Raw::put(&value.0, out);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.array().map(Self)
    }
}

impl Codec<'_> for FileHandle {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        Raw::put(&value.0, out);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.array().map(Self)
    }
}

/// File data of at most 65535 bytes after its big-endian count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Payload<'a>(&'a [u8]);

impl<'a> Payload<'a> {
    /// Data that can be sent; fails with `TooLong` above 65535 bytes.
    pub const fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        if bytes.len() > u16::MAX as usize {
            return Err(WireError::TooLong { field: "data", len: bytes.len(), max: u16::MAX as usize });
        }
        Ok(Self(bytes))
    }

    /// The data, with the lifetime of the packet.
    pub const fn bytes(self) -> &'a [u8] {
        self.0
    }
}

impl<'a> Codec<'a> for Payload<'a> {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        Be16::put(&(value.0.len() as u16), out);
        out.extend_from_slice(value.0);
    }

    fn get(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let len = reader.get::<Be16>()?;
        reader.take(usize::from(len)).map(Self)
    }
}

/// Data of a read: the reply to 0x48 and 87/64 (docs/protocols/ncp.md 3.2, 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadReply<'a> {
    /// The filler byte between count and data at odd offsets, which keeps the data aligned.
    pub filler: Option<u8>,
    /// The data: shorter than requested at the end of the file, empty beyond it.
    pub data: Payload<'a>,
}

impl<'a> ReadReply<'a> {
    /// Builds the reply to a read at `offset`.
    pub const fn new(offset: u64, data: Payload<'a>) -> Self {
        Self { filler: if offset % 2 == 1 { Some(0) } else { None }, data }
    }

    /// Appends the reply.
    pub fn put(&self, out: &mut Vec<u8>) {
        Be16::put(&(self.data.0.len() as u16), out);
        out.extend(self.filler);
        out.extend_from_slice(self.data.0);
    }

    /// Parses the reply to a read at `offset`.
    pub fn decode(offset: u64, bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(bytes);
        let len = reader.get::<Be16>()?;
        let filler = if offset % 2 == 1 { Some(u8::from_be_bytes(reader.array()?)) } else { None };
        Ok(Self { filler, data: Payload(reader.take(usize::from(len))?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::hex;

    /// docs/protocols/ncp.md 3.1; libncp-client-udp-tcp-unsigned.pcap, frames 22 and 25.
    #[test]
    fn last_four_bytes_of_a_handle_identify_the_file() {
        let short = ShortHandle([1, 0, 0, 0]);
        let long = FileHandle::of_name_space(short);
        assert_eq!(long, FileHandle([2, 0, 1, 0, 0, 0]));
        assert_eq!((long.short(), FileHandle::of_server(short).short()), (short, short));
        assert_eq!(FileHandle::of_name_space(ShortHandle([0xff; 4])).0, [0, 0, 0xff, 0xff, 0xff, 0xff]);
    }

    /// docs/protocols/ncp.md 3.2; mars-server-ipx-in-udp-with-burst.pcap, frames 46 and 48: offsets 0 and 1.
    #[test]
    fn odd_offset_adds_a_filler_byte() {
        let even = hex("0010c3c0084e8623fc58e94ed018f88e4796");
        let read = ReadReply::decode(0, &even).unwrap();
        assert_eq!((read.filler, &read.data.bytes()[..4]), (None, &hex("c3c0084e")[..]));
        let odd = hex("0010c3c0084e8623fc58e94ed018f88e479643");
        let read = ReadReply::decode(1, &odd).unwrap();
        assert_eq!((read.filler, &read.data.bytes()[..4]), (Some(0xc3), &hex("c0084e86")[..]));
        let mut out = Vec::new();
        read.put(&mut out);
        assert_eq!(out, odd);
        assert!(ReadReply::decode(1, &even).is_err());
    }

    #[test]
    fn data_above_65535_bytes_cannot_be_sent() {
        assert!(Payload::new(&vec![0; 65536]).is_err());
    }
}
