//! Where a user is in its loadfile, and what it knows of its files.

use std::collections::BTreeMap;

use sharebench_model::FileRef;

use crate::load::user::user_files::OwnFile;

/// The position of a user in its loadfile, and what is known of the files in its directory.
#[derive(Default)]
pub(crate) struct Replay {
    /// The next line, counted from 0.
    pub(crate) at: usize,
    /// The instant at which this pass through the loadfile began.
    pub(crate) from_ns: u64,
    /// The directory is as the first line wants it, or as the lines since then left it.
    pub(crate) ready: bool,
    /// A line did not end as it should have: what follows may find other things than it expects.
    pub(crate) strayed: bool,
    /// What is done with the lines of locks.
    pub(crate) locking: Locking,
    /// Open files and directories by the handles of the loadfile.
    pub(crate) open: BTreeMap<u32, Held>,
    /// Files that are there, by their names' indices.
    pub(crate) files: BTreeMap<u32, Stored>,
    /// The generation of the newest write.
    pub(crate) generation: u32,
}

/// What a user does with the lines of locks. The protocol, or our client of it, may have none, which the first lock shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Locking {
    /// They are performed.
    #[default]
    Performed,
    /// The line that was performed last was rejected as unsupported. It is left out, and no transaction.
    JustRejected,
    /// They are left out.
    LeftOut,
}

/// The file or directory to which a handle of the loadfile refers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    /// The open file; none for a directory.
    pub file: Option<FileRef>,
    /// Index of its name, also after that was changed.
    pub name: u32,
}

/// A file of a client, with what is known of its content.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// Index of the name it was made under: what its bytes are stamped with.
    pub id: u32,
    pub own: OwnFile,
}
