//! `OPLOCK_BREAK` (MS-SMB2 2.2.23 to 2.2.25); this client asks for no oplocks, but answers.

use super::FileId;
use super::bytes::body;

body! {
    /// Oplock break: notification, acknowledgment and response have one layout (MS-SMB2 2.2.23.1).
    OplockBreak, 24 {
        /// Level the holder must fall to; 0 none.
        level: u8,
        /// Zero.
        reserved1: u8,
        /// Zero.
        reserved2: u32,
        /// The file.
        file: FileId,
    }
}
