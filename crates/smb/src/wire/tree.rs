//! `TREE_CONNECT` (MS-SMB2 2.2.9, 2.2.10).

use super::bytes::body;
use super::{Field, HEADER_LEN, Reader, WireError, from_utf16, utf16};

/// Share flag: the server requires encryption on this share.
pub const SHARE_ENCRYPT_DATA: u32 = 0x8000;

/// SMB2 `TREE_CONNECT` request (MS-SMB2 2.2.9): connects the session to a share.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeConnectRequest {
    /// `\\host\share`.
    pub path: String,
}

impl TreeConnectRequest {
    /// Encodes the body and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let path = utf16(&self.path);
        9u16.put(out);
        0u16.put(out);
        (HEADER_LEN as u16 + 8).put(out);
        (path.len() as u16).put(out);
        out.extend_from_slice(&path);
    }

    /// Decodes the body of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::body(message, 9, "TreeConnectRequest")?;
        let _flags: u16 = reader.get()?;
        let offset: u16 = reader.get()?;
        let len: u16 = reader.get()?;
        Ok(Self { path: from_utf16(reader.slice(usize::from(offset), usize::from(len))?) })
    }
}

body! {
    /// SMB2 `TREE_CONNECT` response (MS-SMB2 2.2.10): type and flags of the share.
    TreeConnectResponse, 16 {
        /// 1 disk, 2 pipe, 3 printer.
        share_type: u8,
        /// Zero.
        reserved: u8,
        /// Share flags.
        flags: u32,
        /// Share capabilities.
        capabilities: u32,
        /// Maximal access of this user.
        maximal_access: u32,
    }
}
