//! Searches of family 0x57: 87/2 with 87/3 or 87/20 (docs/protocols/ncp.md 3.4).

use super::bytes::message;
use super::{After, Codec, HandlePath, Le16, Le32, NamedInfo, Pstr, Reader, ReturnMask, U8, WireError};

message! {
    /// Position of a search; the entry FFFFFFFF is its start (docs/protocols/ncp.md 3.4).
    Sequence {
        /// Volume.
        volume: u8 as U8,
        /// Number of the directory.
        directory: u32 as Le32,
        /// Last entry returned.
        entry: u32 as Le32,
    }
}

message! {
    /// 87/2: begins a search in a directory; the reply is a [`Sequence`] (docs/protocols/ncp.md 3.4).
    InitSearch<'a> {
        /// Name space of the search.
        space: u8 as U8,
        /// The directory.
        path: HandlePath<'a> as After<1, HandlePath<'a>>,
    }
}

message! {
    /// 87/3: requests the next entry; completion 0xFF ends the search (docs/protocols/ncp.md 3.4).
    SearchNext<'a> {
        /// Name space of the search.
        space: u8 as U8,
        /// Data stream; 0.
        stream: u8 as U8,
        /// Search attributes.
        search: u16 as Le16,
        /// Fields requested in the reply.
        mask: ReturnMask as ReturnMask,
        /// See [`super::info::extended`].
        extended: u16 as Le16,
        /// Position of the search.
        sequence: Sequence as Sequence,
        /// Pattern; FF before '*' or '?' marks a wildcard.
        pattern: Pstr<'a> as Pstr<'a>,
    }
}

/// Reply to 87/3 (docs/protocols/ncp.md 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FoundNext<'a> {
    /// Position at which the search continues.
    pub sequence: Sequence,
    /// The entry.
    pub entry: NamedInfo<'a>,
}

impl<'a> FoundNext<'a> {
    /// Appends the reply.
    pub fn put(&self, out: &mut Vec<u8>) {
        Sequence::put(&self.sequence, out);
        out.push(0);
        self.entry.put(out);
    }

    /// Parses the reply to a request with this mask.
    pub fn get(mask: ReturnMask, reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let sequence = reader.get::<Sequence>()?;
        reader.take(1)?;
        Ok(Self { sequence, entry: NamedInfo::get(mask, reader)? })
    }
}

message! {
    /// 87/20: requests the next entries; completion 0xFF ends the search (docs/protocols/ncp.md 3.4).
    SearchSet<'a> {
        /// Name space of the search.
        space: u8 as U8,
        /// Data stream; 0.
        stream: u8 as U8,
        /// Search attributes.
        search: u16 as Le16,
        /// Fields requested in the reply.
        mask: ReturnMask as ReturnMask,
        /// See [`super::info::extended`].
        extended: u16 as Le16,
        /// The largest number of entries in the reply.
        max_entries: u16 as Le16,
        /// Position of the search.
        sequence: Sequence as Sequence,
        /// Pattern; FF before '*' or '?' marks a wildcard.
        pattern: Pstr<'a> as Pstr<'a>,
    }
}

/// Reply to 87/20: its header and the entries (docs/protocols/ncp.md 3.4).
#[derive(Debug, Clone, Copy)]
pub struct FoundSet<'a> {
    /// Position at which the search continues.
    pub sequence: Sequence,
    /// FF if there are more entries.
    pub more: u8,
    /// Number of entries in this reply.
    pub count: u16,
    mask: ReturnMask,
    entries: Reader<'a>,
}

impl<'a> FoundSet<'a> {
    /// Appends the header of a reply; the entries follow with [`NamedInfo::put`].
    pub fn put_head(sequence: &Sequence, more: u8, count: u16, out: &mut Vec<u8>) {
        Sequence::put(sequence, out);
        out.push(more);
        Le16::put(&count, out);
    }

    /// Parses the reply to a request with this mask.
    pub fn decode(mask: ReturnMask, bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(bytes);
        let sequence = reader.get::<Sequence>()?;
        let more = reader.get::<U8>()?;
        let count = reader.get::<Le16>()?;
        Ok(Self { sequence, more, count, mask, entries: reader })
    }

    /// The entries; a malformed one ends the iteration.
    pub fn entries(&self) -> impl Iterator<Item = Result<NamedInfo<'a>, WireError>> + use<'a> {
        let mask = self.mask;
        let mut reader = self.entries;
        let mut sound = true;
        (0..self.count).map_while(move |_| {
            let entry = sound.then(|| NamedInfo::get(mask, &mut reader))?;
            sound = entry.is_ok();
            Some(entry)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::handle_path::{Components, PathStart};
    use crate::wire::tests::{bytes, hex};

    const ANY: &[u8] = b"\xff*";

    /// docs/protocols/ncp.md 3.4, sub-functions 2 and 3; mars-server-ipx-in-udp-with-burst.pcap, frames 85 to 87.
    #[test]
    fn search_calls_match_captures() {
        let path = HandlePath { start: PathStart::handle(2), components: Components::NONE };
        let init = InitSearch { space: 0, path };
        assert_eq!(bytes::<InitSearch>(&init), hex("00 00 00 02000000 00 00"));
        let sequence = Sequence { volume: 0, directory: 0x009e_41e5, entry: u32::MAX };
        assert_eq!(Sequence::decode(&hex("00 e5419e00 ffffffff")), Ok(sequence));
        let pattern = Pstr::new(ANY).unwrap();
        let mask = ReturnMask(0x000d);
        let next = SearchNext { space: 0, stream: 0, search: 0x8006, mask, extended: 0, sequence, pattern };
        assert_eq!(bytes::<SearchNext>(&next), hex("00 00 0680 0d00 0000 00 e5419e00 ffffffff 02ff2a"));
    }

    /// docs/protocols/ncp.md 3.4, sub-function 20; linux-kernel-client-udp-tcp.pcap, frame 36.
    #[test]
    fn search_set_call_has_its_largest_count() {
        let set = SearchSet {
            space: 0,
            stream: 0,
            search: 0x8006,
            mask: ReturnMask::ALL,
            extended: 0,
            max_entries: 0x7fff,
            sequence: Sequence { volume: 0, directory: 1, entry: u32::MAX },
            pattern: Pstr::new(ANY).unwrap(),
        };
        let wire = hex("00 00 0680 ff0f 0000 ff7f 00 01000000 ffffffff 02ff2a");
        assert_eq!(bytes::<SearchSet>(&set), wire);
    }

    /// docs/protocols/ncp.md 3.4, sub-functions 3 and 20.
    #[test]
    fn malformed_entry_ends_the_iteration() {
        let sequence = Sequence { volume: 0, directory: 1, entry: 7 };
        let info = crate::wire::Info::decode(&[0; 76]).unwrap();
        let entry = NamedInfo { info, name: Some(Pstr::new(b"A").unwrap()) };
        let mut wire = Vec::new();
        FoundSet::put_head(&sequence, 0, 3, &mut wire);
        assert_eq!(wire, hex("00 01000000 07000000 00 0300"));
        entry.put(&mut wire);
        entry.put(&mut wire);
        let found = FoundSet::decode(ReturnMask::NAME, &wire).unwrap();
        let entries: Vec<_> = found.entries().collect();
        assert_eq!(entries[..2], [Ok(entry), Ok(entry)]);
        assert!(entries.len() == 3 && entries[2].is_err());
        let mut wire = Vec::new();
        FoundNext { sequence, entry }.put(&mut wire);
        assert_eq!(wire[..10], hex("00 01000000 07000000 00")[..]);
        let next = FoundNext::get(ReturnMask::NAME, &mut Reader::new(&wire)).unwrap();
        assert_eq!(next, FoundNext { sequence, entry });
    }
}
