//! A reply matched with its call and read.

use sharebench_model::{ErrorClass, OpError};

use crate::client::calls::{Calls, Expected};
use crate::client::receiver::lost;
use crate::results::{ReadHead, WriteVerifier, Written, get_commit, get_status};
use crate::rpc::{Rejection, get_reply};
use crate::xdr::{Reader, XdrError};

/// What a successful reply held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// So many bytes are in the slot's buffer.
    Read(u32),
    /// The server took a WRITE.
    Written(Written),
    /// The server performed a COMMIT.
    Committed(WriteVerifier),
    /// The result, status first, is in the receiver's `meta_result`.
    Meta,
}

/// The end of a call.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) index: usize,
    pub(crate) expected: Expected,
    pub(crate) result: Result<Answer, OpError>,
}

impl Arrival {
    pub(crate) fn read(index: usize, expected: Expected, count: u32) -> Self {
        Self { index, expected, result: Ok(Answer::Read(count)) }
    }
}

const fn step(expected: Expected) -> &'static str {
    match expected {
        Expected::Read { .. } => "READ",
        Expected::Write { .. } => "WRITE",
        Expected::Flush { .. } => "COMMIT",
        Expected::Meta => "call",
    }
}

/// The failure that a rejected call is.
#[cold]
pub(crate) fn rejected(rejection: Rejection, step: &'static str) -> OpError {
    let class = match rejection {
        Rejection::Auth(_) => ErrorClass::Refused,
        Rejection::System => ErrorClass::Io,
        Rejection::GarbageArguments => ErrorClass::Protocol,
        _ => ErrorClass::Unsupported,
    };
    OpError::new(class, step, rejection.to_string())
}

/// The failure that a result is which cannot be read.
#[cold]
pub(crate) fn unreadable(error: XdrError, step: &'static str) -> OpError {
    OpError::new(ErrorClass::Protocol, step, error.to_string())
}

/// Reads a whole reply and ends its call. An error means that the connection is beyond use.
#[inline]
pub(crate) fn settle(
    record: &[u8],
    calls: &mut Calls,
    buffers: &mut [Box<[u8]>],
    meta_result: &mut Vec<u8>,
) -> Result<Arrival, OpError> {
    let mut reader = Reader::new(record);
    let (xid, outcome) =
        get_reply(&mut reader).map_err(|error| lost(ErrorClass::Protocol, error.to_string()))?;
    let Some((index, expected)) = calls.find(xid) else {
        return Err(lost(
            ErrorClass::Protocol,
            format!("a reply to xid {xid:#010x}, which is not in flight"),
        ));
    };
    calls.end(index);
    let step = step(expected);
    let result = match outcome {
        Ok(()) => read_result(&mut reader, index, expected, buffers, meta_result)
            .unwrap_or_else(|error| Err(unreadable(error, step))),
        Err(rejection) => Err(rejected(rejection, step)),
    };
    Ok(Arrival { index, expected, result })
}

#[inline]
fn read_result(
    reader: &mut Reader<'_>,
    index: usize,
    expected: Expected,
    buffers: &mut [Box<[u8]>],
    meta_result: &mut Vec<u8>,
) -> Result<Result<Answer, OpError>, XdrError> {
    if expected == Expected::Meta {
        meta_result.clear();
        meta_result.extend_from_slice(reader.rest());
        return Ok(Ok(Answer::Meta));
    }
    if let Err(status) = get_status(reader)? {
        return Ok(Err(status.failure(step(expected))));
    }
    Ok(Ok(match expected {
        Expected::Read { len } => {
            let count = ReadHead::get(reader)?.count;
            let data = reader.take(count as usize)?;
            let too_long = XdrError::TooLong { field: "READ data", len: count, max: len as usize };
            let place = buffers.get_mut(index).and_then(|buffer| buffer.get_mut(..data.len()));
            place.filter(|_| count <= len).ok_or(too_long)?.copy_from_slice(data);
            Answer::Read(count)
        }
        Expected::Write { .. } => Answer::Written(Written::get(reader)?),
        Expected::Flush { .. } => Answer::Committed(get_commit(reader)?),
        Expected::Meta => Answer::Meta,
    }))
}
