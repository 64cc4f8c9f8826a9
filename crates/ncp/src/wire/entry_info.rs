//! Information on a file or directory in every form that a request may select: the block of the old style, and the fields of
//! the new one (docs/protocols/ncp.md 3.4).

use super::info::extended;
use super::{Codec, Info, Le16, Le32, Pstr, Reader, ReturnMask, WireError};

/// Fields of the new style in their order, with their lengths, up to the number of the entry.
const BEFORE_ENTRY: [(ReturnMask, usize); 8] = [
    (ReturnMask(0x0002), 4),
    (ReturnMask::ATTRIBUTES, 6),
    (ReturnMask::SIZE, 4),
    (ReturnMask(0x0010), 6),
    (ReturnMask(0x0020), 12),
    (ReturnMask::MODIFIED, 10),
    (ReturnMask(0x0100), 8),
    (ReturnMask(0x0040), 8),
];
/// Number of the entry, its number in the DOS name space, and its volume.
const ENTRY_LEN: usize = 12;
/// Fields after it: rights, name space; after both styles a reference id and attributes of the name space.
const AFTER_ENTRY: [(ReturnMask, usize); 2] = [(ReturnMask(0x0800), 2), (ReturnMask(0x0200), 4)];
const AFTER_BOTH: [(ReturnMask, usize); 2] = [(ReturnMask(0x1000), 2), (ReturnMask(0x2000), 4)];
/// Lists of data streams, whose length is not known.
const STREAMS: u16 = 0xC000;
/// Bits of the extended mask between them and the size: the name in the DOS name space has no fixed length.
const DOS_NAME: u16 = 0x0002;
const UPDATED: (u16, usize) = (0x0001, 4);
const EXTENDED: [(u16, usize); 7] =
    [(0x0004, 4), (0x0008, 4), (0x0010, 32), (0x0020, 4), (0x0040, 4), (0x0080, 8), (0x0100, 2)];

/// The fields that a request wants of each entry, and the form of its reply (docs/protocols/ncp.md 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InfoForm {
    /// The requested fields.
    pub mask: ReturnMask,
    /// The extended mask: see [`extended`].
    pub extended: u16,
    /// Lengths of names have two bytes, as in replies of function 0x59.
    pub wide: bool,
}

/// What a reply states of an entry; fields that were not requested are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EntryInfo<'a> {
    /// See [`super::dos::attribute`].
    pub attributes: Option<u32>,
    /// Bytes.
    pub size: Option<u64>,
    /// Its volume and its number there.
    pub entry: Option<(u8, u32)>,
    /// In the name space of the reply.
    pub name: Option<&'a [u8]>,
}

impl InfoForm {
    /// Decodes what a reply states of one entry. After lists of data streams, fields cannot be found: what precedes them is
    /// returned.
    pub fn get<'a>(self, reader: &mut Reader<'a>) -> Result<EntryInfo<'a>, WireError> {
        let mut described = if self.extended & extended::NEW_STYLE != 0 {
            self.selected(reader)?
        } else if self.mask == ReturnMask::default() {
            EntryInfo::default()
        } else {
            self.block(reader)?
        };
        self.skip(&AFTER_BOTH, reader)?;
        if self.mask.0 & STREAMS != 0 {
            // The fields after them cannot be found.
            return Ok(described);
        }
        let skip = |(bit, len): (u16, usize), reader: &mut Reader<'a>| {
            if self.extended & bit != 0 { reader.take(len).map(drop) } else { Ok(()) }
        };
        skip(UPDATED, reader)?;
        if self.extended & DOS_NAME != 0 {
            self.name(reader)?;
        }
        for field in EXTENDED {
            skip(field, reader)?;
        }
        if self.extended & extended::LARGE_SIZES != 0 {
            let low = reader.get::<Le32>()?;
            let high = reader.get::<Le32>()?;
            described.size = Some(u64::from(high) << 32 | u64::from(low));
        }
        if self.mask.has(ReturnMask::NAME) {
            described.name = Some(self.name(reader)?);
        }
        Ok(described)
    }

    /// True if the description has an end that is known, so that another one may follow it.
    pub const fn is_bounded(self) -> bool {
        self.mask.0 & STREAMS == 0
    }

    /// The old style: a block in which fields that were not requested are 0.
    fn block<'a>(self, reader: &mut Reader<'a>) -> Result<EntryInfo<'a>, WireError> {
        let info = reader.get::<Info>()?;
        let known = |field| self.mask.has(field);
        Ok(EntryInfo {
            attributes: known(ReturnMask::ATTRIBUTES).then_some(info.attributes),
            size: known(ReturnMask::SIZE).then_some(u64::from(info.size)),
            entry: (known(ReturnMask::ENTRY) && info.entry != 0).then_some((info.volume as u8, info.entry)),
            name: None,
        })
    }

    /// The new style: only the fields that were requested.
    fn selected<'a>(self, reader: &mut Reader<'a>) -> Result<EntryInfo<'a>, WireError> {
        let mut described = EntryInfo::default();
        for (field, len) in BEFORE_ENTRY {
            if !self.mask.has(field) {
                continue;
            }
            let bytes = reader.take(len)?;
            let value = Reader::new(bytes).get::<Le32>()?;
            match field {
                ReturnMask::ATTRIBUTES => described.attributes = Some(value),
                ReturnMask::SIZE => described.size = Some(u64::from(value)),
                _ => {}
            }
        }
        if self.mask.has(ReturnMask::ENTRY) {
            let mut entry = Reader::new(reader.take(ENTRY_LEN)?);
            let number = entry.get::<Le32>()?;
            entry.take(4)?;
            let volume = entry.get::<Le32>()? as u8;
            described.entry = (number != 0).then_some((volume, number));
        }
        self.skip(&AFTER_ENTRY, reader)?;
        Ok(described)
    }

    fn skip(self, fields: &[(ReturnMask, usize)], reader: &mut Reader<'_>) -> Result<(), WireError> {
        for (field, len) in fields {
            if self.mask.has(*field) {
                reader.take(*len)?;
            }
        }
        Ok(())
    }

    fn name<'a>(self, reader: &mut Reader<'a>) -> Result<&'a [u8], WireError> {
        if self.wide {
            let len = reader.get::<Le16>()?;
            return reader.take(usize::from(len));
        }
        Ok(Pstr::get(reader)?.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    /// Replies of a NetWare server to 0x59/32 (after handle, action and flags), 0x59/3 (after position and filler) and 0x59/6:
    /// `testing/btest/Traces/ncp.pcap` of zeek/zeek, frames 9, 484 and 65.
    #[test]
    fn both_styles_have_attributes_size_number_and_name() {
        let opened =
            hex("26000040 1000 52000000 000000000000000000000000 6a663d3b36850000 3d3b af562a3936850000
            10780400 10780400 02000000 b603 5200000000000000");
        let form = InfoForm { mask: ReturnMask(0x15ac), extended: 0x8400, wide: true };
        let mut reader = Reader::new(&opened);
        let described = form.get(&mut reader).unwrap();
        let expected = EntryInfo {
            attributes: Some(0x4000_0026),
            size: Some(82),
            entry: Some((2, 0x47810)),
            name: None,
        };
        assert_eq!((described, reader.rest().len()), (expected, 0));

        let found = hex("00100000 20000040 1000 9f000000 000000000000000000000000 ad82383b36850000 3d3b
            ad82383b36850000 ad9e3b00 ad9e3b00 02000000 0c00 415254 49434c7e312e55524c
            1200 61727469636c65363834373435372e75726c");
        let form = InfoForm { mask: ReturnMask(0x05af), extended: 0x8002, wide: true };
        let mut reader = Reader::new(&found);
        let described = form.get(&mut reader).unwrap();
        assert_eq!((described.size, described.entry), (Some(159), Some((2, 0x3b_9ead))));
        assert_eq!((described.name, reader.rest().len()), (Some(&b"article6847457.url"[..]), 0));

        let info = hex("00000000 20000040 0000 9f000000 00000000 0000 ad82383b36850000 ad82383b36850000 3d3b
            0000000000000000 0000 ad9e3b00 ad9e3b00 02000000 000000000000000000000000 00000000
            0c00 41525449434c7e312e55524c");
        let form = InfoForm { mask: ReturnMask(0x05ad), extended: 0, wide: true };
        let mut reader = Reader::new(&info);
        let described = form.get(&mut reader).unwrap();
        assert_eq!((described.size, described.entry), (Some(159), Some((2, 0x3b_9ead))));
        assert_eq!((described.name, reader.rest().len()), (Some(&b"ARTICL~1.URL"[..]), 0));
    }

    #[test]
    fn what_is_cut_is_an_error_and_streams_end_a_description() {
        let whole = hex("26000040 1000 52000000");
        let form = |mask| InfoForm { mask: ReturnMask(mask), extended: extended::NEW_STYLE, wide: true };
        for len in 0..whole.len() {
            assert!(form(0x000c).get(&mut Reader::new(&whole[..len])).is_err(), "{len}");
        }
        let described = form(0x800d).get(&mut Reader::new(&whole)).unwrap();
        assert_eq!((described.size, described.name), (Some(82), None));
        assert!(!form(0x800d).is_bounded() && form(0x000d).is_bounded());
    }
}
