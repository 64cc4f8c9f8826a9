//! Operations: what a job or virtual user requests from a session, and the replies.

use serde::{Deserialize, Serialize};

use crate::{CacheRight, ErrorClass, IoPolicy, NameChange, OpError, OpStep, Residency};

/// One I/O buffer of a session, and the identity of the operation in flight that uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// An open file of one session. Means nothing to another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileRef(pub u32);

/// The durability of a write when its reply arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stability {
    /// The server may hold the bytes in memory (NFS `UNSTABLE`, plain SMB and POSIX writes).
    #[default]
    Unstable,
    /// The bytes are on stable storage (NFS `FILE_SYNC`, SMB write-through, `RWF_DSYNC`).
    Durable,
}

/// An operation on file data. Exactly one request on the wire, or the reply says how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataOp {
    /// Read `len` bytes at `offset` into the slot's buffer.
    Read {
        /// An open file of this session.
        file: FileRef,
        /// First byte.
        offset: u64,
        /// Bytes wanted; at most the slot's size.
        len: u32,
    },
    /// Write the first `len` bytes of the slot's buffer at `offset`.
    Write {
        /// An open file of this session.
        file: FileRef,
        /// First byte.
        offset: u64,
        /// Bytes to write; at most the slot's size.
        len: u32,
        /// The durability that the reply has to guarantee.
        stability: Stability,
    },
    /// Make earlier writes of the file durable (fsync, NFS `COMMIT`, SMB2 FLUSH).
    Flush {
        /// An open file of this session.
        file: FileRef,
    },
}

/// The end of a [`DataOp`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The slot that was submitted; its buffer is the caller's again.
    pub slot: Slot,
    /// Bytes transferred (short only at the end of the file), or why it failed.
    pub result: Result<u32, OpError>,
    /// Requests this took on the wire (system calls for local paths).
    pub requests: u32,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenHow {
    /// Existing file, reading only.
    Read,
    /// Existing file, reading and writing.
    ReadWrite,
    /// New file, reading and writing; it is an error if the name exists.
    CreateNew,
}

/// An operation on names and attributes, or on a whole file, which every target has. Paths are relative to the
/// target's directory, `/` separates, `""` is that directory itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetaOp {
    /// Open a file; returns [`MetaYield::Opened`].
    Open {
        /// The file.
        path: String,
        /// Access and disposition.
        how: OpenHow,
        /// Caches and durability of all that is done with the open file; a target that cannot keep it
        /// answers [`ErrorClass::Unsupported`] and opens nothing.
        policy: IoPolicy,
    },
    /// Close a file. Its [`FileRef`] is invalid afterwards, even if this fails.
    Close {
        /// The file.
        file: FileRef,
    },
    /// Truncate or extend an open file.
    SetSize {
        /// The file.
        file: FileRef,
        /// New length in bytes.
        size: u64,
    },
    /// Size and kind of a name; returns [`MetaYield::Stat`].
    Stat {
        /// File or directory.
        path: String,
    },
    /// All entries of a directory but `.` and `..`; returns [`MetaYield::Entries`].
    List {
        /// The directory.
        path: String,
    },
    /// The next entries of a directory but `.` and `..`; returns [`MetaYield::Page`]. It serves walks of trees, whose
    /// memory must not grow with the size of a directory. A session has at most one such listing in progress: the
    /// operation continues it if it is of the same directory, and begins a new one otherwise.
    ListPage {
        /// The directory.
        path: String,
        /// Begin at the start of the directory, even if a listing of it is in progress.
        restart: bool,
    },
    /// Remove a file.
    Remove {
        /// The file.
        path: String,
    },
    /// Make a directory; it is an error if the name exists.
    MakeDir {
        /// The directory.
        path: String,
    },
    /// Remove an empty directory.
    RemoveDir {
        /// The directory.
        path: String,
    },
    /// Rename within the target, replacing an existing file.
    Rename {
        /// Old name.
        from: String,
        /// New name.
        to: String,
    },
    /// Make a hard link; it is an error if the new name exists. [`ErrorClass::Unsupported`] where the protocol has none.
    Link {
        /// The file.
        from: String,
        /// Its further name.
        to: String,
    },
    /// Set the time of modification of a file; [`ErrorClass::Unsupported`] where the client cannot.
    SetModified {
        /// The file.
        path: String,
        /// Seconds since 1970.
        seconds: u32,
    },
    /// Free space on the target; returns [`MetaYield::Space`].
    Space,
}

impl MetaOp {
    /// Opens a file with the usual policy.
    pub fn open(path: impl Into<String>, how: OpenHow) -> Self {
        Self::Open { path: path.into(), how, policy: IoPolicy::default() }
    }

    /// True if a session can have several such operations in flight. The others depend on a state of which a session has one.
    pub fn can_overlap(&self) -> bool {
        !matches!(self, Self::List { .. } | Self::ListPage { .. } | Self::Space)
    }
}

/// The end of a [`SessionOp`](crate::SessionOp).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaReply {
    /// Its result, or why it failed.
    pub result: Result<MetaYield, OpError>,
    /// Requests this took on the wire (system calls for local paths).
    pub requests: u32,
}

/// The result of a successful [`SessionOp`](crate::SessionOp).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetaYield {
    /// Success without further data.
    Done,
    /// The open file and its size in bytes.
    Opened {
        /// Use it in later operations of the same session.
        file: FileRef,
        /// Length in bytes when it was opened.
        size: u64,
    },
    /// Attributes of a name.
    Stat(Stat),
    /// A directory's content, in the server's order.
    Entries(Vec<Entry>),
    /// The next part of a directory's content.
    Page(ListedPage),
    /// Space on the target.
    Space(Space),
    /// The part of an open file that is in the page cache.
    Residency(Residency),
    /// Bytes that were copied, or read.
    Bytes(u64),
    /// Changes in a watched directory, in their order. None where the server reports that something has changed without what, so
    /// that the directory must be listed.
    Changes(Vec<NameChange>),
    /// The open file, and the right that the server has granted with it.
    OpenedToCache {
        /// Use it in later operations of the same session.
        file: FileRef,
        /// What the session may cache.
        right: CacheRight,
    },
}

impl MetaYield {
    /// The open file and its size in bytes; an error if this is not the result of [`MetaOp::Open`].
    pub fn into_opened(self) -> Result<(FileRef, u64), OpError> {
        match self {
            Self::Opened { file, size } => Ok((file, size)),
            _ => Err(OpError::new(ErrorClass::Protocol, OpStep::Reply, "no file in the reply")),
        }
    }

    /// The number of bytes that were copied or read; an error if this is the result of something else.
    pub fn into_bytes(self) -> Result<u64, OpError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(OpError::new(ErrorClass::Protocol, OpStep::Reply, "no number of bytes in the reply")),
        }
    }

    /// The open file and the right to cache it; an error if this is the result of something else.
    pub fn into_right(self) -> Result<(FileRef, CacheRight), OpError> {
        match self {
            Self::OpenedToCache { file, right } => Ok((file, right)),
            _ => Err(OpError::new(ErrorClass::Protocol, OpStep::Reply, "no right in the reply")),
        }
    }

    /// The changes in a watched directory; an error if this is not the result of [`SessionOp::AwaitChange`](crate::SessionOp::AwaitChange).
    pub fn into_changes(self) -> Result<Vec<NameChange>, OpError> {
        match self {
            Self::Changes(changes) => Ok(changes),
            _ => Err(OpError::new(ErrorClass::Protocol, OpStep::Reply, "no changes in the reply")),
        }
    }
}

/// Attributes of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Length in bytes (0 for directories).
    pub size: u64,
    /// True for a directory.
    pub directory: bool,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Last path component.
    pub name: String,
    /// True for a directory.
    pub directory: bool,
    /// Length of a file in bytes, if the listing has it; [`MetaOp::Stat`] returns the others.
    pub size: Option<u64>,
}

/// A part of a directory's content, in the server's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListedPage {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Entries that are left out because no path can contain their names, such as those that are not UTF-8.
    pub unnamed: u64,
    /// True for the last part. The listing is then no longer in progress.
    pub end: bool,
}

/// Space on a target, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Size of the file system.
    pub total: u64,
    /// Bytes that this user can still write.
    pub available: u64,
}
