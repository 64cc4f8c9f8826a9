//! Messages of a few fixed fields: CLOSE, FLUSH, ECHO, LOGOFF, `TREE_DISCONNECT` and the error response.

use super::bytes::body;
use super::{FileId, Reader, WireError};

body! {
    /// The body of LOGOFF, `TREE_DISCONNECT`, ECHO and CANCEL in both directions, and of FLUSH's response
    /// (MS-SMB2 2.2.7, 2.2.8, 2.2.11, 2.2.12, 2.2.18, 2.2.28..2.2.30).
    Empty, 4 {
        /// Zero.
        reserved: u16,
    }
}

body! {
    /// SMB2 CLOSE request (MS-SMB2 2.2.15).
    CloseRequest, 24 {
        /// 1: the response carries the attributes.
        flags: u16,
        /// Zero.
        reserved: u32,
        /// The file.
        file: FileId,
    }
}

body! {
    /// SMB2 CLOSE response (MS-SMB2 2.2.16).
    CloseResponse, 60 {
        /// The request's flags.
        flags: u16,
        /// Zero.
        reserved: u32,
        /// Creation, last access, last write, change: 100 ns since 1601.
        times: [u8; 32],
        /// Bytes allocated.
        allocation: u64,
        /// Length in bytes.
        end_of_file: u64,
        /// Attributes.
        attributes: u32,
    }
}

body! {
    /// SMB2 FLUSH request (MS-SMB2 2.2.17).
    FlushRequest, 24 {
        /// Zero.
        reserved1: u16,
        /// Zero.
        reserved2: u32,
        /// The file.
        file: FileId,
    }
}

/// SMB2 ERROR response (MS-SMB2 2.2.2). The status is in the header.
pub struct ErrorResponse;

impl ErrorResponse {
    /// Appends a body without error data.
    pub fn encode(out: &mut Vec<u8>) {
        out.extend_from_slice(&[9, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    /// Appends a body with the size that a buffer should have had, for `STATUS_BUFFER_TOO_SMALL` (MS-SMB2 2.2.2.1).
    pub fn encode_size(size: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&[9, 0, 0, 0, 4, 0, 0, 0]);
        out.extend_from_slice(&size.to_le_bytes());
    }

    /// Checks that a message is an error response with complete error data.
    pub fn decode(message: &[u8]) -> Result<(), WireError> {
        let mut reader = Reader::body(message, 9, "error response")?;
        let _contexts: u16 = reader.get()?;
        let len: u32 = reader.get()?;
        reader.take(len as usize).map(drop)
    }
}
