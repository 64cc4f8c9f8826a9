//! Errors of operations that are rejected before they reach the wire.

use sharebench_model::{ErrorClass, OpError, OpStep};

/// The server accepts at most `max` bytes per request, which it calls `limit`.
#[cold]
pub fn record_above_limit(request: &'static str, len: u32, limit: &str, max: u32) -> OpError {
    let detail =
        format!("a record of {len} bytes exceeds the server's {limit} {max}; records are never split");
    OpError::new(ErrorClass::Unsupported, OpStep::Request(request), detail)
}

/// The record is larger than the buffer of its slot.
#[cold]
pub fn record_above_slot(request: &'static str, len: u32) -> OpError {
    let detail = format!("a record of {len} bytes exceeds its slot");
    OpError::new(ErrorClass::Unsupported, OpStep::Request(request), detail)
}

/// The server wrote fewer bytes than the request carried. The remainder is not sent again: one operation is one request.
#[cold]
pub fn short_write(written: u32, len: u32) -> OpError {
    let detail = format!("short write: the server wrote {written} of {len} bytes");
    OpError::new(ErrorClass::Io, OpStep::Request("WRITE"), detail)
}

/// A caller dropped an earlier metadata request, so that its reply would be mistaken for the reply to this one.
#[cold]
pub fn abandoned_request(request: &'static str) -> OpError {
    OpError::new(ErrorClass::Disconnected, OpStep::Request(request), "an earlier request was abandoned")
}
