//! Commands on open files: `NT_CREATE_ANDX`, `READ_ANDX`, `WRITE_ANDX`, CLOSE, FLUSH, `LOCKING_ANDX` (MS-CIFS 2.2.4.5, 2.2.4.6,
//! 2.2.4.32, 2.2.4.42, 2.2.4.43, 2.2.4.64).

use super::message::{HEADER_LEN, words};
use crate::wire::oplock;

/// `WriteMode`: reply after the data are stable.
pub const WRITE_THROUGH: u16 = 1;
/// Where the data of a `WRITE_ANDX` start: after header, words, length of the bytes, and padding to a multiple of four.
pub const WRITE_DATA_OFFSET: usize = (HEADER_LEN + 1 + 28 + 2 + 3) & !3;
/// `LockType`: 64-bit offsets.
pub const LARGE_FILES: u8 = 0x10;
/// `LockType`: the locks are shared.
pub const SHARED_LOCK: u8 = 0x01;
/// `LockType`: the acknowledgment of an oplock break.
pub const OPLOCK_RELEASE: u8 = 0x02;
/// `NewOpLockLevel`: the client keeps an oplock of level II (MS-CIFS 2.2.4.32.1); 0: none.
pub const KEEP_LEVEL_II: u8 = 1;
/// `Flags` of `NT_CREATE_ANDX`: an exclusive oplock is requested.
pub const REQUEST_OPLOCK: u32 = 0x2;
/// `Flags` of `NT_CREATE_ANDX`: a batch oplock is requested, together with [`REQUEST_OPLOCK`].
pub const REQUEST_BATCH_OPLOCK: u32 = 0x4;
/// Multiplex id of a message that no request caused.
pub const UNSOLICITED: u16 = 0xFFFF;
/// `LockType`: cancel a request that waits.
pub const CANCEL_LOCK: u8 = 0x08;

words! {
    /// `NT_CREATE_ANDX` request (MS-CIFS 2.2.4.64.1); its bytes are padding and the name.
    CreateRequest, 24 {
        /// No further command.
        andx: [u8; 4],
        /// Zero.
        reserved: u8,
        /// Bytes of the name.
        name_len: u16,
        /// See [`REQUEST_OPLOCK`].
        flags: u32,
        /// Directory that the name is relative to; 0: the tree.
        root: u32,
        /// Desired access, as in SMB2.
        access: u32,
        /// Initial allocation.
        allocation: u64,
        /// Attributes of a new file.
        attributes: u32,
        /// Access that other opens may have.
        share: u32,
        /// Disposition, as in SMB2.
        disposition: u32,
        /// Options, as in SMB2.
        options: u32,
        /// 2: impersonation.
        impersonation: u32,
        /// Zero.
        security: u8,
    }
}

words! {
    /// `NT_CREATE_ANDX` response (MS-CIFS 2.2.4.64.2).
    CreateResponse, 34 {
        /// No further command.
        andx: [u8; 4],
        /// Level of the oplock that was granted, see [`oplock_level`].
        oplock: u8,
        /// The open file.
        fid: u16,
        /// 1: opened, 2: created.
        action: u32,
        /// Creation, last access, last write, change: 100 ns since 1601.
        times: [u8; 32],
        /// Attributes.
        attributes: u32,
        /// Bytes allocated.
        allocation: u64,
        /// Length in bytes.
        end_of_file: u64,
        /// Kind of resource.
        resource: u16,
        /// State of a pipe.
        pipe_state: u16,
        /// 1: a directory.
        directory: u8,
    }
}

/// The levels of oplocks in `OpLockLevel` of a response (MS-CIFS 2.2.4.64.2), with those of SMB2.
const OPLOCK_LEVELS: [(u8, u8); 4] =
    [(0, oplock::NONE), (1, oplock::EXCLUSIVE), (2, oplock::BATCH), (3, oplock::LEVEL_II)];

/// The level of SMB2 for a granted oplock; a level that is not defined is none.
pub fn oplock_level(granted: u8) -> u8 {
    let known = OPLOCK_LEVELS.iter().find(|(level, _)| *level == granted);
    known.map_or(oplock::NONE, |(_, level)| *level)
}

/// The value of `OpLockLevel` for a level of SMB2.
pub fn granted_oplock(level: u8) -> u8 {
    OPLOCK_LEVELS.iter().find(|(_, known)| *known == level).map_or(0, |(granted, _)| *granted)
}

words! {
    /// `READ_ANDX` request (MS-SMB 2.2.4.2.1).
    ReadRequest, 12 {
        /// No further command.
        andx: [u8; 4],
        /// The file.
        fid: u16,
        /// Lower half of the offset.
        offset_low: u32,
        /// Lower half of the number of bytes.
        count_low: u16,
        /// Fewest bytes of a pipe.
        min_count: u16,
        /// Upper half of the number of bytes.
        count_high: u32,
        /// Zero.
        remaining: u16,
        /// Upper half of the offset.
        offset_high: u32,
    }
}

words! {
    /// `READ_ANDX` response (MS-SMB 2.2.4.2.2).
    ReadResponse, 12 {
        /// No further command.
        andx: [u8; 4],
        /// 0xFFFF for files.
        available: u16,
        /// Zero.
        compaction: u16,
        /// Zero.
        reserved1: u16,
        /// Lower half of the number of bytes.
        len_low: u16,
        /// Where they start in the message.
        offset: u16,
        /// Upper half of the number of bytes.
        len_high: u16,
        /// Zero.
        reserved2: [u8; 8],
    }
}

impl ReadResponse {
    /// Number of bytes.
    pub const fn len(&self) -> usize {
        self.len_low as usize | (self.len_high as usize) << 16
    }

    /// True without bytes.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

words! {
    /// `WRITE_ANDX` request (MS-SMB 2.2.4.3.1); its bytes are padding and the data.
    WriteRequest, 14 {
        /// No further command.
        andx: [u8; 4],
        /// The file.
        fid: u16,
        /// Lower half of the offset.
        offset_low: u32,
        /// Zero.
        timeout: u32,
        /// See [`WRITE_THROUGH`].
        mode: u16,
        /// Zero.
        remaining: u16,
        /// Upper half of the number of bytes.
        len_high: u16,
        /// Lower half of the number of bytes.
        len_low: u16,
        /// Where they start in the message.
        data_offset: u16,
        /// Upper half of the offset.
        offset_high: u32,
    }
}

words! {
    /// `WRITE_ANDX` response (MS-SMB 2.2.4.3.2).
    WriteResponse, 6 {
        /// No further command.
        andx: [u8; 4],
        /// Lower half of the number of bytes.
        count_low: u16,
        /// 0xFFFF for files.
        available: u16,
        /// Upper half of the number of bytes.
        count_high: u16,
        /// Zero.
        reserved: u16,
    }
}

words! {
    /// CLOSE request (MS-CIFS 2.2.4.5.1).
    CloseRequest, 3 {
        /// The file.
        fid: u16,
        /// Time of the last write that the server should set; all ones: none.
        last_write: u32,
    }
}

words! {
    /// FLUSH request (MS-CIFS 2.2.4.6.1).
    FlushRequest, 1 {
        /// The file.
        fid: u16,
    }
}

words! {
    /// `LOCKING_ANDX` request (MS-CIFS 2.2.4.32.1); its bytes are the unlocked ranges and the locked ones.
    LockRequest, 8 {
        /// No further command.
        andx: [u8; 4],
        /// The file.
        fid: u16,
        /// See [`LARGE_FILES`]; bit 0: shared.
        kind: u8,
        /// New level of an oplock, see [`KEEP_LEVEL_II`].
        oplock: u8,
        /// Milliseconds to wait.
        timeout: u32,
        /// Ranges to unlock.
        unlocks: u16,
        /// Ranges to lock.
        locks: u16,
    }
}

words! {
    /// One range of `LOCKING_ANDX` with 64-bit offsets (MS-CIFS 2.2.4.32.1); the halves are in this order.
    LockRange, 10 {
        /// Process that holds the lock.
        pid: u16,
        /// Zero.
        padding: u16,
        /// Upper half of the offset.
        offset_high: u32,
        /// Lower half of the offset.
        offset_low: u32,
        /// Upper half of the length.
        len_high: u32,
        /// Lower half of the length.
        len_low: u32,
    }
}

words! {
    /// One range of `LOCKING_ANDX` with 32-bit offsets (MS-CIFS 2.2.4.32.1).
    SmallLockRange, 5 {
        /// Process that holds the lock.
        pid: u16,
        /// First byte.
        offset: u32,
        /// Number of bytes.
        len: u32,
    }
}

words! {
    /// `LOCK_BYTE_RANGE` and `UNLOCK_BYTE_RANGE` request (MS-CIFS 2.2.4.13.1, 2.2.4.14.1).
    ByteRange, 5 {
        /// The file.
        fid: u16,
        /// Number of bytes.
        len: u32,
        /// First byte.
        offset: u32,
    }
}

words! {
    /// `LOCKING_ANDX` response (MS-CIFS 2.2.4.32.2), of which `LOGOFF_ANDX` has the same fields.
    LockResponse, 2 {
        /// Next command.
        andx: [u8; 4],
    }
}

impl LockRange {
    /// A range of a process, by offset and length.
    pub const fn new(pid: u16, offset: u64, len: u64) -> Self {
        Self {
            pid,
            padding: 0,
            offset_high: (offset >> 32) as u32,
            offset_low: offset as u32,
            len_high: (len >> 32) as u32,
            len_low: len as u32,
        }
    }

    /// Offset and length.
    pub const fn range(&self) -> (u64, u64) {
        let offset = (self.offset_high as u64) << 32 | self.offset_low as u64;
        (offset, (self.len_high as u64) << 32 | self.len_low as u64)
    }
}

words! {
    /// `OPEN_ANDX` request (MS-CIFS 2.2.4.41.1); its bytes are the name.
    OpenRequest, 15 {
        /// Next command.
        andx: [u8; 4],
        /// Fields of the response that the client wants.
        flags: u16,
        /// Rights in the lowest bits, what others may do from bit 4 on.
        mode: u16,
        /// Attributes that the file may have.
        search: u16,
        /// Attributes of a new file.
        attributes: u16,
        /// Creation time of a new file.
        created: u32,
        /// What happens if the file exists (bits 0 and 1) and if it does not (bit 4).
        action: u16,
        /// Initial allocation in bytes.
        allocation: u32,
        /// Time to wait.
        timeout: u32,
        /// Zero.
        reserved: u32,
    }
}

words! {
    /// `OPEN_ANDX` response (MS-CIFS 2.2.4.41.2).
    OpenResponse, 15 {
        /// Next command.
        andx: [u8; 4],
        /// The open file.
        fid: u16,
        /// Its attributes.
        attributes: u16,
        /// Time of the last write: seconds since 1970.
        modified: u32,
        /// Length in bytes.
        size: u32,
        /// Granted rights, as in the request.
        rights: u16,
        /// Kind of resource: 0 is a file.
        resource: u16,
        /// State of a pipe.
        pipe_state: u16,
        /// 1: opened, 2: created, 3: replaced.
        action: u16,
        /// Zero.
        reserved: [u8; 6],
    }
}
