//! `OPLOCK_BREAK` (MS-SMB2 2.2.23 to 2.2.25). Oplocks are what leases are since dialect 2.1.

use super::FileId;
use super::bytes::body;

/// Level: no oplock.
pub const NONE: u8 = 0;
/// Level: the client may cache what it reads.
pub const LEVEL_II: u8 = 1;
/// Level: the client may cache what it reads and writes.
pub const EXCLUSIVE: u8 = 8;
/// Level: the client may also keep the file open after its user has closed it.
pub const BATCH: u8 = 9;

body! {
    /// SMB2 `OPLOCK_BREAK`: notification, acknowledgment and response share one layout (MS-SMB2 2.2.23.1, 2.2.24.1,
    /// 2.2.25.1).
    OplockBreak, 24 {
        /// Level that the holder must reduce its oplock to; 0: none.
        level: u8,
        /// Zero.
        reserved1: u8,
        /// Zero.
        reserved2: u32,
        /// The file.
        file: FileId,
    }
}
