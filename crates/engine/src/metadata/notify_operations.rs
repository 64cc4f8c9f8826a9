//! The single operations of the test of notifications, and whether a target supports it.

use sharebench_model::{ChangeKind, ErrorClass, FileRef, MetaOp, MetaYield, NameChange, OpError, OpenHow};
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::metadata::lock_operations::{close, wrong};

/// A session with what its operations need.
pub(crate) type Connected<'s, 'c> = (&'s mut dyn Session, &'s mut PassContext<'c>);

pub(crate) async fn open_directory(
    path: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<FileRef, OpError> {
    let opened = context.deadline.call(session, MetaOp::OpenDirectory { path: path.to_owned() }).await;
    opened.and_then(MetaYield::into_opened).map(|(file, _)| file)
}

/// Has the server report the next change; it has accepted that when this returns.
pub(crate) async fn watch(
    file: FileRef,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    context.deadline.call(session, MetaOp::Watch { file }).await.map(drop)
}

/// Performs an operation with one session while another one awaits the report of it. Returns the result, the instant at
/// which the report arrived in nanoseconds, and whether the report is the expected one.
///
/// Both are polled together, because the report may arrive before the reply to the operation. If the operation fails, the
/// wait ends without a report.
///
/// # Errors
/// The operation failed.
pub(crate) async fn change(
    op: MetaOp,
    expected: &NameChange,
    watched: FileRef,
    (session, context): Connected<'_, '_>,
    (watcher, watching): Connected<'_, '_>,
) -> Result<(MetaYield, u64, Result<(), OpError>), OpError> {
    let clock = context.clock;
    let noticed = async {
        let changes = watching.deadline.call(watcher, MetaOp::AwaitChange { file: watched }).await;
        Ok((changes, clock.now()))
    };
    let (done, (changes, at)) = tokio::try_join!(context.deadline.call(session, op), noticed)?;
    Ok((
        done,
        at,
        changes.and_then(MetaYield::into_changes).map_or_else(missing, |changes| check(&changes, expected)),
    ))
}

/// A change that was not reported in time is what the test looks for, and no trouble with the connection.
fn missing(error: OpError) -> Result<(), OpError> {
    if error.class == ErrorClass::Timeout {
        return Err(wrong("the server did not notify the watcher of a change"));
    }
    Err(error)
}

/// A report without names is a notification too: the watcher lists the directory.
fn check(changes: &[NameChange], expected: &NameChange) -> Result<(), OpError> {
    let is_named = changes.is_empty() || changes.contains(expected);
    if is_named && changes.iter().all(|change| change.name == expected.name) {
        return Ok(());
    }
    Err(wrong("the server notified the watcher of something else than the change"))
}

pub(crate) fn creation(path: &str, name: &str) -> (MetaOp, NameChange) {
    let change = NameChange { name: name.to_owned(), kind: ChangeKind::Added };
    (MetaOp::open(path, OpenHow::CreateNew), change)
}

pub(crate) fn removal(path: &str, name: &str) -> (MetaOp, NameChange) {
    let change = NameChange { name: name.to_owned(), kind: ChangeKind::Removed };
    (MetaOp::Remove { path: path.to_owned() }, change)
}

/// Has the server watch the directory of the run, and cancels that; returns why the target rejects it.
pub(crate) async fn trial(
    directory: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<Option<OpError>, OpError> {
    let tried = match open_directory(directory, session, context).await {
        Ok(file) => {
            let tried = watch(file, session, context).await;
            tried.and(close(file, session, context).await)
        }
        Err(error) => Err(error),
    };
    match tried {
        Err(error) if error.class.ends_connection() => Err(error),
        tried => Ok(tried.err()),
    }
}
