//! Loadfiles of dbench: the operations of one client, and the expected result of each.

mod names;
mod parse;
mod start;
mod status;

use sharebench_model::ErrorClass;

/// The expected result of a line of a loadfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Success.
    Success,
    /// A failure of this class, under the name that the loadfile gives it.
    Failure(ErrorClass, &'static str),
    /// Either.
    Any,
}

/// How a file is opened, by the numbers of `NtCreateFile` (MS-SMB2 2.2.13, `CreateDisposition`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// It is there (1).
    Open,
    /// It is not (2).
    Create,
    /// Opened, or made where it is not (3).
    OpenIf,
    /// It is there, and is emptied (4).
    Overwrite,
    /// Emptied, or made where it is not (0 and 5).
    OverwriteIf,
}

/// An operation of a loadfile. Names are indices into [`Loadfile::names`]; handles are the loadfile's own numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// `NTCreateX`.
    Create {
        /// What is opened or made.
        name: u32,
        /// A directory.
        directory: bool,
        /// Whether it may or must be there.
        disposition: Disposition,
        /// What later lines call it.
        handle: u32,
    },
    /// `Close`.
    Close {
        /// What is closed.
        handle: u32,
    },
    /// `Rename`.
    Rename {
        /// The old name.
        from: u32,
        /// The new one.
        to: u32,
    },
    /// `Unlink`.
    Unlink {
        /// The file.
        name: u32,
    },
    /// `Deltree`: a directory with all that is in it; one that is not there is removed already.
    Deltree {
        /// The directory.
        name: u32,
    },
    /// `Rmdir`.
    Rmdir {
        /// The empty directory.
        name: u32,
    },
    /// `Mkdir`.
    Mkdir {
        /// The new directory.
        name: u32,
    },
    /// `QUERY_PATH_INFORMATION`.
    QueryPath {
        /// The file or directory.
        name: u32,
    },
    /// `QUERY_FILE_INFORMATION`.
    QueryFile {
        /// The open file.
        handle: u32,
    },
    /// `QUERY_FS_INFORMATION`.
    QueryFs,
    /// `SET_FILE_INFORMATION`; the values that were set are in no loadfile.
    SetFile {
        /// The open file.
        handle: u32,
    },
    /// `FIND_FIRST`.
    Find {
        /// The directory that is listed.
        directory: u32,
        /// Names wanted, with wildcards.
        mask: String,
    },
    /// `ReadX`.
    Read {
        /// The open file.
        handle: u32,
        /// First byte.
        offset: u64,
        /// Requested bytes.
        len: u32,
        /// Bytes that must come.
        want: u32,
    },
    /// `WriteX`.
    Write {
        /// The open file.
        handle: u32,
        /// First byte.
        offset: u64,
        /// Bytes.
        len: u32,
    },
    /// `Flush`.
    Flush {
        /// The open file.
        handle: u32,
    },
    /// `LockX`: a byte range that no other open file may have locked.
    Lock {
        /// The open file.
        handle: u32,
        /// First byte.
        offset: u64,
        /// Bytes, at least one where the line is performed.
        bytes: u64,
    },
    /// `UnlockX`: a range as it was locked.
    Unlock {
        /// The open file.
        handle: u32,
        /// First byte.
        offset: u64,
        /// Bytes.
        bytes: u64,
    },
}

/// Why a line of a loadfile is not performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// Our sessions do not keep directories open, so there is no handle to close.
    DirectoryHandle,
    /// Deletion by handle, when it is closed.
    DeleteOnClose,
    /// It transfers or locks no bytes.
    Empty,
    /// It must fail because of other clients: no other client uses this client's directory.
    Others,
    /// It must fail because the new name is taken, which every protocol here would replace.
    Replaces,
}

impl LeftOut {
    /// Why, in words.
    pub fn why(self) -> &'static str {
        match self {
            Self::DirectoryHandle => "directories are not kept open",
            Self::DeleteOnClose => "files are deleted by name only",
            Self::Empty => "its length is 0",
            Self::Others => "no other client uses these files",
            Self::Replaces => "a rename replaces what has the name",
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadfileLine {
    /// Its number in the file, counted from 1.
    pub number: u32,
    /// Time stamp in nanoseconds since the start of the recording; none where the file has none.
    pub at_ns: Option<u64>,
    /// What it does.
    pub call: Call,
    /// What must come of it.
    pub expected: Expected,
    /// Index into [`Loadfile::kinds`].
    pub kind: u16,
    /// Why it is not performed; none where it is.
    pub left_out: Option<LeftOut>,
}

/// A file or directory that must be there before the first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Index into [`Loadfile::names`].
    pub name: u32,
    /// Its length; none for a directory.
    pub bytes: Option<u64>,
}

/// A loadfile, ready to be replayed by any number of clients, each in a directory of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loadfile {
    /// Its operations, in order.
    pub lines: Vec<LoadfileLine>,
    /// Every path once, relative to the client's directory, with `/` between its parts, spelt as in its first line,
    /// because the recordings ignore case. Parents come before their entries; the first is
    /// the client's directory itself.
    pub names: Vec<String>,
    /// Kinds of operations that are performed, by the loadfile's own names, each once.
    pub kinds: Vec<&'static str>,
    /// What lines presuppose, parents first.
    pub given: Vec<Given>,
    /// True if a pass leaves files over that the next pass does not remove, or changes files that it expects.
    pub leaves: bool,
    /// Most bytes that a client has on its target at a time.
    pub most_bytes: u64,
}

impl Loadfile {
    /// True when any line has a time stamp.
    pub fn is_stamped(&self) -> bool {
        self.lines.iter().any(|line| line.at_ns.is_some())
    }

    /// The largest request, in bytes.
    pub fn largest_request(&self) -> u32 {
        let sizes = self.lines.iter().map(|line| match line.call {
            Call::Read { len, .. } | Call::Write { len, .. } => len,
            _ => 0,
        });
        sizes.max().unwrap_or(0)
    }

    /// True when a line writes.
    pub fn writes(&self) -> bool {
        self.lines.iter().any(|line| matches!(line.call, Call::Write { .. }))
    }

    /// Lines that are not performed, with their loadfile's name, by why: how many of each.
    pub fn left_out(&self) -> Vec<(LeftOut, &'static str, usize)> {
        let mut counts = std::collections::BTreeMap::<_, usize>::new();
        for line in &self.lines {
            if let Some(why) = line.left_out {
                *counts.entry((why, line.call.name())).or_default() += 1;
            }
        }
        counts.into_iter().map(|((why, name), count)| (why, name, count)).collect()
    }
}

impl Call {
    /// The name of the operation in loadfiles.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "NTCreateX",
            Self::Close { .. } => "Close",
            Self::Rename { .. } => "Rename",
            Self::Unlink { .. } => "Unlink",
            Self::Deltree { .. } => "Deltree",
            Self::Rmdir { .. } => "Rmdir",
            Self::Mkdir { .. } => "Mkdir",
            Self::QueryPath { .. } => "QUERY_PATH_INFORMATION",
            Self::QueryFile { .. } => "QUERY_FILE_INFORMATION",
            Self::QueryFs => "QUERY_FS_INFORMATION",
            Self::SetFile { .. } => "SET_FILE_INFORMATION",
            Self::Find { .. } => "FIND_FIRST",
            Self::Read { .. } => "ReadX",
            Self::Write { .. } => "WriteX",
            Self::Flush { .. } => "Flush",
            Self::Lock { .. } => "LockX",
            Self::Unlock { .. } => "UnlockX",
        }
    }
}

/// True if `name` matches `mask`. `<`, `>` and `"` are the DOS forms of `*`, `?` and `.` on Windows
/// (MS-FSA 2.1.4.4), and are treated as these.
pub fn matches_mask(mask: &str, name: &str) -> bool {
    let mask: Vec<char> = mask.to_lowercase().chars().collect();
    let name: Vec<char> = name.to_lowercase().chars().collect();
    if mask == ['*', '.', '*'] {
        return true;
    }
    let mut m = 0;
    let mut n = 0;
    let mut star = None;
    while n < name.len() {
        match mask.get(m) {
            Some('*' | '<') => {
                star = Some((m, n));
                m += 1;
            }
            Some(&c) if matches!(c, '?' | '>') || c == name[n] || c == '"' && name[n] == '.' => {
                (m, n) = (m + 1, n + 1);
            }
            _ => {
                let Some((at, from)) = star else { return false };
                star = Some((at, from + 1));
                (m, n) = (at + 1, from + 1);
            }
        }
    }
    mask[m..].iter().all(|c| matches!(c, '*' | '<'))
}

#[cfg(test)]
mod tests {
    use super::matches_mask;

    #[test]
    fn masks_of_old_and_new_find_their_names() {
        for (mask, name, wanted) in [
            ("*", "a.txt", true),
            ("*.*", "README", true),
            ("FILLER.*", "filler.000", true),
            ("FILLER.*", "fill.000", false),
            ("<.JNK", "big.one.jnk", true),
            ("<.JNK", "jnk", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*b*d", "abcbd", true),
            ("", "a", false),
        ] {
            assert_eq!(matches_mask(mask, name), wanted, "{mask} and {name}");
        }
    }
}
