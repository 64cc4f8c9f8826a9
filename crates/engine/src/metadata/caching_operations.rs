//! The single operations of the tests of leases and delegations, and whether a target supports them.

use sharebench_model::{CacheRight, ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpStep};
use sharebench_plan::MetadataTest;
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::metadata::directory_set::create_empty;
use crate::metadata::lock_operations::{close, open, wrong};
use crate::record::tally::Tally;

/// A session with what its operations need.
type Connected<'s, 'c> = (&'s mut dyn Session, &'s mut PassContext<'c>);

/// Opens a file with a request for the right to cache it, as the test requires.
pub(crate) async fn open_to_cache(
    test: MetadataTest,
    path: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(FileRef, CacheRight), OpError> {
    let path = path.to_owned();
    let op =
        if test.is_of_delegations() { MetaOp::OpenDelegated { path } } else { MetaOp::OpenLeased { path } };
    context.deadline.call(session, op).await.and_then(MetaYield::into_right)
}

/// Fails with this class if the right is not enough for the test. An open for writing takes back a delegation for reading, but no lease that
/// caches only reads: that one is broken by a write.
fn check_right(test: MetadataTest, right: CacheRight, otherwise: ErrorClass) -> Result<(), OpError> {
    let detail = match (test, right) {
        (MetadataTest::DelegationGrant | MetadataTest::DelegationRecall, CacheRight::None) => {
            "the server granted no delegation"
        }
        (_, CacheRight::None) => "the server granted no lease and no oplock",
        (MetadataTest::LeaseBreak, CacheRight::Reads) => {
            "the server granted no lease or oplock on writes, and an open breaks no other one"
        }
        _ => return Ok(()),
    };
    Err(OpError::new(otherwise, OpStep::Reply, detail))
}

/// Opens a file to cache it and closes it, timed as one operation. An open without the right is a failure of the class busy, so
/// that the share of these opens is reported, and the numbers are valid.
pub(crate) async fn open_and_close(
    test: MetadataTest,
    path: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    let started = context.clock.now();
    let result = match open_to_cache(test, path, session, context).await {
        Ok((file, right)) => {
            let closed = close(file, session, context).await;
            closed.and(check_right(test, right, ErrorClass::Busy))
        }
        Err(error) => Err(error),
    };
    tally.operation(started, context.clock.now());
    tally.outcome(result)
}

/// Opens a file with one session to cache it, and with another one in a way that takes the right back. The second open is
/// timed. Both sessions close the file, whatever happened.
///
/// # Errors
/// An operation failed, or the server has not granted the right (class busy), or has not taken it back.
pub(crate) async fn take_back(
    test: MetadataTest,
    path: &str,
    (holder, holding): Connected<'_, '_>,
    (session, context): Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    let (held, right) = open_to_cache(test, path, holder, holding).await?;
    let taken = match check_right(test, right, ErrorClass::Busy) {
        Ok(()) => {
            open_against(path, held, (&mut *holder, &mut *holding), (&mut *session, &mut *context), tally)
                .await
        }
        Err(error) => Err(error),
    };
    let closed = match &taken {
        Ok(file) => close(*file, session, context).await,
        Err(_) => Ok(()),
    };
    let released = close(held, holder, holding).await;
    taken.and(closed).and(released)
}

/// The same on a file that is made for it and removed afterwards: a server that has recalled the delegation of a file grants no
/// other one of it for some time.
pub(crate) async fn recall_of_new_file(
    test: MetadataTest,
    path: String,
    holder: Connected<'_, '_>,
    (session, context): Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<(), OpError> {
    create_empty(session, path.clone(), context).await?;
    let taken = take_back(test, &path, holder, (&mut *session, &mut *context), tally).await;
    let removed = context.deadline.call(session, MetaOp::Remove { path }).await;
    taken.and(removed.map(drop))
}

/// Opens a file for writing while its holder waits to give its right back.
async fn open_against(
    path: &str,
    held: FileRef,
    (holder, holding): Connected<'_, '_>,
    (session, context): Connected<'_, '_>,
    tally: &mut Tally,
) -> Result<FileRef, OpError> {
    let clock = context.clock;
    let started = clock.now();
    let given_back = async { Ok(give_back_when_recalled(held, (holder, holding)).await) };
    let opened = async {
        let file = open(path, session, context).await?;
        Ok::<_, OpError>((file, clock.now()))
    };
    // If the open fails, the holder does not wait any longer.
    let ((file, at), given_back) = tokio::try_join!(opened, given_back)?;
    tally.operation(started, at);
    match given_back {
        Ok(()) => Ok(file),
        Err(error) => {
            close(file, session, context).await?;
            Err(not_taken_back(error))
        }
    }
}

/// Waits until the server takes back the right of a file, and gives it back.
async fn give_back_when_recalled(file: FileRef, (holder, holding): Connected<'_, '_>) -> Result<(), OpError> {
    holding.deadline.call(holder, MetaOp::AwaitRecall { file }).await?;
    holding.deadline.call(holder, MetaOp::GiveBack { file }).await.map(drop)
}

/// A right that is not taken back in time is what the test looks for, and no trouble with the connection.
fn not_taken_back(error: OpError) -> OpError {
    if error.class == ErrorClass::Timeout {
        return wrong("the server opened the file without taking back the right to cache it");
    }
    error
}

/// Opens a file in the directory of the run to cache it; returns why the target rejects the test.
pub(crate) async fn trial(
    test: MetadataTest,
    directory: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<Option<OpError>, OpError> {
    let path = format!("{directory}/cached");
    create_empty(session, path.clone(), context).await?;
    let tried = match open_to_cache(test, &path, session, context).await {
        Ok((file, right)) => {
            close(file, session, context).await.and(check_right(test, right, ErrorClass::Unsupported))
        }
        Err(error) => Err(error),
    };
    if let Err(error) = &tried
        && error.class.ends_connection()
    {
        return Err(error.clone());
    }
    context.deadline.call(session, MetaOp::Remove { path }).await?;
    Ok(tried.err())
}
