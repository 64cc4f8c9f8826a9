//! The entries of a directory that search attributes select (docs/protocols/ncp.md 3.2).

use super::volume::Entry;
use crate::wire::dos::{attribute, search};

/// The entries that search attributes select.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryFilter {
    files: bool,
    directories: bool,
    /// Attributes of entries that it does not select.
    concealed: u32,
}

/// The attributes that conceal an entry from searches that do not request them.
const fn concealed(attributes: u8) -> u32 {
    let hidden = if attributes & search::HIDDEN == 0 { attribute::HIDDEN } else { 0 };
    let system = if attributes & search::SYSTEM == 0 { attribute::SYSTEM } else { 0 };
    hidden | system
}

impl EntryFilter {
    /// Directories only, also hidden ones.
    pub const DIRECTORIES: Self = Self { files: false, directories: true, concealed: 0 };

    /// Search attributes of the name-space calls: 0010 selects directories only, 8000 selects both.
    pub const fn of_name_space(attributes: u16) -> Self {
        let alone = attributes & search::DIRECTORIES as u16 != 0;
        let both = attributes & 0x8000 != 0;
        Self { files: both || !alone, directories: both || alone, concealed: concealed(attributes as u8) }
    }

    /// Search attributes of the classic calls, which select either files or directories.
    pub const fn of_classic(attributes: u8) -> Self {
        let alone = attributes & search::DIRECTORIES != 0;
        Self { files: !alone, directories: alone, concealed: concealed(attributes) }
    }

    /// The filter without directories.
    #[must_use]
    pub const fn files_only(self) -> Self {
        Self { files: true, directories: false, ..self }
    }

    /// True when its attributes do not conceal an entry, whether it is a file or a directory.
    pub const fn shows(self, entry: &Entry) -> bool {
        !entry.has(self.concealed)
    }

    /// True when it selects an entry.
    pub const fn has(self, entry: &Entry) -> bool {
        self.shows(entry) && if entry.directory { self.directories } else { self.files }
    }
}
