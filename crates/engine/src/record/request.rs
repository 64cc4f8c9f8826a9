//! One data request at a time: submitted, awaited, and checked for its length.
//!
//! Everything in the engine that moves file data goes through here or through [`crate::cell::pass::Pass`], which keeps
//! several requests in flight. Both judge a reply by [`complete`], so that a short transfer is the same failure in a
//! cell, in a transaction, in a replayed line, in a cache probe, and while a data set is written.

use std::ops::Range;

use sharebench_model::{DataOp, FileRef, OpError, Slot};
use sharebench_target::Session;

use crate::data::mismatch::short;
use crate::data::request_splitting;
use crate::data::stamp;
use crate::data::stamp::Content;
use crate::time::deadline::Deadline;

/// The slot of sessions that have one request in flight at a time.
pub(crate) const SLOT: Slot = Slot(0);

/// Submits `op` on an idle session and waits for its reply: the bytes transferred, which may be fewer than requested
/// where a file ends. The data of a read is in the buffer of [`SLOT`], that of a write is expected there.
pub(crate) async fn exchange(
    session: &mut dyn Session,
    deadline: &mut Deadline,
    op: DataOp,
) -> Result<u32, OpError> {
    let mut replies = Vec::with_capacity(1);
    session.submit(SLOT, op);
    deadline.replies(session, &mut replies).await?;
    // One request in flight has exactly one reply.
    replies.swap_remove(0).result
}

/// Like [`exchange`], for requests that must transfer all of their bytes.
pub(crate) async fn transfer(
    session: &mut dyn Session,
    deadline: &mut Deadline,
    op: DataOp,
) -> Result<(), OpError> {
    complete(op, exchange(session, deadline, op).await)
}

/// The result of a request that must transfer all of its bytes; a shorter transfer is a data error.
#[inline]
pub(crate) fn complete(op: DataOp, result: Result<u32, OpError>) -> Result<(), OpError> {
    match op {
        DataOp::Read { offset, len, .. } | DataOp::Write { offset, len, .. } => match result? {
            bytes if bytes == len => Ok(()),
            bytes => Err(short(bytes, len, offset)),
        },
        DataOp::Flush { .. } => result.map(drop),
    }
}

/// Writes the first of `bytes` of a file, as many as one request carries, with `content`. Returns how many these were.
/// The caller repeats it until the range is written: between two requests it may let others work or be stopped.
pub(crate) async fn write_next(
    session: &mut dyn Session,
    deadline: &mut Deadline,
    file: FileRef,
    bytes: Range<u64>,
    content: Content,
) -> Result<u32, OpError> {
    let (op, len) = request_splitting::write(session, file, bytes.start, bytes.end - bytes.start);
    stamp::fill(&mut session.buffer(SLOT)[..len as usize], content, bytes.start);
    transfer(session, deadline, op).await?;
    Ok(len)
}
