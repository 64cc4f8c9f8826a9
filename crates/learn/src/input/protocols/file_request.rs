//! Requests on one file or directory, whatever their protocol.

use crate::operation::Action;

/// What a request does to one file or directory: an [`Action`] before it is known which file that is, and what its reply
/// states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileRequest {
    Close,
    Read {
        offset: u64,
        asked: u32,
    },
    Write {
        offset: u64,
        bytes: u32,
        /// The reply has to wait for stable storage.
        stable: bool,
    },
    Flush,
    Stat,
    SetAttributes,
    SetSize(u64),
    Lock {
        release: bool,
    },
    /// A part of a directory.
    List {
        /// It begins a listing; the others continue it.
        first: bool,
    },
}

impl FileRequest {
    /// The operation on this file as far as the request shows it: a read delivers what it asked for, a listing nothing.
    pub(super) const fn action(self, file: u32) -> Action {
        match self {
            Self::Close => Action::Close { file },
            Self::Read { offset, asked } => Action::Read { file, offset, asked, bytes: asked },
            Self::Write { offset, bytes, stable } => Action::Write { file, offset, bytes, stable },
            Self::Flush => Action::Flush { file },
            Self::Stat => Action::Stat { file: Some(file) },
            Self::SetAttributes => Action::SetAttributes { file },
            Self::SetSize(size) => Action::SetSize { file, size },
            Self::Lock { release } => Action::Lock { file, release },
            Self::List { first } => Action::List { directory: file, entries: 0, first },
        }
    }

    /// The operation with the bytes that a read delivered, or with the entries of a listing; where the reply does not state
    /// them, as far as the request shows it.
    pub(super) const fn answered(self, file: u32, count: Option<u32>) -> Action {
        match (self, count) {
            (Self::Read { offset, asked }, Some(bytes)) => Action::Read { file, offset, asked, bytes },
            (Self::List { first }, Some(entries)) => Action::List { directory: file, entries, first },
            _ => self.action(file),
        }
    }

    /// True if the length of the file may be another one afterwards.
    pub(super) const fn changes_size(self) -> bool {
        matches!(self, Self::Write { .. } | Self::SetSize(_))
    }
}
