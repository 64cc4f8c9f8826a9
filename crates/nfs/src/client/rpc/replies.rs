//! Replies matched with their calls and decoded.

use sharebench_client_core::connection_error::protocol_violation;
use sharebench_model::{ErrorClass, OpError, OpStep};

use crate::client::rpc::calls::{Calls, ExpectedReply};
use crate::client::rpc::dialect::{Dialect, Outcome, Places, Verdict};
use crate::results::{WriteVerifier, Written};
use crate::rpc::{Rejection, get_reply, is_call};
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
    /// Any other procedure: the result, status first, is among the channel's `metadata_results`.
    Metadata,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) index: usize,
    pub(crate) expected: ExpectedReply,
    pub(crate) result: Result<ReplyContent, OpError>,
    pub(crate) verdict: Verdict,
}

impl Completion {
    pub(crate) fn read(index: usize, expected: ExpectedReply, count: u32) -> Self {
        Self { index, expected, result: Ok(ReplyContent::Read(count)), verdict: Verdict::default() }
    }
}

/// The request that a reply answers. The caller of a metadata request replaces it by the procedure.
pub(crate) const fn request(expected: ExpectedReply) -> &'static str {
    match expected {
        ExpectedReply::Read { .. } => "READ",
        ExpectedReply::Write { .. } => "WRITE",
        ExpectedReply::Flush { .. } => "COMMIT",
        ExpectedReply::Metadata => "call",
        ExpectedReply::Renewal => "SEQUENCE",
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

/// A record that the server sent.
#[derive(Debug)]
pub(crate) enum Received {
    /// The reply to a call.
    Reply(Completion),
    /// A call of the server.
    Callback,
}

/// Decodes a complete record and ends the call that it answers. An error concerns the connection, which cannot be used
/// afterwards; the failure of the call is part of its [`Completion`].
#[inline]
pub(crate) fn accept<D: Dialect>(
    record: &[u8],
    calls: &mut Calls,
    places: &mut Places<'_>,
) -> Result<Received, OpError> {
    if D::CALLBACKS && is_call(record) {
        return Ok(Received::Callback);
    }
    let mut reader = Reader::new(record);
    let (xid, outcome) = get_reply(&mut reader).map_err(protocol_violation)?;
    let Some((index, expected)) = calls.find(xid) else {
        return Err(protocol_violation(format!("a reply to xid {xid:#010x}, which is not in flight")));
    };
    calls.finish(index);
    let request = request(expected);
    // The record's length is known, so that a malformed result fails its call and not the connection.
    let Outcome { result, verdict } = match outcome {
        Ok(()) => D::outcome(&mut reader, index, expected, places)
            .unwrap_or_else(|error| Err(undecodable(error, request)).into()),
        Err(rejection) => Outcome { result: Err(rejected(rejection, request)), verdict: Verdict::REJECTED },
    };
    Ok(Received::Reply(Completion { index, expected, result, verdict }))
}
