//! `OPLOCK_BREAK` (MS-SMB2 2.2.23 to 2.2.25). The client requests no oplock; the messages serve tests and the server.

use super::FileId;
use super::bytes::body;

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
