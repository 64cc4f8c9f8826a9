//! READ and WRITE (MS-SMB2 2.2.19 to 2.2.22): the messages that carry file data.

use super::bytes::body;
use super::{FileId, HEADER_LEN, Reader, WireError};

/// Offset of the data in a READ response without padding: header and fixed fields.
pub const READ_DATA_OFFSET: usize = HEADER_LEN + 16;
/// Offset of the data in this client's WRITE requests: header and fixed fields.
pub const WRITE_DATA_OFFSET: usize = HEADER_LEN + 48;
/// READ flag since dialect 3.0.2: bypass the server's cache (MS-SMB2 2.2.19).
pub const READ_UNBUFFERED: u8 = 1;
/// WRITE flag: the data are on stable storage before the response (MS-SMB2 2.2.21).
pub const WRITE_THROUGH: u32 = 1;
/// WRITE flag since dialect 3.0.2: bypass the server's cache (MS-SMB2 2.2.21).
pub const WRITE_UNBUFFERED: u32 = 2;

body! {
    /// SMB2 READ request (MS-SMB2 2.2.19) without channel information.
    ReadRequest, 49 {
        /// Offset from the header at which the client prefers the data.
        padding: u8,
        /// 1: unbuffered, 2: compressed.
        flags: u8,
        /// Number of bytes to read.
        len: u32,
        /// Position of the first byte.
        offset: u64,
        /// The file.
        file: FileId,
        /// Minimum number of bytes; fewer are an error.
        minimum: u32,
        /// Zero.
        channel: u32,
        /// Number of bytes that the client intends to read next.
        remaining: u32,
        /// Zero.
        channel_info: u32,
        /// The variable part must have at least one byte.
        buffer: u8,
    }
}

body! {
    /// Fixed part of an SMB2 WRITE request (MS-SMB2 2.2.21); the data follows.
    WriteRequest, 49 {
        /// Offset of the data from the header.
        data_offset: u16,
        /// Bytes of data.
        len: u32,
        /// Position of the first byte.
        offset: u64,
        /// The file.
        file: FileId,
        /// Zero.
        channel: u32,
        /// Number of bytes that the client intends to write next.
        remaining: u32,
        /// Zero.
        channel_info: u32,
        /// [`WRITE_THROUGH`], [`WRITE_UNBUFFERED`] or 0.
        flags: u32,
    }
}

impl WriteRequest {
    /// The data of a WRITE request message.
    pub fn data<'a>(&self, message: &'a [u8]) -> Result<&'a [u8], WireError> {
        Reader::new(message, "WriteRequest").slice(usize::from(self.data_offset), self.len as usize)
    }
}

body! {
    /// SMB2 WRITE response (MS-SMB2 2.2.22).
    WriteResponse, 17 {
        /// Zero.
        reserved: u16,
        /// Bytes written.
        count: u32,
        /// Zero.
        remaining: u32,
        /// Zero.
        channel_info: u32,
    }
}

body! {
    /// Fixed part of an SMB2 READ response (MS-SMB2 2.2.20); the data follows.
    ReadResponse, 17 {
        /// Offset of the data from the header.
        data_offset: u8,
        /// Zero.
        reserved: u8,
        /// Bytes of data.
        len: u32,
        /// Zero.
        remaining: u32,
        /// Zero.
        flags: u32,
    }
}

impl ReadResponse {
    /// The data of a READ response message.
    pub fn data<'a>(&self, message: &'a [u8]) -> Result<&'a [u8], WireError> {
        Reader::new(message, "ReadResponse").slice(usize::from(self.data_offset), self.len as usize)
    }
}
