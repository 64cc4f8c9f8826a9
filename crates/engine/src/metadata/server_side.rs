//! Server-side tests: the server copies and clones files and makes holes by itself, and its files with holes are read.

use std::ops::Range;

use sharebench_model::{DataOp, ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpStep, OpenHow};
use sharebench_plan::{MetadataTest, MetadataWork, Verify};
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::data::request_splitting;
use crate::data::stamp::Content;
use crate::metadata::sparse_content;
use crate::record::request::{SLOT, exchange, write_next};
use crate::record::tally::Tally;

/// The content of the file that is copied: of no entry.
pub(crate) const SOURCE: Content = Content { file: u32::MAX, generation: 1, kind: None };

fn wrong(detail: String) -> OpError {
    OpError::new(ErrorClass::DataMismatch, OpStep::Reply, detail)
}

async fn open(
    path: &str,
    how: OpenHow,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(FileRef, u64), OpError> {
    context.deadline.call(session, MetaOp::open(path, how)).await.and_then(MetaYield::into_opened)
}

async fn close(
    file: FileRef,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    context.deadline.call(session, MetaOp::Close { file }).await.map(drop)
}

/// Creates a file with content, but for its hole, unmeasured.
pub(crate) async fn create(
    path: &str,
    content: Content,
    (size, hole): (u64, Range<u64>),
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let (file, _) = open(path, OpenHow::CreateNew, session, context).await?;
    let mut written = Ok(());
    for part in [0..hole.start, hole.end.max(hole.start)..size] {
        let mut at = part.start;
        while written.is_ok() && at < part.end {
            match write_next(session, &mut context.deadline, file, at..part.end, content).await {
                Ok(len) => at += u64::from(len),
                Err(error) => written = Err(error),
            }
        }
    }
    written.and(close(file, session, context).await)
}

/// Opens the source, makes the new file, lets the server copy or clone, and closes both.
pub(crate) async fn copy(
    test: MetadataTest,
    (source, path): (&str, &str),
    size: u64,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let (from, found) = open(source, OpenHow::Read, session, context).await?;
    let copied = match open(path, OpenHow::CreateNew, session, context).await {
        Ok(_) if found != size => Err(wrong(format!("the source has {found} of {size} bytes"))),
        Ok((to, _)) => {
            let copied = if test == MetadataTest::Clone {
                let clone = MetaOp::CloneRange { from, to, bytes: size };
                context.deadline.call(session, clone).await.map(drop)
            } else {
                copy_all(from, to, size, session, context).await
            };
            copied.and(close(to, session, context).await)
        }
        Err(error) => Err(error),
    };
    copied.and(close(from, session, context).await)
}

async fn copy_all(
    from: FileRef,
    to: FileRef,
    size: u64,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let mut offset = 0;
    while offset < size {
        let bytes = size - offset;
        let copy = MetaOp::CopyRange { from, to, offset, bytes };
        match context.deadline.call(session, copy).await.and_then(MetaYield::into_bytes)? {
            0 => return Err(wrong(format!("the server copied {offset} of {size} bytes"))),
            copied => offset += copied.min(bytes),
        }
    }
    Ok(())
}

/// Opens a file, makes its hole, and closes it.
pub(crate) async fn punch(
    path: &str,
    hole: Range<u64>,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let (file, _) = open(path, OpenHow::ReadWrite, session, context).await?;
    let punch = MetaOp::PunchHole { file, offset: hole.start, bytes: hole.end - hole.start };
    let punched = context.deadline.call(session, punch).await.map(drop);
    punched.and(close(file, session, context).await)
}

/// Reads a piece of a file into the buffer of the session: without its holes where the protocol can, whole elsewhere.
async fn read_piece(
    file: FileRef,
    (offset, left): (u64, u64),
    has_hole: bool,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<u64, OpError> {
    let slot_bytes = session.buffer(SLOT).len() as u32;
    let len = left.min(slot_bytes.into()) as u32;
    if has_hole {
        let sparse = MetaOp::ReadSparse { file, offset, len };
        match context.deadline.call(session, sparse).await {
            Err(error) if error.class == ErrorClass::Unsupported => {}
            read => return read.and_then(MetaYield::into_bytes),
        }
    }
    let whole = DataOp::Read { file, offset, len };
    let len = request_splitting::max_transfer(session, whole, slot_bytes);
    let read = exchange(session, &mut context.deadline, DataOp::Read { file, offset, len }).await?;
    Ok(read.into())
}

/// What a file should hold, and how closely that is compared.
pub(crate) struct Expected {
    pub content: Content,
    pub size: u64,
    pub hole: Range<u64>,
    pub verify: Verify,
}

/// Opens a file, reads it whole and closes it. Returns the time that the requests took, nanoseconds: comparing the pieces
/// is not within it. The first difference is the error of the file.
pub(crate) async fn read(
    path: &str,
    expected: &Expected,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> (u64, Result<(), OpError>) {
    let mut started = context.clock.now();
    let (file, size) = match open(path, OpenHow::Read, session, context).await {
        Ok(opened) => opened,
        Err(error) => return (context.clock.now() - started, Err(error)),
    };
    let mut spent = 0;
    let mut offset = 0;
    let mut result = Ok(());
    if size != expected.size {
        result = Err(wrong(format!("'{path}' has {size} of {} bytes", expected.size)));
    }
    while result.is_ok() && offset < expected.size {
        let has_hole = !expected.hole.is_empty();
        let left = expected.size - offset;
        let read = read_piece(file, (offset, left), has_hole, session, context).await;
        let ended = context.clock.now();
        spent += ended - started;
        let Expected { content, hole, verify, .. } = expected;
        result = match read {
            Ok(0) => Err(wrong(format!("'{path}' ends at {offset} of {} bytes", expected.size))),
            Ok(bytes) => {
                let piece = session.buffer(SLOT).get(..bytes as usize).unwrap_or_default();
                let verified = sparse_content::verify(piece, *content, offset, hole, path, *verify);
                offset += bytes;
                verified
            }
            Err(error) => Err(error),
        };
        started = context.clock.now();
    }
    let closed = close(file, session, context).await;
    (spent + context.clock.now() - started, result.and(closed))
}

/// The operation of a server-side test on one entry, timed as one.
pub(crate) async fn operate(
    work: &MetadataWork,
    (source, path): (&str, &str),
    content: Content,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    if work.test == MetadataTest::SparseRead {
        let expected = Expected { content, size: work.entry_size, hole: work.hole(), verify: context.verify };
        let (spent, result) = read(path, &expected, session, context).await;
        let ended = context.clock.now();
        tally.operation(ended.saturating_sub(spent), ended);
        return tally.outcome(result);
    }
    let started = context.clock.now();
    let result = if work.test == MetadataTest::PunchHole {
        punch(path, work.hole(), session, context).await
    } else {
        copy(work.test, (source, path), work.entry_size, session, context).await
    };
    tally.operation(started, context.clock.now());
    tally.outcome(result)
}

/// Tries a test in the directory of the run; returns why the target rejects it.
pub(crate) async fn trial(
    test: MetadataTest,
    directory: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<Option<OpError>, OpError> {
    const SIZE: u64 = MetadataWork::SERVER_SIDE_UNIT;
    let source = format!("{directory}/from");
    let copied = format!("{directory}/to");
    create(&source, SOURCE, (SIZE, SIZE..SIZE), session, context).await?;
    let tried = if test == MetadataTest::PunchHole {
        punch(&source, SIZE / 4..SIZE / 2, session, context).await
    } else {
        copy(test, (&source, &copied), SIZE, session, context).await
    };
    if let Err(error) = &tried
        && error.class.ends_connection()
    {
        return Err(error.clone());
    }
    context.deadline.call(session, MetaOp::Remove { path: source }).await?;
    // A copy that failed may have made its file before.
    match context.deadline.call(session, MetaOp::Remove { path: copied }).await {
        Err(error) if error.class != ErrorClass::NotFound => return Err(error),
        _ => {}
    }
    Ok(tried.err())
}
