//! The frame of a COMPOUND (RFC 7530, 14.2; RFC 8881, 16.2): heads of calls, replies and results.

use crate::v4::item::{Opaque, message};
use crate::v4::operation::Operation;
use crate::xdr::{Reader, Writer, XdrError};

/// Longest tag that is accepted. The specifications set no limit; clients send a few bytes or none.
pub const MAX_TAG_BYTES: usize = 1024;
/// The version of the program.
pub const NFS4_VERSION: u32 = 4;
/// `NFSPROC4_COMPOUND`.
pub const COMPOUND: u32 = 1;
/// `NFS4_OK`, the status of success.
pub const OK: u32 = 0;

message! {
    /// Head of a call (`COMPOUND4args`); `count` operations follow.
    CallHead<'a> {
        /// Text for people, which the server returns.
        tag: Opaque<'a, MAX_TAG_BYTES>,
        /// Minor version: 0 to 2.
        minor_version: u32,
        /// Number of operations. It comes from the peer: never allocate memory for that many.
        count: u32,
    }
}

message! {
    /// Head of a reply (`COMPOUND4res`); `count` results follow.
    ReplyHead<'a> {
        /// Status of the last operation that was performed.
        status: u32,
        /// Tag of the call.
        tag: Opaque<'a, MAX_TAG_BYTES>,
        /// Number of results. It comes from the peer: never allocate memory for that many.
        count: u32,
    }
}

message! {
    /// Head of one result (`nfs_resop4`).
    ResultHead {
        /// Number of the operation.
        operation: u32,
        /// Its status.
        status: u32,
    }
}

/// Counts operations, or results, while they are appended, and completes the head in front of them.
///
/// The count is the last word of both heads, so that it is patched when the number of operations is known.
#[derive(Debug, Clone, Copy)]
pub struct CountedItems {
    at: usize,
    count: u32,
}

impl CountedItems {
    /// Begins after a head that was encoded last, with any count.
    #[inline]
    pub const fn after_head(writer: &Writer) -> Self {
        Self { at: writer.len().saturating_sub(4), count: 0 }
    }

    /// Appends the number of an operation, whose arguments follow.
    #[inline]
    pub fn begin(&mut self, writer: &mut Writer, operation: Operation) {
        writer.u32(operation as u32);
        self.count += 1;
    }

    /// Writes the count into the head.
    #[inline]
    pub fn end(self, writer: &mut Writer) {
        writer.patch(self.at, self.count);
    }
}

/// Decodes the number of the next operation of a call. A server answers an unknown number with `NFS4ERR_OP_ILLEGAL`
/// (RFC 7530, 16.35), so that it is no error of decoding.
#[inline]
pub fn get_operation(reader: &mut Reader<'_>) -> Result<Option<Operation>, XdrError> {
    reader.u32().map(Operation::from_code)
}

/// Decodes the head of the result of an expected operation and returns its status. Another operation is an error.
#[inline]
pub fn expect_result(reader: &mut Reader<'_>, operation: Operation) -> Result<u32, XdrError> {
    match reader.u32()? {
        code if code == operation as u32 => reader.u32(),
        value => Err(XdrError::BadValue { field: "operation of a result", value }),
    }
}
