//! LOCK (MS-SMB2 2.2.26). The response has no fields: it is a [`super::simple::Empty`].

use super::{Field, FileId, Reader, WireError};

/// Flags of a range (MS-SMB2 2.2.26.1).
pub mod flags {
    /// Shared: others may read the range and lock it shared.
    pub const SHARED: u32 = 1;
    /// Exclusive: nobody else may read or write the range.
    pub const EXCLUSIVE: u32 = 2;
    /// Unlock the range.
    pub const UNLOCK: u32 = 4;
    /// Fail instead of waiting for a range that another open has locked.
    pub const FAIL_IMMEDIATELY: u32 = 0x10;
}

/// A range to lock or unlock (`SMB2_LOCK_ELEMENT`, MS-SMB2 2.2.26.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockRange {
    /// Position of the first byte.
    pub offset: u64,
    /// Number of bytes; 0 is a valid length.
    pub len: u64,
    /// See [`flags`].
    pub flags: u32,
}

/// SMB2 LOCK request (MS-SMB2 2.2.26): locks or unlocks ranges of an open file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockRequest {
    /// Number and index with which a client repeats the request after a reconnect; 0 in dialect 2.0.2.
    pub sequence: u32,
    /// The file.
    pub file: FileId,
    /// The ranges, which are all locked or all unlocked.
    pub ranges: Vec<LockRange>,
}

impl LockRequest {
    /// Encodes the body and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        48u16.put(out);
        (self.ranges.len() as u16).put(out);
        self.sequence.put(out);
        self.file.put(out);
        for range in &self.ranges {
            range.offset.put(out);
            range.len.put(out);
            range.flags.put(out);
            0u32.put(out);
        }
    }

    /// Decodes the body of a message. A request without ranges is an error (MS-SMB2 3.3.5.14).
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::body(message, 48, "LockRequest")?;
        let count: u16 = reader.get()?;
        if count == 0 {
            return Err(reader.bad("LockCount", 0));
        }
        let sequence = reader.get()?;
        let file = reader.get()?;
        let mut range = || -> Result<LockRange, WireError> {
            let range = LockRange { offset: reader.get()?, len: reader.get()?, flags: reader.get()? };
            reader.take(4)?;
            Ok(range)
        };
        let ranges = (0..count).map(|_| range()).collect::<Result<_, _>>()?;
        Ok(Self { sequence, file, ranges })
    }
}
