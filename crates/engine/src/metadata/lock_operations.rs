//! The single operations of the tests of locks, and whether a target supports them.

use sharebench_model::{ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpStep, OpenHow};
use sharebench_plan::{MetadataTest, MetadataWork};
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::metadata::directory_set::create_empty;
use crate::record::tally::Tally;

/// What a job locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lockable {
    /// The range of an open file that begins at this byte.
    Range(FileRef, u64),
    /// The only unit of the session's semaphore.
    Semaphore,
}

/// What a server answered against the rules of locks and share modes.
pub(crate) fn wrong(detail: &str) -> OpError {
    OpError::new(ErrorClass::DataMismatch, OpStep::Reply, detail)
}

pub(crate) async fn open(
    path: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<FileRef, OpError> {
    let opened = context.deadline.call(session, MetaOp::open(path, OpenHow::ReadWrite)).await;
    opened.and_then(MetaYield::into_opened).map(|(file, _)| file)
}

/// Opens a file and denies it to others.
pub(crate) async fn open_denying(
    path: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<FileRef, OpError> {
    let opened = context.deadline.call(session, MetaOp::OpenDenying { path: path.to_owned() }).await;
    opened.and_then(MetaYield::into_opened).map(|(file, _)| file)
}

pub(crate) async fn close(
    file: FileRef,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    context.deadline.call(session, MetaOp::Close { file }).await.map(drop)
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
pub(crate) async fn open_semaphore(
    name: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    context.deadline.call(session, MetaOp::OpenSemaphore { name: name.to_owned() }).await.map(drop)
}

pub(crate) async fn close_semaphore(
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    context.deadline.call(session, MetaOp::CloseSemaphore).await.map(drop)
}

/// Locks a range of [`MetadataWork::LOCK_BYTES`], or takes the semaphore, for which the server always waits.
pub(crate) async fn lock(
    at: Lockable,
    wait: bool,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let lock = match at {
        Lockable::Range(file, offset) => MetaOp::Lock { file, offset, bytes: MetadataWork::LOCK_BYTES, wait },
        Lockable::Semaphore => MetaOp::WaitSemaphore,
    };
    context.deadline.call(session, lock).await.map(drop)
}

pub(crate) async fn unlock(
    at: Lockable,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let unlock = match at {
        Lockable::Range(file, offset) => MetaOp::Unlock { file, offset, bytes: MetadataWork::LOCK_BYTES },
        Lockable::Semaphore => MetaOp::SignalSemaphore,
    };
    context.deadline.call(session, unlock).await.map(drop)
}

/// Locks a range that nobody else locks and unlocks it, timed as one operation.
pub(crate) async fn lock_and_unlock(
    at: Lockable,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    let started = context.clock.now();
    let result = match lock(at, false, session, context).await {
        Ok(()) => unlock(at, session, context).await,
        Err(error) if error.class == ErrorClass::Busy => {
            Err(wrong("the server rejected the lock of a range that nobody else locks"))
        }
        Err(error) => Err(error),
    };
    tally.operation(started, context.clock.now());
    tally.outcome(result)
}

/// Opens a file that another session denies, timed. Only the rejection of the open is right.
pub(crate) async fn rejected_open(
    path: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    let started = context.clock.now();
    let opened = open(path, session, context).await;
    tally.operation(started, context.clock.now());
    let result = match opened {
        Err(error) if error.class == ErrorClass::Busy => Ok(()),
        Err(error) => Err(error),
        Ok(file) => {
            close(file, session, context).await?;
            Err(wrong("the server opened a file that another session denies"))
        }
    };
    tally.outcome(result)
}

async fn lock_once(
    at: Lockable,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    lock(at, false, session, context).await?;
    unlock(at, session, context).await
}

/// Opens a semaphore, takes its unit and returns it; returns why the target rejects that.
pub(crate) async fn trial_of_semaphore(
    name: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<Option<OpError>, OpError> {
    let tried = match open_semaphore(name, session, context).await {
        Ok(()) => {
            let tried = lock_once(Lockable::Semaphore, session, context).await;
            tried.and(close_semaphore(session, context).await)
        }
        Err(error) => Err(error),
    };
    match tried {
        Err(error) if error.class.ends_connection() => Err(error),
        tried => Ok(tried.err()),
    }
}

/// Tries what a test needs on a file in the directory of the run; returns why the target rejects it.
pub(crate) async fn trial(
    test: MetadataTest,
    directory: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<Option<OpError>, OpError> {
    if test == MetadataTest::Semaphore {
        return trial_of_semaphore(directory, session, context).await;
    }
    let path = format!("{directory}/locked");
    create_empty(session, path.clone(), context).await?;
    let tried = if test == MetadataTest::ShareConflict {
        match open_denying(&path, session, context).await {
            Ok(file) => close(file, session, context).await,
            Err(error) => Err(error),
        }
    } else {
        let file = open(&path, session, context).await?;
        let tried = lock_once(Lockable::Range(file, 0), session, context).await;
        tried.and(close(file, session, context).await)
    };
    if let Err(error) = &tried
        && error.class.ends_connection()
    {
        return Err(error.clone());
    }
    context.deadline.call(session, MetaOp::Remove { path }).await?;
    Ok(tried.err())
}
