//! Errors of operations that are rejected before they reach the wire.

use sharebench_model::{ErrorClass, OpError};

/// The slot already has an operation in flight, or the session has no such slot.
#[cold]
pub fn slot_not_idle() -> OpError {
    OpError::new(ErrorClass::Busy, "submit", "the slot is in flight or does not exist")
}

/// The server accepts at most `max` bytes per request, which it calls `limit`.
#[cold]
pub fn record_above_limit(step: &'static str, len: u32, limit: &str, max: u32) -> OpError {
    let detail =
        format!("a record of {len} bytes exceeds the server's {limit} {max}; records are never split");
    OpError::new(ErrorClass::Unsupported, step, detail)
}

/// The record is larger than the buffer of its slot.
#[cold]
pub fn record_above_slot(step: &'static str, len: u32) -> OpError {
    OpError::new(ErrorClass::Unsupported, step, format!("a record of {len} bytes exceeds its slot"))
}

/// The server wrote fewer bytes than the request carried. The remainder is not sent again: one operation is one request.
#[cold]
pub fn short_write(written: u32, len: u32) -> OpError {
    OpError::new(ErrorClass::Io, "WRITE", format!("short write: the server wrote {written} of {len} bytes"))
}

/// A caller dropped an earlier metadata request, so that its reply would be mistaken for the reply to this one.
#[cold]
pub fn abandoned_request(step: &'static str) -> OpError {
    OpError::new(ErrorClass::Disconnected, step, "an earlier request was abandoned")
}
