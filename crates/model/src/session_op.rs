//! All operations that a session performs one at a time.

#[cfg(doc)]
use crate::{ErrorClass, MetaYield};
use crate::{FileRef, MetaOp};

/// An operation of a session: one that every target has, or one that only some have. Where a target lacks it, the result is
/// [`ErrorClass::Unsupported`], with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionOp {
    /// Every target has it.
    Basic(MetaOp),
    /// Lock a range of an open file exclusively, which no other open file of any session may have locked. A conflicting lock
    /// is [`ErrorClass::Busy`].
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
    /// Release exactly the range that [`Self::Lock`] locked.
    Unlock {
        /// The file.
        file: FileRef,
        /// First byte.
        offset: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Open an existing file for reading and writing, and deny it to all others (a share mode of none, or deny modes);
    /// returns [`MetaYield::Opened`]. A file that is open already is [`ErrorClass::Busy`].
    OpenDenying {
        /// The file.
        path: String,
    },
    /// Open an existing file for reading and writing, with a request for a lease on everything: what is read, what is written, and
    /// the open itself (SMB), or for a batch oplock where the server has no leases; returns [`MetaYield::OpenedToCache`]. The
    /// session caches nothing, and holds the right of one file at a time until it closes the file or [`Self::GiveBack`] has given the right back.
    OpenLeased {
        /// The file.
        path: String,
    },
    /// Open an existing file for reading, with a request for a delegation (NFSv4); as [`Self::OpenLeased`] otherwise.
    OpenDelegated {
        /// The file.
        path: String,
    },
    /// Wait until the server takes back the right of an open file, for the sake of another session. The caller sends no request,
    /// and the wait may be abandoned. [`Self::GiveBack`] has to follow.
    AwaitRecall {
        /// The file, opened by [`Self::OpenLeased`] or [`Self::OpenDelegated`].
        file: FileRef,
    },
    /// Give back the right of an open file, after [`Self::AwaitRecall`]: a delegation is returned. The break of a lease or an
    /// oplock is acknowledged when it arrives, so that nothing is left to send.
    GiveBack {
        /// The file.
        file: FileRef,
    },
    /// Open an existing directory, so that it can be watched; returns [`MetaYield::Opened`].
    OpenDirectory {
        /// The directory.
        path: String,
    },
    /// Have the server report the next change of a name in an open directory; succeeds once the server has accepted that. One
    /// directory of a session is watched at a time. [`Self::AwaitChange`] returns the change, and [`MetaOp::Close`]
    /// cancels what is not reported until then.
    Watch {
        /// The directory, opened by [`Self::OpenDirectory`].
        file: FileRef,
    },
    /// Wait for the report that [`Self::Watch`] has requested; returns [`MetaYield::Changes`]. No request is sent, and the wait
    /// may be abandoned.
    AwaitChange {
        /// The directory.
        file: FileRef,
    },
    /// Let the server copy a range of an open file to the same place of another one, so that its data do not cross the
    /// wire. One call copies what one request can; returns [`MetaYield::Bytes`], which may be fewer than requested, and the
    /// caller continues after them.
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
    CloneRange {
        /// The source, open for reading.
        from: FileRef,
        /// The destination, open for reading and writing, which may be shorter.
        to: FileRef,
        /// Bytes to clone: the length of the source.
        bytes: u64,
    },
    /// Give back the storage of a range of an open file, which reads as zeros afterwards. The length of the file stays.
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
    /// buffer. Where a reply of the protocol cannot contain holes, clients read them.
    ReadSparse {
        /// The file, open for reading.
        file: FileRef,
        /// First byte.
        offset: u64,
        /// Bytes wanted; at most the slot's size.
        len: u32,
    },
    /// Open the counting semaphore of this name, which is created with the value 1 if it does not exist. A session has one open
    /// semaphore at a time.
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
    /// Drop what the *client* caches of an open file.
    DropCache {
        /// The file.
        file: FileRef,
    },
    /// Examine how much of an open file this machine's page cache holds, without changing that; returns
    /// [`MetaYield::Residency`].
    Residency {
        /// The file.
        file: FileRef,
    },
    /// Map the first bytes of an open file into memory: from now on reads and writes of it are copies from
    /// and to a shared mapping, as an application with `mmap` does them, until it is mapped anew, unmapped
    /// by 0 bytes, or closed.
    Map {
        /// The file.
        file: FileRef,
        /// Length of the mapping, at most the file's; 0 unmaps.
        bytes: u64,
    },
}

impl From<MetaOp> for SessionOp {
    fn from(op: MetaOp) -> Self {
        Self::Basic(op)
    }
}
