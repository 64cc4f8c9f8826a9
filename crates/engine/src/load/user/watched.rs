//! Directories that a user has the server watch, and the reports of the user's own changes in them.

use std::future::ready;

use sharebench_model::{
    ChangeKind, ErrorClass, FileRef, MetaOp, MetaYield, NameChange, OpError, OpStep, OpenHow, SessionOp,
};

use crate::load::user::virtual_user::VirtualUser;
use crate::record::operation_kind::OperationKind;

/// First and longest time that a priming change waits for a report. It doubles from one to the next.
const PRIMING_NS: (u64, u64) = (2_000_000, 200_000_000);
/// Most reports of earlier changes that a request discards before the user makes its change.
const MAX_EARLIER_REPORTS: u32 = 100;

/// A directory that a user keeps open, so that the server collects its changes.
///
/// It is opened before the first window of the user and *primed*: some servers answer that a request is pending before they watch
/// the directory, so that the first changes after the open are lost (docs/measure/locks.md). It stays open while the user is logged on,
/// and a failed transaction that has left a request closes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WatchedDirectory {
    file: FileRef,
    /// A report is requested that has not been received.
    is_requested: bool,
}

/// A change that a transaction has made, and whose report it may await.
#[derive(Debug, Clone)]
pub(crate) struct OwnChange {
    /// The instant before the request of the change, in nanoseconds.
    pub started: u64,
    /// The path that is new, or gone.
    pub path: String,
    pub kind: ChangeKind,
}

impl OwnChange {
    /// True if a report contains the change. A report without names says that something has changed, so that the user lists the
    /// directory.
    fn is_in(&self, report: &[NameChange]) -> bool {
        let name = self.path.rsplit_once('/').map_or(&*self.path, |(_, name)| name);
        report.is_empty() || report.iter().any(|change| change.name == name && change.kind == self.kind)
    }
}

fn unreported() -> OpError {
    OpError::new(ErrorClass::Timeout, OpStep::Reply, "the server did not report the change")
}

impl VirtualUser<'_> {
    /// Opens the directories that transactions of the user watch, and primes them.
    pub(crate) async fn open_watched(&mut self) -> Result<(), OpError> {
        let thread = self.thread;
        for transaction in thread.work.workload.transactions.iter().filter(|t| t.watches()) {
            if let Some(file) = self.pick(transaction) {
                self.prime(&self.directory_of(file)).await?;
            }
        }
        Ok(())
    }

    /// Closes what [`Self::open_watched`] opened.
    pub(crate) async fn close_watched(&mut self) {
        for WatchedDirectory { file, .. } in std::mem::take(&mut self.watched).into_values() {
            // The session is closed next, which closes it as well.
            let _ = self.call(MetaOp::Close { file }).await;
        }
    }

    /// Requests a report of the next changes in a directory, timed and counted. What the server has collected since the last
    /// report is discarded, so that it is not taken for the report of the change that follows.
    pub(crate) async fn watch(&mut self, directory: &str) -> Result<(), OpError> {
        // Only after a failure it is not open.
        self.prime(directory).await?;
        let started = self.thread.clock.now();
        let result = self.request_next_report(directory).await;
        self.count(OperationKind::Watch, started, result.as_ref().err(), 0);
        result
    }

    /// Waits for the report of a change of this transaction, timed from the request of the change, and counted.
    ///
    /// # Errors
    /// It has not arrived within the timeout of an operation. The session is lost then, as after any timeout, so that no late report
    /// is taken for another one.
    pub(crate) async fn notified(&mut self, directory: &str, change: &OwnChange) -> Result<(), OpError> {
        let result = self.own_report(directory, change).await;
        self.count(OperationKind::Notify, change.started, result.as_ref().err(), 0);
        result
    }

    async fn own_report(&mut self, directory: &str, change: &OwnChange) -> Result<(), OpError> {
        let end = change.started.saturating_add(self.thread.timeout.as_nanos() as u64);
        loop {
            let report = self.report_by(directory, end).await?.ok_or_else(unreported)?;
            if change.is_in(&report) {
                return Ok(());
            }
            // It has the changes of other users only.
            self.request_report(directory).await?;
        }
    }

    /// Closes a directory in which a failed transaction may have left a request; the next transaction opens it again.
    pub(crate) async fn end_watch(&mut self, directory: &str) {
        if let Some(WatchedDirectory { file, .. }) = self.watched.remove(directory) {
            // The earlier failure is the one to report.
            let _ = self.call(MetaOp::Close { file }).await;
        }
    }

    /// Opens a directory unless it is open, and changes it until the server reports a change. Nothing of it is measured, and a
    /// stopped run ends it early.
    async fn prime(&mut self, directory: &str) -> Result<(), OpError> {
        if self.watched.contains_key(directory) {
            return Ok(());
        }
        let opened = self.call(SessionOp::OpenDirectory { path: directory.to_owned() }).await;
        let (file, _) = opened.and_then(MetaYield::into_opened)?;
        self.watched.insert(directory.to_owned(), WatchedDirectory { file, is_requested: false });
        let clock = self.thread.clock;
        let end = clock.now().saturating_add(self.thread.timeout.as_nanos() as u64);
        let (mut wait_ns, longest_ns) = PRIMING_NS;
        self.request_report(directory).await?;
        while !self.thread.stop.is_stopped() {
            self.own.made += 1;
            self.make_and_remove(format!("{directory}/w{}-{}", self.number, self.own.made)).await?;
            // That of another user shows as well that the server watches the directory.
            if self.report_by(directory, clock.now() + wait_ns).await?.is_some() {
                break;
            }
            if clock.now() >= end {
                return Err(unreported());
            }
            wait_ns = longest_ns.min(wait_ns * 2);
        }
        Ok(())
    }

    async fn make_and_remove(&mut self, path: String) -> Result<(), OpError> {
        let file = self.open_unmeasured(path.clone(), OpenHow::CreateNew).await?;
        let closed = self.call(MetaOp::Close { file }).await;
        let removed = self.call(MetaOp::Remove { path }).await;
        closed.and(removed).map(drop)
    }

    fn watched(&mut self, directory: &str) -> Result<&mut WatchedDirectory, OpError> {
        self.watched.get_mut(directory).ok_or_else(OpError::not_open)
    }

    /// Has the server report the next changes, unless that is requested already.
    async fn request_report(&mut self, directory: &str) -> Result<(), OpError> {
        let WatchedDirectory { file, is_requested } = *self.watched(directory)?;
        if !is_requested {
            self.call(SessionOp::Watch { file }).await?;
            self.watched(directory)?.is_requested = true;
        }
        Ok(())
    }

    /// Requests a report and discards those that the server has at hand.
    async fn request_next_report(&mut self, directory: &str) -> Result<(), OpError> {
        for _ in 0..MAX_EARLIER_REPORTS {
            self.request_report(directory).await?;
            let WatchedDirectory { file, .. } = *self.watched(directory)?;
            let at_hand = tokio::select! {
                biased;
                report = self.session_mut()?.call(SessionOp::AwaitChange { file }) => Some(report.result),
                () = ready(()) => None,
            };
            let Some(report) = at_hand else { return Ok(()) };
            report?;
            self.watched(directory)?.is_requested = false;
        }
        // Other users change the directory faster than this user can read the reports, so that its own change is in a later one.
        self.request_report(directory).await
    }

    /// The requested report; none if it does not arrive by `end`.
    async fn report_by(&mut self, directory: &str, end: u64) -> Result<Option<Vec<NameChange>>, OpError> {
        let WatchedDirectory { file, .. } = *self.watched(directory)?;
        let clock = self.thread.clock;
        let report = tokio::select! {
            biased;
            report = self.session_mut()?.call(SessionOp::AwaitChange { file }) => report.result,
            () = clock.sleep_coarse(end) => return Ok(None),
        };
        let changes = report.and_then(MetaYield::into_changes)?;
        self.watched(directory)?.is_requested = false;
        Ok(Some(changes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_contains_the_change_by_name_and_kind_or_has_no_names() {
        let change = OwnChange { started: 0, path: "a/b/n1-2".into(), kind: ChangeKind::Removed };
        let reported = |name: &str, kind| NameChange { name: name.to_owned(), kind };
        let own = reported("n1-2", ChangeKind::Removed);
        let others = [reported("n1-2", ChangeKind::Added), reported("n1-3", ChangeKind::Removed)];
        assert!(change.is_in(&[]) && change.is_in(std::slice::from_ref(&own)));
        assert!(!change.is_in(&others));
        assert!(change.is_in(&[others.to_vec(), vec![own]].concat()));
    }
}
