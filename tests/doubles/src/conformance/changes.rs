//! The step of notifications: a session that watches a directory learns the names that another one changes.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use sharebench_model::{ChangeKind, FileRef, MetaOp, MetaYield, NameChange, SessionOp};

use super::ground::Ground;
use super::probe::Probe;

/// How long a change of priming waits for its report.
const PRIMING: Duration = Duration::from_millis(20);
/// What the names of priming begin with.
const PRIMED: &str = "priming-";

/// Creates and removes names until the directory is watched: a server may answer that the request is pending before it is. The
/// deadline of the step limits it.
async fn prime(
    watcher: &mut Probe,
    file: FileRef,
    other: &mut Probe,
    ground: &Ground<'_>,
) -> Result<(), String> {
    watcher.done(SessionOp::Watch { file }).await?;
    for number in 0.. {
        let path = ground.path(&format!("{PRIMED}{number}"));
        other.put(&path, &[]).await?;
        other.done(MetaOp::Remove { path }).await?;
        let report = tokio::time::timeout(PRIMING, watcher.call(SessionOp::AwaitChange { file })).await;
        match report.map(|report| report.and_then(MetaYield::into_changes)) {
            Ok(Ok(changes)) if changes.iter().all(|change| change.name.starts_with(PRIMED)) => break,
            Ok(found) => return Err(format!("{found:?} instead of a change of priming")),
            Err(_) => {}
        }
    }
    // Changes are reported in their order, so that none of priming follows the last one.
    let path = ground.path(&format!("{PRIMED}last"));
    other.put(&path, &[]).await?;
    other.done(MetaOp::Remove { path }).await?;
    loop {
        watcher.done(SessionOp::Watch { file }).await?;
        let changes = watcher.call(SessionOp::AwaitChange { file }).await.and_then(MetaYield::into_changes);
        let changes = changes.map_err(|error| format!("the report of priming: {error}"))?;
        let last = NameChange { name: format!("{PRIMED}last"), kind: ChangeKind::Removed };
        if changes.is_empty() || changes.contains(&last) {
            return Ok(());
        }
    }
}

/// Waits for the report and compares it; one without names says only that something has changed.
async fn expect_change(
    watcher: &mut Probe,
    file: FileRef,
    name: &str,
    kind: ChangeKind,
) -> Result<(), String> {
    let changes = watcher.call(SessionOp::AwaitChange { file }).await.and_then(MetaYield::into_changes);
    let changes = changes.map_err(|error| format!("the report of '{name}': {error}"))?;
    let expected = NameChange { name: name.to_owned(), kind };
    if changes.is_empty() || changes.contains(&expected) {
        return Ok(());
    }
    Err(format!("{changes:?} instead of {expected:?}"))
}

/// Abandons the wait for a report that does not come.
async fn expect_silence(watcher: &mut Probe, file: FileRef) -> Result<(), String> {
    let mut report = pin!(watcher.call(SessionOp::AwaitChange { file }));
    match poll_fn(|cx| Poll::Ready(report.as_mut().poll(cx))).await {
        Poll::Pending => Ok(()),
        Poll::Ready(found) => Err(format!("a report without a change: {found:?}")),
    }
}

/// Where a target has notifications, a watched directory reports new and removed names, to a session that may do other
/// things meanwhile; a closed directory reports nothing.
pub(super) async fn notifications(ground: &Ground<'_>) -> Result<(), String> {
    let mut watcher = ground.enter().await?;
    let directory = SessionOp::OpenDirectory { path: ground.path("") };
    let file = match watcher.call(directory.clone()).await {
        Ok(MetaYield::Opened { file, .. }) => file,
        Err(error) if error.class.ends_connection() => return Err(format!("{directory:?}: {error}")),
        Err(_) => return ground.finish(watcher).await,
        Ok(found) => return Err(format!("{directory:?} returned {found:?}")),
    };
    let mut other = ground.connect(1).await?;
    prime(&mut watcher, file, &mut other, ground).await?;
    let path = ground.path("changed");
    watcher.done(SessionOp::Watch { file }).await?;
    expect_silence(&mut watcher, file).await?;
    watcher.stat(&ground.path("")).await?;
    let created = other.create(&path).await?;
    expect_change(&mut watcher, file, "changed", ChangeKind::Added).await?;
    other.done(MetaOp::Close { file: created }).await?;
    watcher.done(SessionOp::Watch { file }).await?;
    other.done(MetaOp::Remove { path }).await?;
    expect_change(&mut watcher, file, "changed", ChangeKind::Removed).await?;
    if watcher.call(SessionOp::AwaitChange { file }).await.is_ok() {
        return Err("a report that nobody has requested".to_owned());
    }
    // The request is pending, and closing cancels it.
    watcher.done(SessionOp::Watch { file }).await?;
    watcher.done(MetaOp::Close { file }).await?;
    watcher.stat(&ground.path("")).await?;
    ground.finish(other).await?;
    ground.finish(watcher).await
}
