//! A sequence: the operations of one user that belong together.

use super::transfer::Transfer;

/// What a sequence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A file, by its number.
    File(u32),
    /// A directory that is listed without a file of it.
    Directory(u32),
    /// A query of the free space.
    Space,
    /// A log-on after the first one.
    Connect,
}

/// What a sequence does to the name of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameChange {
    /// Nothing.
    #[default]
    None,
    /// It gets another name.
    Renamed,
    /// It is removed.
    Removed,
}

/// The operations of one user on one file, from opening to closing, with what belongs to them directly before and after.
///
/// Where the protocol has no open and close, or the file stays open, a sequence is what happens to the file without a pause
/// longer than the gap.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, in any combination")]
pub struct Sequence {
    /// Who.
    pub user: u32,
    /// On what.
    pub subject: Subject,
    /// First request, ns.
    pub start: u64,
    /// Last reply, ns.
    pub end: u64,
    /// Operations of the input that are in it.
    pub operations: u32,
    /// Listings of the directory before it.
    pub lists: u32,
    /// Attributes requested before it was opened, while it was open, and afterwards.
    pub stats: [u32; 3],
    /// Look-ups by name.
    pub lookups: u32,
    /// It was opened.
    pub opened: bool,
    /// It was made, or emptied.
    pub created: bool,
    /// It was closed.
    pub closed: bool,
    /// The file was open before, and stays open.
    pub kept: bool,
    /// Reads.
    pub reads: Transfer,
    /// Writes.
    pub writes: Transfer,
    /// Writes begin at the end of the file.
    pub appends: bool,
    /// Sizes set.
    pub set_sizes: u32,
    /// Flushes.
    pub flushes: u32,
    /// What became of its name.
    pub name: NameChange,
    /// Pauses within it, ns.
    pub paused: u64,
}

impl Sequence {
    /// Nothing yet.
    pub fn new(user: u32, subject: Subject, start: u64) -> Self {
        Self {
            user,
            subject,
            start,
            end: start,
            operations: 0,
            lists: 0,
            stats: [0; 3],
            lookups: 0,
            opened: false,
            created: false,
            closed: false,
            kept: false,
            reads: Transfer::default(),
            writes: Transfer::default(),
            appends: false,
            set_sizes: 0,
            flushes: 0,
            name: NameChange::None,
            paused: 0,
        }
    }

    /// It moves bytes, or does what needs an open file.
    pub fn has_data(&self) -> bool {
        self.reads.count + self.writes.count + self.set_sizes + self.flushes > 0
    }

    /// Requests for attributes before the file is open, as plans count them. A look-up by name is one, too, unless it opens the file
    /// in a protocol without opens; there, the request for attributes opens it where there is no look-up.
    pub fn stats_before(&self) -> u32 {
        let is_opened_by_name = !self.opened && self.has_data() && !self.kept;
        match self.lookups {
            0 => self.stats[0] - u32::from(is_opened_by_name && self.stats[0] > 0),
            lookups if is_opened_by_name => self.stats[0] + lookups - 1,
            lookups if self.opened => self.stats[0] + lookups,
            // The look-up is that of the request for attributes.
            lookups if self.name == NameChange::None && !self.has_data() => self.stats[0].max(lookups),
            _ => self.stats[0],
        }
    }

    /// It changes the file.
    pub fn changes(&self) -> bool {
        self.created || self.writes.count + self.set_sizes + self.flushes > 0 || self.name != NameChange::None
    }

    /// The file, where it is about one.
    pub fn file(&self) -> Option<u32> {
        match self.subject {
            Subject::File(file) => Some(file),
            _ => None,
        }
    }
}
