//! The information classes of a directory listing (MS-FSCC 2.4), as a server encodes them.

use super::file_info::FileMetadata;
use super::{Field, put_utf16};

/// A class of entries in the response to `QUERY_DIRECTORY` (MS-SMB2 2.2.33).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListingClass {
    /// `FileDirectoryInformation` (MS-FSCC 2.4.10).
    Directory,
    /// `FileFullDirectoryInformation` (MS-FSCC 2.4.14).
    FullDirectory,
    /// `FileBothDirectoryInformation` (MS-FSCC 2.4.8).
    BothDirectory,
    /// `FileNamesInformation` (MS-FSCC 2.4.28).
    Names,
    /// `FileIdBothDirectoryInformation` (MS-FSCC 2.4.17).
    IdBothDirectory,
    /// `FileIdFullDirectoryInformation` (MS-FSCC 2.4.18).
    IdFullDirectory,
}

/// Bytes of the short name in the classes that have one. Servers without short names send zeros.
const SHORT_NAME: [u8; 24] = [0; 24];

impl ListingClass {
    /// The class with this number; none for a class that is not supported.
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Directory,
            2 => Self::FullDirectory,
            3 => Self::BothDirectory,
            12 => Self::Names,
            37 => Self::IdBothDirectory,
            38 => Self::IdFullDirectory,
            _ => return None,
        })
    }

    /// Bytes of an entry before its name.
    const fn fixed_bytes(self) -> usize {
        match self {
            Self::Names => 12,
            Self::Directory => 64,
            Self::FullDirectory => 68,
            Self::BothDirectory => 94,
            Self::IdBothDirectory => 104,
            Self::IdFullDirectory => 80,
        }
    }

    /// Appends the fields between the length of the name and the name.
    fn put_details(self, metadata: &FileMetadata, out: &mut Vec<u8>) {
        if matches!(self, Self::Directory | Self::Names) {
            return;
        }
        // EaSize.
        0u32.put(out);
        if matches!(self, Self::BothDirectory | Self::IdBothDirectory) {
            // ShortNameLength and a reserved byte.
            0u16.put(out);
            SHORT_NAME.put(out);
        }
        match self {
            Self::IdBothDirectory => 0u16.put(out),
            Self::IdFullDirectory => 0u32.put(out),
            _ => return,
        }
        metadata.file_id.put(out);
    }
}

/// The entries of one response, up to the size that the client accepts.
///
/// Each entry starts at a multiple of 8 bytes and has the distance to the next one; [`Self::push`] sets the distance in
/// the entry before it, so that the listing is complete after every entry.
#[derive(Debug)]
pub struct ListingWriter {
    class: ListingClass,
    max_bytes: usize,
    bytes: Vec<u8>,
    last: usize,
}

impl ListingWriter {
    /// An empty listing of at most `max_bytes`.
    pub fn new(class: ListingClass, max_bytes: usize) -> Self {
        Self { class, max_bytes, bytes: Vec::new(), last: 0 }
    }

    /// Appends an entry; false if it does not fit.
    pub fn push(&mut self, name: &str, metadata: &FileMetadata) -> bool {
        let start = self.bytes.len().next_multiple_of(8);
        let name_bytes = name.encode_utf16().count() * 2;
        if start + self.class.fixed_bytes() + name_bytes > self.max_bytes {
            return false;
        }
        if !self.bytes.is_empty() {
            let distance = (start - self.last) as u32;
            self.bytes[self.last..self.last + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.last = start;
        self.bytes.resize(start, 0);
        let out = &mut self.bytes;
        // NextEntryOffset and FileIndex.
        0u64.put(out);
        if self.class != ListingClass::Names {
            metadata.put_times(out);
            metadata.end_of_file.put(out);
            metadata.allocation.put(out);
            metadata.attributes.put(out);
        }
        (name_bytes as u32).put(out);
        self.class.put_details(metadata, out);
        put_utf16(name, out);
        true
    }

    /// True if the listing has no entry.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Position of the last entry; 0 if there is none.
    pub fn last_at(&self) -> usize {
        self.last
    }

    /// The encoded entries.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::directory::{DirectoryEntry, entries};
    use super::super::utf16;
    use super::*;

    const CLASSES: [(u8, usize); 6] = [(1, 64), (2, 68), (3, 94), (12, 12), (37, 104), (38, 80)];

    fn metadata() -> FileMetadata {
        FileMetadata { end_of_file: 7, attributes: 0x20, file_id: 0x1122, ..FileMetadata::default() }
    }

    #[test]
    fn the_client_decodes_what_the_server_encodes() {
        let mut listing = ListingWriter::new(ListingClass::Directory, 4096);
        assert!(listing.is_empty());
        for name in ["a", "b.txt", "ü😀"] {
            assert!(listing.push(name, &metadata()));
        }
        let of = |name: &str| DirectoryEntry { name: name.into(), attributes: 0x20, end_of_file: 7 };
        assert_eq!(entries(&listing.into_bytes()), Ok(vec![of("a"), of("b.txt"), of("ü😀")]));
    }

    #[test]
    fn every_class_has_its_fixed_length_and_its_name_at_the_end() {
        for (number, fixed) in CLASSES {
            let class = ListingClass::from_number(number).unwrap();
            let mut listing = ListingWriter::new(class, 4096);
            assert!(listing.push("name", &metadata()));
            let bytes = listing.into_bytes();
            assert_eq!(bytes.len(), fixed + 8, "{class:?}");
            assert_eq!(bytes[fixed..], utf16("name"), "{class:?}");
            if number > 12 {
                assert_eq!(bytes[fixed - 8..fixed], 0x1122u64.to_le_bytes(), "{class:?}");
            }
        }
        assert_eq!(ListingClass::from_number(0), None);
    }

    #[test]
    fn an_entry_that_exceeds_the_size_leaves_the_listing_complete() {
        for (number, fixed) in CLASSES {
            let class = ListingClass::from_number(number).unwrap();
            let mut listing = ListingWriter::new(class, fixed + 2);
            assert!(!listing.push("ab", &metadata()) && listing.is_empty());
            assert!(listing.push("a", &metadata()));
            assert!(!listing.push("b", &metadata()));
            let bytes = listing.into_bytes();
            assert_eq!((bytes.len(), &bytes[..4]), (fixed + 2, &[0; 4][..]), "{class:?}");
        }
    }
}
