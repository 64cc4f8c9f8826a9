//! Replies matched with their calls and decoded.

use sharebench_model::{ErrorClass, OpError, OpStep};
use sharebench_stream_client::connection_error::protocol_violation;

use crate::client::calls::{Calls, ExpectedReply};
use crate::results::{ReadHead, WriteVerifier, Written, get_commit, get_status};
use crate::rpc::{Rejection, get_reply};
use crate::xdr::{Reader, XdrError};

/// The content of a successful reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyContent {
    /// READ: number of bytes in the slot's buffer.
    Read(u32),
    /// WRITE: what the server wrote, and how durably.
    Written(Written),
    /// COMMIT: the server's verifier.
    Committed(WriteVerifier),
    /// Any other procedure: the result, status first, is in the receiver's `metadata_result`.
    Metadata,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) index: usize,
    pub(crate) expected: ExpectedReply,
    pub(crate) result: Result<ReplyContent, OpError>,
}

impl Completion {
    pub(crate) fn read(index: usize, expected: ExpectedReply, count: u32) -> Self {
        Self { index, expected, result: Ok(ReplyContent::Read(count)) }
    }
}

/// The request that a reply answers. The caller of a metadata request replaces it by the procedure.
const fn request(expected: ExpectedReply) -> &'static str {
    match expected {
        ExpectedReply::Read { .. } => "READ",
        ExpectedReply::Write { .. } => "WRITE",
        ExpectedReply::Flush { .. } => "COMMIT",
        ExpectedReply::Metadata => "call",
    }
}

/// The error of a call that the RPC layer rejected.
#[cold]
pub(crate) fn rejected(rejection: Rejection, request: &'static str) -> OpError {
    let class = match rejection {
        Rejection::Auth(_) => ErrorClass::Refused,
        Rejection::System => ErrorClass::Io,
        Rejection::GarbageArguments => ErrorClass::Protocol,
        _ => ErrorClass::Unsupported,
    };
    OpError::new(class, OpStep::Request(request), rejection.to_string())
}

/// The error of a call whose result cannot be decoded.
#[cold]
pub(crate) fn undecodable(error: XdrError, request: &'static str) -> OpError {
    OpError::new(ErrorClass::Protocol, OpStep::Request(request), error.to_string())
}

/// Decodes a complete reply and ends its call. An error concerns the connection, which cannot be used afterwards; the
/// failure of the call is part of its [`Completion`].
#[inline]
pub(crate) fn accept(
    record: &[u8],
    calls: &mut Calls,
    buffers: &mut [Box<[u8]>],
    metadata_result: &mut Vec<u8>,
) -> Result<Completion, OpError> {
    let mut reader = Reader::new(record);
    let (xid, outcome) = get_reply(&mut reader).map_err(protocol_violation)?;
    let Some((index, expected)) = calls.find(xid) else {
        return Err(protocol_violation(format!("a reply to xid {xid:#010x}, which is not in flight")));
    };
    calls.finish(index);
    let request = request(expected);
    // The record's length is known, so that a malformed result fails its call and not the connection.
    let result = match outcome {
        Ok(()) => read_result(&mut reader, index, expected, buffers, metadata_result)
            .unwrap_or_else(|error| Err(undecodable(error, request))),
        Err(rejection) => Err(rejected(rejection, request)),
    };
    Ok(Completion { index, expected, result })
}

/// Decodes a result: the outer result is about the encoding, the inner one about the operation.
#[inline]
fn read_result(
    reader: &mut Reader<'_>,
    index: usize,
    expected: ExpectedReply,
    buffers: &mut [Box<[u8]>],
    metadata_result: &mut Vec<u8>,
) -> Result<Result<ReplyContent, OpError>, XdrError> {
    if expected == ExpectedReply::Metadata {
        metadata_result.clear();
        metadata_result.extend_from_slice(reader.rest());
        return Ok(Ok(ReplyContent::Metadata));
    }
    if let Err(status) = get_status(reader)? {
        return Ok(Err(status.failure(request(expected))));
    }
    Ok(Ok(match expected {
        ExpectedReply::Read { len } => {
            let count = ReadHead::get(reader)?.count;
            let data = reader.take(count as usize)?;
            let too_long = XdrError::TooLong { field: "READ data", len: count, max: len as usize };
            let place = buffers.get_mut(index).and_then(|buffer| buffer.get_mut(..data.len()));
            place.filter(|_| count <= len).ok_or(too_long)?.copy_from_slice(data);
            ReplyContent::Read(count)
        }
        ExpectedReply::Write { .. } => ReplyContent::Written(Written::get(reader)?),
        ExpectedReply::Flush { .. } => ReplyContent::Committed(get_commit(reader)?),
        ExpectedReply::Metadata => ReplyContent::Metadata,
    }))
}
