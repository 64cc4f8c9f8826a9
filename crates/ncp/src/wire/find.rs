//! Classic searches: 0x3E with 0x3F, and 0x40 (docs/protocols/ncp.md 3.2).

use super::bytes::message;
use super::{Be16, FileEntry, Pstr, Raw, U8};

message! {
    /// 0x3E: begins a search in a directory (docs/protocols/ncp.md 3.2).
    BeginSearch<'a> {
        /// Directory handle.
        directory: u8 as U8,
        /// Path of the directory.
        path: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x3E (docs/protocols/ncp.md 3.2).
    SearchBegun {
        /// Position of the search.
        place: SearchPlace as SearchPlace,
        /// Effective rights in the directory.
        rights: u8 as U8,
    }
}

message! {
    /// Position of a search (docs/protocols/ncp.md 3.2).
    SearchPlace {
        /// Volume.
        volume: u8 as U8,
        /// Directory id, assigned by the server.
        directory: [u8; 2] as Raw<2>,
        /// Last entry returned; FFFF at the start.
        sequence: u16 as Be16,
    }
}

message! {
    /// 0x3F: requests the next entry of a search; completion 0xFF ends the search (docs/protocols/ncp.md 3.2).
    ContinueSearch<'a> {
        /// Position of the search.
        place: SearchPlace as SearchPlace,
        /// Search attributes.
        search: u8 as U8,
        /// DOS pattern.
        pattern: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x40: requests the entry after `sequence` in one call (docs/protocols/ncp.md 3.2).
    SearchFile<'a> {
        /// Last entry returned; FFFF at the start.
        sequence: u16 as Be16,
        /// Directory handle.
        directory: u8 as U8,
        /// Search attributes.
        search: u8 as U8,
        /// DOS pattern.
        pattern: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x3F and 0x40 (docs/protocols/ncp.md 3.2).
    FoundFile {
        /// Entry at which the search continues.
        sequence: u16 as Be16,
        /// Directory id, assigned by the server; reserved in 0x40.
        directory: [u8; 2] as Raw<2>,
        /// The entry.
        entry: FileEntry as FileEntry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Codec;
    use crate::wire::tests::{bytes, hex};

    /// docs/protocols/ncp.md 3.2; mars-server-ipx-in-udp-with-burst.pcap, frames 107 to 110.
    #[test]
    fn search_continues_from_entry_to_entry() {
        let begin = BeginSearch { directory: 2, path: Pstr::default() };
        assert_eq!(bytes::<BeginSearch>(&begin), hex("0200"));
        let begun = SearchBegun::decode(&hex("000001ffffff")).unwrap();
        let place = SearchPlace { volume: 0, directory: [0, 1], sequence: 0xffff };
        assert_eq!(begun, SearchBegun { place, rights: 0xff });
        let pattern = Pstr::new(b"*.*").unwrap();
        let next = ContinueSearch { place, search: 6, pattern };
        assert_eq!(bytes::<ContinueSearch>(&next), hex("000001ffff06032a2e2a"));
        let wire = hex("00040001 4e53312e44415400000000000000 20 00 00000000 5d75 5d75 5d75 0e65");
        let found = FoundFile::decode(&wire).unwrap();
        assert_eq!((found.sequence, found.directory, &found.entry.name[..7]), (4, [0, 1], &b"NS1.DAT"[..]));
        assert_eq!(bytes::<FoundFile>(&found), wire);
    }

    /// docs/protocols/ncp.md 3.2: 0x40, from the description alone.
    #[test]
    fn search_0x40_has_the_directory_in_each_call() {
        let pattern = Pstr::new(b"*").unwrap();
        let search = SearchFile { sequence: 0xffff, directory: 2, search: 6, pattern };
        assert_eq!(bytes::<SearchFile>(&search), hex("ffff0206012a"));
    }
}
