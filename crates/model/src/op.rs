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

/// An operation on names and attributes, or on a whole file. Paths are relative to the target's
/// directory, `/` separates, `""` is that directory itself.
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
    /// Map the first bytes of an open file into memory: from now on reads and writes of it are copies from
    /// and to a shared mapping, as an application with `mmap` does them, until it is mapped anew, unmapped
    /// by 0 bytes, or closed. [`ErrorClass::Unsupported`] where nothing can be mapped.
    Map {
        /// The file.
        file: FileRef,
        /// Length of the mapping, at most the file's; 0 unmaps.
        bytes: u64,
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
    /// Let the server copy a range of an open file to the same place of another one, so that its data do not cross the
    /// wire. One call copies what one request can; returns [`MetaYield::Bytes`], which may be fewer than requested, and the
    /// caller continues after them. [`ErrorClass::Unsupported`] where the protocol has no such request.
    CopyRange {
        /// The source, open for reading.
        from: FileRef,
        /// The destination, open for reading and writing.
        to: FileRef,
        /// First byte in both.
        offset: u64,
        /// Bytes to copy, within the source.
        bytes: u64,
    },
    /// Let the first bytes of one open file share the storage of another one (a clone, or reflink).
    /// [`ErrorClass::Unsupported`] where the protocol has no such request.
    CloneRange {
        /// The source, open for reading.
        from: FileRef,
        /// The destination, open for reading and writing, which may be shorter.
        to: FileRef,
        /// Bytes to clone: the length of the source.
        bytes: u64,
    },
    /// Give back the storage of a range of an open file, which reads as zeros afterwards. The length of the file stays.
    /// [`ErrorClass::Unsupported`] where the protocol has no such request.
    PunchHole {
        /// The file, open for reading and writing.
        file: FileRef,
        /// First byte of the hole.
        offset: u64,
        /// Bytes of the hole.
        bytes: u64,
    },
    /// Read a range of an open file into the buffer of slot 0, where the holes of the file need not cross the wire; returns
    /// [`MetaYield::Bytes`], short at the end of the file and where the reply of the server ends. Holes are zeros in the
    /// buffer. [`ErrorClass::Unsupported`] where a reply of the protocol cannot contain holes: such clients read them.
    ReadSparse {
        /// The file, open for reading.
        file: FileRef,
        /// First byte.
        offset: u64,
        /// Bytes wanted; at most the slot's size.
        len: u32,
    },
    /// Lock a range of an open file exclusively, which no other open file of any session may have locked. A conflicting lock
    /// is [`ErrorClass::Busy`]. [`ErrorClass::Unsupported`] where the protocol has no such request.
    Lock {
        /// The file, open for reading and writing.
        file: FileRef,
        /// First byte, which may be beyond the end of the file.
        offset: u64,
        /// Bytes, at least one.
        bytes: u64,
        /// Let the server wait until the range is free, where the protocol can. Where it cannot, or the server has waited
        /// for long, a conflicting lock is [`ErrorClass::Busy`] nevertheless, and the caller requests it again.
        wait: bool,
    },
    /// Release exactly the range that [`MetaOp::Lock`] locked.
    Unlock {
        /// The file.
        file: FileRef,
        /// First byte.
        offset: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Open an existing file for reading and writing, and deny it to all others (a share mode of none, or deny modes);
    /// returns [`MetaYield::Opened`]. A file that is open already is [`ErrorClass::Busy`]. [`ErrorClass::Unsupported`]
    /// where the protocol has no such modes.
    OpenDenying {
        /// The file.
        path: String,
    },
    /// Open an existing directory, so that it can be watched; returns [`MetaYield::Opened`]. [`ErrorClass::Unsupported`] where
    /// the client is not notified of changes.
    OpenDirectory {
        /// The directory.
        path: String,
    },
    /// Have the server report the next change of a name in an open directory; succeeds once the server has accepted that. One
    /// directory of a session is watched at a time. [`MetaOp::AwaitChange`] returns the change, and [`MetaOp::Close`]
    /// cancels what is not reported until then.
    Watch {
        /// The directory, opened by [`MetaOp::OpenDirectory`].
        file: FileRef,
    },
    /// Wait for the report that [`MetaOp::Watch`] has requested; returns [`MetaYield::Changes`]. No request is sent, and the wait
    /// may be abandoned.
    AwaitChange {
        /// The directory.
        file: FileRef,
    },
    /// Open an existing file for reading and writing, with a request for a lease on everything: what is read, what is written, and
    /// the open itself (SMB), or for a batch oplock where the server has no leases; returns [`MetaYield::OpenedToCache`]. The
    /// session caches nothing. It holds the right of one file at a time, until it closes the file or
    /// [`MetaOp::GiveBack`] has given the right back. [`ErrorClass::Unsupported`] where the protocol has neither.
    OpenLeased {
        /// The file.
        path: String,
    },
    /// Open an existing file for reading, with the wish for a delegation (NFSv4); as [`MetaOp::OpenLeased`] otherwise.
    OpenDelegated {
        /// The file.
        path: String,
    },
    /// Wait until the server takes back the right of an open file, for the sake of another session. The caller sends no request,
    /// and the wait may be abandoned. [`MetaOp::GiveBack`] has to follow.
    AwaitRecall {
        /// The file, opened by [`MetaOp::OpenLeased`] or [`MetaOp::OpenDelegated`].
        file: FileRef,
    },
    /// Give back the right of an open file, after [`MetaOp::AwaitRecall`]: a delegation is returned. The break of a lease or an
    /// oplock is acknowledged when it arrives, so that nothing is left to send.
    GiveBack {
        /// The file.
        file: FileRef,
    },
    /// Open the counting semaphore of this name, which is created with the value 1 if it does not exist. A session has one open
    /// semaphore at a time. [`ErrorClass::Unsupported`] where the protocol has none.
    OpenSemaphore {
        /// The name, at most 127 bytes.
        name: String,
    },
    /// Decrement the open semaphore once its value is positive, for which the server waits. Where it has waited for long, the
    /// result is [`ErrorClass::Busy`], and the caller requests it again.
    WaitSemaphore,
    /// Increment the open semaphore.
    SignalSemaphore,
    /// Close the open semaphore, which signals nothing.
    CloseSemaphore,
    /// Free space on the target; returns [`MetaYield::Space`].
    Space,
    /// Drop what the *client* caches of an open file; [`ErrorClass::Unsupported`] where it cannot.
    DropCache {
        /// The file.
        file: FileRef,
    },
    /// Examine how much of an open file this machine's page cache holds, without changing that; returns
    /// [`MetaYield::Residency`], or [`ErrorClass::Unsupported`] where there is no page cache to look at.
    Residency {
        /// The file.
        file: FileRef,
    },
}

impl MetaOp {
    /// Opens a file with the usual policy.
    pub fn open(path: impl Into<String>, how: OpenHow) -> Self {
        Self::Open { path: path.into(), how, policy: IoPolicy::default() }
    }

    /// True if a session can have several such operations in flight. The others depend on a state of which a session has one,
    /// or on the buffer of slot 0.
    pub fn can_overlap(&self) -> bool {
        matches!(
            self,
            Self::Open { .. }
                | Self::Close { .. }
                | Self::SetSize { .. }
                | Self::Stat { .. }
                | Self::Remove { .. }
                | Self::MakeDir { .. }
                | Self::RemoveDir { .. }
                | Self::Rename { .. }
                | Self::Link { .. }
                | Self::SetModified { .. }
        )
    }
}

impl OpError {
    /// The protocol has no request for an operation on ranges of files that the server performs by itself.
    #[cold]
    pub fn no_ranges(protocol: &str, op: &MetaOp) -> Self {
        let what = match op {
            MetaOp::CopyRange { .. } => "copies a file",
            MetaOp::CloneRange { .. } => "clones a file",
            MetaOp::PunchHole { .. } => "punches a hole",
            _ => "reads holes without their zeros",
        };
        let detail = format!("{protocol} has no request that {what}");
        Self::new(ErrorClass::Unsupported, OpStep::Submit, detail)
    }
}

/// The end of a [`MetaOp`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaReply {
    /// Its result, or why it failed.
    pub result: Result<MetaYield, OpError>,
    /// Requests this took on the wire (system calls for local paths).
    pub requests: u32,
}

/// The result of a successful [`MetaOp`].
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

    /// The changes in a watched directory; an error if this is not the result of [`MetaOp::AwaitChange`].
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
