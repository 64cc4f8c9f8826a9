//! Work of a server by itself: it copies and clones files and makes holes, and its files with holes are read.

use std::ops::Range;

use sharebench_model::{DataOp, ErrorClass, FileRef, MetaYield, OpError, OpenHow, SessionOp};
use sharebench_plan::{MetadataWork, Verify};

use crate::data::request_splitting;
use crate::data::stamp::Content;
use crate::metadata::connected::Connected;
use crate::metadata::rejection::{Rejection, rejection};
use crate::metadata::sparse_content;
use crate::metadata::wrong_reply::wrong;
use crate::record::request::{SLOT, exchange, write_next};

/// The content of the file that is copied: of no entry.
pub(crate) const SOURCE: Content = Content { file: u32::MAX, generation: 1, kind: None };

/// Creates a file with content, but for its hole, unmeasured.
pub(crate) async fn create(
    path: &str,
    content: Content,
    size: u64,
    hole: Range<u64>,
    at: &mut Connected<'_, '_>,
) -> Result<(), OpError> {
    let (file, _) = at.open(path, OpenHow::CreateNew).await?;
    let mut written = Ok(());
    for part in [0..hole.start, hole.end.max(hole.start)..size] {
        let mut offset = part.start;
        while written.is_ok() && offset < part.end {
            let deadline = &mut at.context.deadline;
            match write_next(at.session, deadline, file, offset..part.end, content).await {
                Ok(len) => offset += u64::from(len),
                Err(error) => written = Err(error),
            }
        }
    }
    written.and(at.close(file).await)
}

/// How a server makes a new file from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyMethod {
    /// The data is copied.
    Copy,
    /// The storage is shared.
    Clone,
}

/// Opens the source, makes the new file, lets the server copy or clone, and closes both.
pub(crate) async fn copy(
    method: CopyMethod,
    source: &str,
    path: &str,
    size: u64,
    at: &mut Connected<'_, '_>,
) -> Result<(), OpError> {
    let (from, found) = at.open(source, OpenHow::Read).await?;
    let copied = match at.open(path, OpenHow::CreateNew).await {
        Ok(_) if found != size => Err(wrong(format!("the source has {found} of {size} bytes"))),
        Ok((to, _)) => {
            let copied = match method {
                CopyMethod::Clone => at.call(SessionOp::CloneRange { from, to, bytes: size }).await.map(drop),
                CopyMethod::Copy => copy_all(from, to, size, at).await,
            };
            copied.and(at.close(to).await)
        }
        Err(error) => Err(error),
    };
    copied.and(at.close(from).await)
}

async fn copy_all(from: FileRef, to: FileRef, size: u64, at: &mut Connected<'_, '_>) -> Result<(), OpError> {
    let mut offset = 0;
    while offset < size {
        let bytes = size - offset;
        let copy = SessionOp::CopyRange { from, to, offset, bytes };
        match at.call(copy).await.and_then(MetaYield::into_bytes)? {
            0 => return Err(wrong(format!("the server copied {offset} of {size} bytes"))),
            copied => offset += copied.min(bytes),
        }
    }
    Ok(())
}

/// Opens a file, makes its hole, and closes it.
pub(crate) async fn punch(path: &str, hole: Range<u64>, at: &mut Connected<'_, '_>) -> Result<(), OpError> {
    let (file, _) = at.open(path, OpenHow::ReadWrite).await?;
    let punch = SessionOp::PunchHole { file, offset: hole.start, bytes: hole.end - hole.start };
    let punched = at.call(punch).await.map(drop);
    punched.and(at.close(file).await)
}

/// Reads the next piece of a file into the buffer of the session: without its holes where the protocol can, whole elsewhere.
async fn read_piece(
    file: FileRef,
    part: Range<u64>,
    has_hole: bool,
    at: &mut Connected<'_, '_>,
) -> Result<u64, OpError> {
    let offset = part.start;
    let slot_bytes = at.session.buffer(SLOT).len() as u32;
    let len = (part.end - offset).min(slot_bytes.into()) as u32;
    if has_hole {
        match at.call(SessionOp::ReadSparse { file, offset, len }).await {
            Err(error) if error.class == ErrorClass::Unsupported => {}
            read => return read.and_then(MetaYield::into_bytes),
        }
    }
    let whole = DataOp::Read { file, offset, len };
    let len = request_splitting::max_transfer(at.session, whole, slot_bytes);
    let op = DataOp::Read { file, offset, len };
    Ok(exchange(at.session, &mut at.context.deadline, op).await?.into())
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
    at: &mut Connected<'_, '_>,
) -> (u64, Result<(), OpError>) {
    let clock = at.context.clock;
    let mut started = clock.now();
    let (file, size) = match at.open(path, OpenHow::Read).await {
        Ok(opened) => opened,
        Err(error) => return (clock.now() - started, Err(error)),
    };
    let mut spent = 0;
    let mut offset = 0;
    let mut result = Ok(());
    if size != expected.size {
        result = Err(wrong(format!("'{path}' has {size} of {} bytes", expected.size)));
    }
    while result.is_ok() && offset < expected.size {
        let read = read_piece(file, offset..expected.size, !expected.hole.is_empty(), at).await;
        let ended = clock.now();
        spent += ended - started;
        let Expected { content, hole, verify, .. } = expected;
        result = match read {
            Ok(0) => Err(wrong(format!("'{path}' ends at {offset} of {} bytes", expected.size))),
            Ok(bytes) => {
                let piece = at.session.buffer(SLOT).get(..bytes as usize).unwrap_or_default();
                let verified = sparse_content::verify(piece, *content, offset, hole, path, *verify);
                offset += bytes;
                verified
            }
            Err(error) => Err(error),
        };
        started = clock.now();
    }
    let closed = at.close(file).await;
    (spent + clock.now() - started, result.and(closed))
}

/// A copy of a file in the directory of the run, made and removed.
pub(crate) async fn try_copy(
    method: CopyMethod,
    directory: &str,
    at: &mut Connected<'_, '_>,
) -> Result<Rejection, OpError> {
    const SIZE: u64 = MetadataWork::SERVER_SIDE_UNIT;
    let source = format!("{directory}/from");
    let copied = format!("{directory}/to");
    create(&source, SOURCE, SIZE, SIZE..SIZE, at).await?;
    let rejection = rejection(copy(method, &source, &copied, SIZE, at).await)?;
    at.remove(source).await?;
    // A copy that failed may have made its file before.
    match at.remove(copied).await {
        Err(error) if error.class != ErrorClass::NotFound => Err(error),
        _ => Ok(rejection),
    }
}

/// A hole in a file in the directory of the run, which is removed.
pub(crate) async fn try_hole(directory: &str, at: &mut Connected<'_, '_>) -> Result<Rejection, OpError> {
    const SIZE: u64 = MetadataWork::SERVER_SIDE_UNIT;
    let path = format!("{directory}/from");
    create(&path, SOURCE, SIZE, SIZE..SIZE, at).await?;
    let rejection = rejection(punch(&path, SIZE / 4..SIZE / 2, at).await)?;
    at.remove(path).await?;
    Ok(rejection)
}
