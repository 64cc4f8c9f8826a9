//! Byte-range locks (RFC 7530, 16.10 to 16.12 and 16.34).

use crate::v4::data::StateId;
use crate::v4::item::{Item, enumeration, message};
use crate::v4::open::StateOwner;
use crate::xdr::{Reader, Writer, XdrError};

/// Length of a lock up to the end of the file, wherever that is.
pub const TO_END_OF_FILE: u64 = u64::MAX;

enumeration! {
    /// Kind of a lock (`nfs_lock_type4`).
    LockKind, "lock type" {
        /// `READ_LT`.
        Read = 1,
        /// `WRITE_LT`.
        Write = 2,
        /// `READW_LT`: a read lock for which the client waits.
        ReadWait = 3,
        /// `WRITEW_LT`: a write lock for which the client waits.
        WriteWait = 4,
    }
}

impl LockKind {
    /// True for locks that exclude all others.
    pub const fn is_exclusive(self) -> bool {
        matches!(self, Self::Write | Self::WriteWait)
    }

    /// True if the client waits for the lock.
    pub const fn waits(self) -> bool {
        matches!(self, Self::ReadWait | Self::WriteWait)
    }
}

message! {
    /// The first lock of an owner on an open file (`open_to_lock_owner4`).
    NewLocker<'a> {
        /// Sequence number of the open-owner; 0 from minor version 1 on.
        open_sequence: u32,
        /// The open file.
        open_state: StateId,
        /// Sequence number of the lock-owner; 0 from minor version 1 on.
        lock_sequence: u32,
        /// The lock-owner.
        owner: StateOwner<'a>,
    }
}

message! {
    /// A further lock of an owner (`exist_lock_owner4`).
    KnownLocker {
        /// The owner's locks on the file.
        lock_state: StateId,
        /// Sequence number of the lock-owner; 0 from minor version 1 on.
        lock_sequence: u32,
    }
}

/// Who locks (`locker4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locker<'a> {
    /// An owner without a lock on the open file.
    New(NewLocker<'a>),
    /// An owner that has locks on it.
    Known(KnownLocker),
}

impl<'a> Item<'a> for Locker<'a> {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        if reader.boolean("new lock owner")? {
            Item::get(reader).map(Self::New)
        } else {
            Item::get(reader).map(Self::Known)
        }
    }

    fn put(&self, writer: &mut Writer) {
        match self {
            Self::New(locker) => {
                writer.boolean(true);
                locker.put(writer);
            }
            Self::Known(locker) => {
                writer.boolean(false);
                locker.put(writer);
            }
        }
    }
}

message! {
    /// Arguments of `LOCK`; its result is a [`StateId`], or [`Denied`] with `NFS4ERR_DENIED`.
    Lock<'a> {
        /// Kind of the lock.
        kind: LockKind,
        /// Reclaims a lock after a restart of the server.
        reclaim: bool,
        /// First byte.
        offset: u64,
        /// Bytes, or [`TO_END_OF_FILE`].
        length: u64,
        /// Who locks.
        locker: Locker<'a>,
    }
}

message! {
    /// Arguments of `LOCKT`; its result is empty, or [`Denied`] with `NFS4ERR_DENIED`.
    LockTest<'a> {
        /// Kind of the lock.
        kind: LockKind,
        /// First byte.
        offset: u64,
        /// Bytes, or [`TO_END_OF_FILE`].
        length: u64,
        /// Who would lock.
        owner: StateOwner<'a>,
    }
}

message! {
    /// Arguments of `LOCKU`; its result is a [`StateId`].
    Unlock {
        /// Kind of the lock.
        kind: LockKind,
        /// Sequence number of the lock-owner; 0 from minor version 1 on.
        sequence: u32,
        /// The owner's locks on the file.
        state: StateId,
        /// First byte.
        offset: u64,
        /// Bytes, or [`TO_END_OF_FILE`].
        length: u64,
    }
}

message! {
    /// The conflicting lock (`LOCK4denied`).
    Denied<'a> {
        /// First byte.
        offset: u64,
        /// Bytes, or [`TO_END_OF_FILE`].
        length: u64,
        /// Its kind.
        kind: LockKind,
        /// Its owner.
        owner: StateOwner<'a>,
    }
}

message! {
    /// Arguments of `RELEASE_LOCKOWNER`, minor version 0 only.
    ReleaseLockOwner<'a> {
        /// The lock-owner.
        owner: StateOwner<'a>,
    }
}
