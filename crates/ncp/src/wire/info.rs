//! File information in name-space calls: the return mask and the information block (docs/protocols/ncp.md 3.4).

use super::bytes::message;
use super::dos::LeTimeDate;
use super::{Codec, DosTime, Le16, Le32, Pstr, Reader, WireError};

/// The requested fields of a file (RIM, docs/protocols/ncp.md 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct ReturnMask(pub u16);

impl ReturnMask {
    /// The name after the block.
    pub const NAME: Self = Self(0x0001);
    /// Attributes.
    pub const ATTRIBUTES: Self = Self(0x0004);
    /// Size.
    pub const SIZE: Self = Self(0x0008);
    /// Time of the last modification.
    pub const MODIFIED: Self = Self(0x0080);
    /// Number of the directory entry.
    pub const ENTRY: Self = Self(0x0400);
    /// Every field of the block.
    pub const ALL: Self = Self(0x0FFF);

    /// True when all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Codec<'_> for ReturnMask {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        Le16::put(&value.0, out);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.get::<Le16>().map(Self)
    }
}

/// Bits of the extended return mask, which select other forms of the reply (docs/protocols/ncp.md 3.4).
#[expect(missing_docs, reason = "the names are the field's")]
pub mod extended {
    pub const LARGE_SIZES: u16 = 0x0400;
    /// The reply has only the requested fields.
    pub const NEW_STYLE: u16 = 0x8000;
}

message! {
    /// The 76 bytes of the old style; fields that were not requested are 0 (docs/protocols/ncp.md 3.4).
    Info {
        /// Bytes on disk.
        space: u32 as Le32,
        /// Attributes.
        attributes: u32 as Le32,
        /// Flags.
        flags: u16 as Le16,
        /// Bytes of the file.
        size: u32 as Le32,
        /// Bytes of all its streams.
        total_size: u32 as Le32,
        /// Streams.
        streams: u16 as Le16,
        /// Creation time.
        created: DosTime as LeTimeDate,
        /// Object id of the creator.
        creator: u32 as Le32,
        /// Time of the last modification.
        modified: DosTime as LeTimeDate,
        /// Object id of the last modifier.
        modifier: u32 as Le32,
        /// DOS date of the last access.
        accessed: u16 as Le16,
        /// Time of the last archiving.
        archived: DosTime as LeTimeDate,
        /// Object id of the last archiver.
        archiver: u32 as Le32,
        /// Rights that are inherited.
        rights: u16 as Le16,
        /// Directory entry number, at which a path may start.
        entry: u32 as Le32,
        /// Directory entry number in the DOS name space.
        dos_entry: u32 as Le32,
        /// Volume.
        volume: u32 as Le32,
        /// Size of its extended attributes, their number and the size of their keys.
        extended_size: u32 as Le32,
        /// Number of its extended attributes.
        extended_count: u32 as Le32,
        /// Size of their keys.
        extended_key_size: u32 as Le32,
        /// Name space it was created in.
        name_space: u32 as Le32,
    }
}

/// An information block and the name after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NamedInfo<'a> {
    /// The block.
    pub info: Info,
    /// The name, if the mask requested it.
    pub name: Option<Pstr<'a>>,
}

impl<'a> NamedInfo<'a> {
    /// Appends the block and the name.
    pub fn put(&self, out: &mut Vec<u8>) {
        Info::put(&self.info, out);
        if let Some(name) = &self.name {
            Pstr::put(name, out);
        }
    }

    /// Parses the reply to a request with this mask.
    pub fn get(mask: ReturnMask, reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let info = reader.get::<Info>()?;
        let name = if mask.has(ReturnMask::NAME) { Some(reader.get::<Pstr<'a>>()?) } else { None };
        Ok(Self { info, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::{bytes, hex};

    /// docs/protocols/ncp.md 3.4; mars-server-ipx-in-udp-with-burst.pcap, frame 84.
    const WIRE: &str = "00000000 20000000 2000 00000000 00000000 0000 650e755d 00000001 650e755d 00000001 755d
        00002 1ec00000000 ff01 08409e00 08409e00 00000000 00000000 00000000 00000000 00000000 074e53312e444154";

    #[test]
    fn information_block_has_76_bytes_before_the_name() {
        let wire = hex(WIRE);
        let mut reader = Reader::new(&wire);
        let named = NamedInfo::get(ReturnMask::ALL, &mut reader).unwrap();
        assert!(reader.rest().is_empty());
        assert_eq!((named.info.attributes, named.info.flags, named.info.size), (0x20, 0x20, 0));
        assert_eq!(named.info.modified, DosTime { date: 0x5d75, time: 0x0e65 });
        assert_eq!((named.info.creator, named.info.rights), (0x0100_0000, 0x01ff));
        assert_eq!((named.info.entry, named.info.dos_entry), (0x009e_4008, 0x009e_4008));
        assert_eq!(named.name.unwrap().bytes(), b"NS1.DAT");
        assert_eq!(bytes::<Info>(&named.info), wire[..76]);
        let mut out = Vec::new();
        named.put(&mut out);
        assert_eq!(out, wire);
    }

    #[test]
    fn reply_without_name_bit_has_no_name() {
        let wire = hex(WIRE);
        let named = NamedInfo::get(ReturnMask::SIZE, &mut Reader::new(&wire[..76])).unwrap();
        assert_eq!(named.name, None);
    }
}
