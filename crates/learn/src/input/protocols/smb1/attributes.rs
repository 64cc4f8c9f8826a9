//! Attributes of files in requests of SMB 1 that set them, and in replies (MS-CIFS 2.2.4.9, 2.2.4.31, 2.2.8.3).

use sharebench_smb::nt1::attributes::{Query2Response, QueryResponse};

use super::bytes::{long, short, word};
use super::header;

/// Where a reply states length and kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attributes {
    /// Nowhere.
    Other,
    /// Words of `QUERY_INFORMATION`.
    Core,
    /// Words of `QUERY_INFORMATION2`.
    CoreOfOpen,
    /// The name is one of a directory (`CHECK_DIRECTORY`).
    Directory,
    /// Data of this level.
    Level(u16),
}

/// What a request sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Attributes,
    Size(u64),
    /// Whether it is removed when it is closed.
    Disposition(bool),
    /// Its name: within the share, or within the directory that it is in.
    Name {
        name: String,
        same_directory: bool,
    },
    /// It is removed at once.
    Removal,
}

impl Attributes {
    /// Length and whether it is a directory, as far as a reply states them: in its words, or in the data of its transaction.
    pub(super) fn read(self, words: &[u8], data: &[u8]) -> (Option<u64>, Option<bool>) {
        let directory = |attributes: Option<u16>| attributes.map(|bits| bits & 0x10 != 0);
        let stated = |reply: Option<(u32, u16)>| {
            (reply.map(|(size, _)| size.into()), directory(reply.map(|(_, attributes)| attributes)))
        };
        let flag = |at: usize| data.get(at).map(|flag| *flag != 0);
        let size = |bytes: &[u8], at: usize| word(bytes, at).map(u64::from);
        match self {
            Self::Core => {
                stated(header::words(words, 10).map(|reply: QueryResponse| (reply.size, reply.attributes)))
            }
            Self::CoreOfOpen => {
                stated(header::words(words, 22).map(|reply: Query2Response| (reply.size, reply.attributes)))
            }
            Self::Directory => (None, Some(true)),
            // 2.2.8.3: INFO_STANDARD, BASIC, STANDARD, ALL, and the classes of MS-FSCC 2.4.7, 2.4.41, 2.4.2.
            Self::Level(0x0001 | 0x0002) => (size(data, 12), directory(short(data, 20))),
            Self::Level(0x0101 | 1004) => (None, directory(short(data, 32))),
            Self::Level(0x0102 | 1005) => (long(data, 8), flag(21)),
            Self::Level(0x0107 | 1018) => (long(data, 48), flag(61)),
            // UNIX_BASIC.
            Self::Level(0x0200) => (long(data, 0), word(data, 56).map(|kind| kind == 1)),
            Self::Other | Self::Level(_) => (None, None),
        }
    }
}
