//! What a sequence does, in the operations of plans.

use super::classes::Stratum;
use super::coverage::Counts;
use super::sequence::{NameChange, Sequence, Subject};
use super::transfer::Transfer;

/// Where requests of a transaction are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// All of the file, in order.
    Whole,
    /// One after the other.
    Sequential,
    /// One after the other, at the end of the file.
    Append,
    /// Anywhere.
    Random,
}

/// Requests of one direction: where, and about how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requests {
    /// Where.
    pub access: Access,
    /// Sequences with about as many requests have the same number here.
    pub bucket: u32,
}

/// How the file comes to be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opening {
    /// It is not open: requests by name.
    ByName,
    /// It stays open.
    Kept,
    /// Opened for reading.
    Read,
    /// Opened for writing too.
    Write,
    /// Made.
    Create,
}

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// As it began.
    Unchanged,
    /// Its file gets another name, or takes that of another file.
    Rename,
    /// The file that it made is removed.
    Delete,
}

/// What the sequences of one kind of transaction have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// It needs no file: the free space, or a log-on.
    pub fileless: Option<&'static str>,
    /// Listings, by bucket.
    pub lists: u32,
    /// Attributes before, while the file is open, and afterwards, by bucket.
    pub stats: [u32; 3],
    /// How the file comes to be open.
    pub opening: Opening,
    /// Reads.
    pub reads: Option<Requests>,
    /// Writes.
    pub writes: Option<Requests>,
    /// Sizes set, by bucket.
    pub set_sizes: u32,
    /// Flushes, by bucket.
    pub flushes: u32,
    /// How it ends.
    pub end: End,
}

/// Exact numbers up to four, then one bucket for each factor of two.
fn bucket(count: u32) -> u32 {
    if count <= 4 { count } else { 3 + count.ilog2() }
}

impl Pattern {
    /// A pattern without a file.
    pub fn fileless(name: &'static str) -> Self {
        Self { fileless: Some(name), ..Self::nothing() }
    }

    fn nothing() -> Self {
        Self {
            fileless: None,
            lists: 0,
            stats: [0; 3],
            opening: Opening::ByName,
            reads: None,
            writes: None,
            set_sizes: 0,
            flushes: 0,
            end: End::Unchanged,
        }
    }

    /// The pattern of a sequence, which [`stated`] made one that plans can state. `size` is that of its file, where known.
    pub fn new(sequence: &Sequence, size: Option<u64>) -> Self {
        match sequence.subject {
            Subject::Space => return Self::fileless("space"),
            Subject::Connect => return Self::fileless("connect"),
            Subject::File(_) | Subject::Directory(_) => {}
        }
        let writing = sequence.writes.count + sequence.set_sizes + sequence.flushes > 0;
        let opening = if sequence.created {
            Opening::Create
        } else if sequence.kept {
            Opening::Kept
        } else if writing {
            Opening::Write
        } else if sequence.opened {
            Opening::Read
        } else {
            Opening::ByName
        };
        let requests = |transfer: &Transfer, access| {
            let bucket = if access == Access::Whole { 0 } else { bucket(transfer.count) };
            (transfer.count > 0).then_some(Requests { access, bucket })
        };
        Self {
            lists: bucket(sequence.lists),
            stats: sequence.stats.map(bucket),
            opening,
            reads: requests(&sequence.reads, read_access(&sequence.reads, size)),
            writes: requests(&sequence.writes, write_access(sequence, size)),
            set_sizes: bucket(sequence.set_sizes),
            flushes: bucket(sequence.flushes),
            end: match sequence.name {
                NameChange::None => End::Unchanged,
                NameChange::Renamed => End::Rename,
                NameChange::Removed => End::Delete,
            },
            ..Self::nothing()
        }
    }

    /// What tables call it, without the class of its files.
    pub fn name(&self) -> &'static str {
        use Access::{Append, Random, Sequential, Whole};
        if let Some(name) = self.fileless {
            return name;
        }
        let access = |requests: Option<Requests>| requests.map(|requests| requests.access);
        match (self.opening, access(self.reads), access(self.writes), self.end) {
            (Opening::Create, _, _, End::Delete) => "create-delete",
            (Opening::Create, ..) => "rewrite-by-rename",
            (_, Some(_), Some(Random), _) => "read-and-update-random",
            (_, Some(_), Some(_), _) => "read-and-write",
            (_, Some(Whole), None, _) => "read-whole",
            (_, Some(Sequential | Append), None, _) => "read-part",
            (_, Some(Random), None, _) => "read-random",
            (_, None, Some(Whole), _) => "write-whole",
            (_, None, Some(Sequential), _) => "write-part",
            (_, None, Some(Append), _) => "append",
            (_, None, Some(Random), _) => "update-random",
            (_, None, None, End::Rename) => "rename",
            (Opening::ByName, ..) if self.lists > 0 && self.stats != [0; 3] => "browse",
            (Opening::ByName, ..) if self.lists > 0 => "list",
            (Opening::ByName, ..) => "stat",
            (_, None, None, _) if self.set_sizes > 0 => "set-size",
            (_, None, None, _) if self.flushes > 0 => "flush",
            _ => "open-close",
        }
    }
}

fn read_access(reads: &Transfer, size: Option<u64>) -> Access {
    let reaches_end = reads.met_end || size.is_some_and(|size| size > 0 && reads.end >= size);
    if reads.is_random() {
        Access::Random
    } else if reads.first == 0 && reads.jumps == 0 && reaches_end {
        Access::Whole
    } else {
        Access::Sequential
    }
}

fn write_access(sequence: &Sequence, size: Option<u64>) -> Access {
    let writes = &sequence.writes;
    // A file that is removed afterwards has the size that it gets here, whatever the size of the others.
    let is_all = match sequence.name {
        NameChange::Removed if sequence.created => false,
        _ => sequence.created || size.is_some_and(|size| size > 0 && writes.end >= size),
    };
    if sequence.appends {
        Access::Append
    } else if writes.is_random() {
        Access::Random
    } else if writes.first == 0 && writes.jumps == 0 && is_all {
        Access::Whole
    } else {
        Access::Sequential
    }
}

/// Changes a sequence into one that a plan can state, and counts what it loses.
pub fn stated(sequence: &mut Sequence, stratum: Option<Stratum>, counts: &mut Counts) {
    sequence.stats[0] = sequence.stats_before();
    // In a protocol without opens, the look-up or the request for attributes is what opens.
    sequence.opened |= sequence.has_data() && !sequence.kept;
    if sequence.created && sequence.reads.count > 0 {
        counts
            .leave_out("reads of a file that its transaction has just made", u64::from(sequence.reads.count));
        sequence.reads = Transfer::default();
    }
    if stratum == Some(Stratum::Empty) {
        let what = "requests on files without bytes";
        counts.leave_out(what, u64::from(sequence.reads.count));
        sequence.reads = Transfer::default();
        if !sequence.created {
            counts.leave_out(what, u64::from(sequence.writes.count));
            sequence.writes = Transfer::default();
            if sequence.name == NameChange::Renamed {
                counts.leave_out("renaming of files without bytes", 1);
                sequence.name = NameChange::None;
            }
        } else if sequence.name == NameChange::Renamed {
            counts.simplify("new files without bytes, removed instead of renamed", 1);
            sequence.name = NameChange::Removed;
        }
    }
    if sequence.kept {
        if sequence.writes.count == 0 {
            counts
                .leave_out("flushes of a file that stays open, without a write", u64::from(sequence.flushes));
            sequence.flushes = 0;
        }
        counts.leave_out("setting the size of a file that stays open", u64::from(sequence.set_sizes));
        sequence.set_sizes = 0;
        if !sequence.has_data() {
            sequence.kept = false;
        }
    }
    if sequence.appends {
        counts.simplify("appends, which write at the start, because files of a plan keep their length", 1);
    }
    let stable = sequence.writes.stable;
    counts.simplify("writes to stable storage, stated as writes", u64::from(stable));
    if sequence.reads.count > 0 && sequence.writes.count > 0 {
        counts.simplify("transactions whose reads and writes alternate, stated as reads, then writes", 1);
    }
}
