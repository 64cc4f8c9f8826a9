//! The single operations of the tests of locks, and whether a target supports them.

use sharebench_model::{ErrorClass, FileRef, OpError, OpenHow, SessionOp};
use sharebench_plan::MetadataWork;

use crate::metadata::connected::Connected;
use crate::metadata::rejection::{Rejection, rejection};
use crate::metadata::wrong_reply::wrong;
use crate::record::tally::Tally;

/// What the jobs of a test of locks work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockSubject {
    /// A file of each job.
    OwnFile,
    /// One file of all jobs, with a range for each job.
    NeighbouringRanges,
    /// The same range of one file of all jobs.
    SameRange,
    /// One semaphore of all jobs.
    Semaphore,
    /// A file of each job, which its other session denies to others.
    DeniedFile,
}

/// What a job locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lockable {
    /// The range of an open file that begins at this byte.
    Range(FileRef, u64),
    /// The only unit of the session's semaphore.
    Semaphore,
}

/// Opens a file and denies it to others.
pub(crate) async fn open_denying(path: &str, at: &mut Connected<'_, '_>) -> Result<FileRef, OpError> {
    at.call_open(SessionOp::OpenDenying { path: path.to_owned() }).await
}

/// Most bytes of the name of a semaphore that are those of a path.
const SEMAPHORE_BYTES: usize = 100;

/// The end of a path as the name of a semaphore.
pub(crate) fn semaphore_name(path: &str) -> String {
    let mut from = path.len().saturating_sub(SEMAPHORE_BYTES);
    while !path.is_char_boundary(from) {
        from += 1;
    }
    path.get(from..).unwrap_or_default().to_owned()
}

/// Opens the semaphore of all jobs.
pub(crate) async fn open_semaphore(name: &str, at: &mut Connected<'_, '_>) -> Result<(), OpError> {
    at.call(SessionOp::OpenSemaphore { name: name.to_owned() }).await.map(drop)
}

pub(crate) async fn close_semaphore(at: &mut Connected<'_, '_>) -> Result<(), OpError> {
    at.call(SessionOp::CloseSemaphore).await.map(drop)
}

/// Locks a range of [`MetadataWork::LOCK_BYTES`], or takes the semaphore, for which the server always waits.
pub(crate) async fn lock(lockable: Lockable, wait: bool, at: &mut Connected<'_, '_>) -> Result<(), OpError> {
    let lock = match lockable {
        Lockable::Range(file, offset) => {
            SessionOp::Lock { file, offset, bytes: MetadataWork::LOCK_BYTES, wait }
        }
        Lockable::Semaphore => SessionOp::WaitSemaphore,
    };
    at.call(lock).await.map(drop)
}

pub(crate) async fn unlock(lockable: Lockable, at: &mut Connected<'_, '_>) -> Result<(), OpError> {
    let unlock = match lockable {
        Lockable::Range(file, offset) => SessionOp::Unlock { file, offset, bytes: MetadataWork::LOCK_BYTES },
        Lockable::Semaphore => SessionOp::SignalSemaphore,
    };
    at.call(unlock).await.map(drop)
}

/// Locks a range that nobody else locks and unlocks it, timed as one operation.
pub(crate) async fn lock_and_unlock(
    lockable: Lockable,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    let started = at.context.clock.now();
    let result = match lock(lockable, false, at).await {
        Ok(()) => unlock(lockable, at).await,
        Err(error) if error.class == ErrorClass::Busy => {
            Err(wrong("the server rejected the lock of a range that nobody else locks"))
        }
        Err(error) => Err(error),
    };
    tally.operation(started, at.context.clock.now());
    tally.outcome(result)
}

/// Opens a file that another session denies, timed. Only the rejection of the open is right.
pub(crate) async fn rejected_open(
    path: &str,
    at: &mut Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    let started = at.context.clock.now();
    let opened = at.open(path, OpenHow::ReadWrite).await;
    tally.operation(started, at.context.clock.now());
    let result = match opened {
        Err(error) if error.class == ErrorClass::Busy => Ok(()),
        Err(error) => Err(error),
        Ok((file, _)) => {
            at.close(file).await?;
            Err(wrong("the server opened a file that another session denies"))
        }
    };
    tally.outcome(result)
}

async fn lock_once(lockable: Lockable, at: &mut Connected<'_, '_>) -> Result<(), OpError> {
    lock(lockable, false, at).await?;
    unlock(lockable, at).await
}

/// Opens a semaphore, takes its unit and returns it.
pub(crate) async fn try_semaphore(name: &str, at: &mut Connected<'_, '_>) -> Result<Rejection, OpError> {
    let tried = match open_semaphore(name, at).await {
        Ok(()) => {
            let tried = lock_once(Lockable::Semaphore, at).await;
            tried.and(close_semaphore(at).await)
        }
        Err(error) => Err(error),
    };
    rejection(tried)
}

/// Locks a range of a file in the directory of the run.
pub(crate) async fn try_lock(directory: &str, at: &mut Connected<'_, '_>) -> Result<Rejection, OpError> {
    let path = format!("{directory}/locked");
    at.create_empty(&path).await?;
    let (file, _) = at.open(&path, OpenHow::ReadWrite).await?;
    let tried = lock_once(Lockable::Range(file, 0), at).await;
    let rejection = rejection(tried.and(at.close(file).await))?;
    at.remove(path).await?;
    Ok(rejection)
}

/// Denies a file in the directory of the run to others.
pub(crate) async fn try_denying(directory: &str, at: &mut Connected<'_, '_>) -> Result<Rejection, OpError> {
    let path = format!("{directory}/locked");
    at.create_empty(&path).await?;
    let tried = match open_denying(&path, at).await {
        Ok(file) => at.close(file).await,
        Err(error) => Err(error),
    };
    let rejection = rejection(tried)?;
    at.remove(path).await?;
    Ok(rejection)
}
