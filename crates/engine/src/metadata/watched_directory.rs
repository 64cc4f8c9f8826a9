//! A directory that one session changes and another one watches, and the changes of it.

use sharebench_model::{
    ChangeKind, ErrorClass, FileRef, MetaOp, MetaYield, NameChange, OpError, OpenHow, SessionOp,
};

use crate::metadata::connected::Connected;
use crate::metadata::entry_names::{EntryKind, entry_name, parse_name};
use crate::metadata::notify_operations::watch;
use crate::metadata::wrong_reply::wrong;
use crate::record::tally::Tally;

/// First and longest time that a priming change waits for its report. It doubles from one to the next.
const PRIMING_NS: (u64, u64) = (2_000_000, 200_000_000);
/// Reports of priming changes that may arrive after priming. A server that sends more reports what nobody did.
const MAX_LATE_REPORTS: u32 = 100;

/// A directory that is open for a watcher, with the session that changes it.
///
/// A server may answer that a request for a notification is pending before it watches the directory: Samba waits for the
/// process that has the descriptors of inotify. The first changes after the directory was opened are then lost. So a round begins
/// with *priming*: changes with names of their own until the server reports one of them. A report of a priming change that
/// arrives later is not taken for a report of a measured change.
pub(crate) struct WatchedDirectory<'s, 'c> {
    pub path: &'s str,
    pub file: FileRef,
    pub name_length: u32,
    /// Number of the next name. It grows over all rounds, so that a late report is not taken for that of the next change.
    pub next: &'s mut u32,
    pub changer: Connected<'s, 'c>,
    pub watcher: Connected<'s, 'c>,
}

impl WatchedDirectory<'_, '_> {
    fn next_name(&mut self, kind: EntryKind) -> String {
        let name = entry_name(kind, *self.next, self.name_length);
        // The digits of the shortest name.
        *self.next = (*self.next + 1) % 10_000_000;
        name
    }

    fn path_of(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// Changes the directory until the server has reported a change, and then once more until it reports exactly that change. A
    /// stopped run ends it early.
    ///
    /// # Errors
    /// A change failed, was not reported within the deadline of an operation, or something else was reported. It ends the round.
    pub async fn prime(&mut self, unmeasured: &mut Tally) -> Result<(), OpError> {
        let clock = self.changer.context.clock;
        let end = clock.now().saturating_add(self.watcher.context.deadline.limit().as_nanos() as u64);
        let (mut wait_ns, longest_ns) = PRIMING_NS;
        self.watch().await?;
        loop {
            let name = self.next_name(EntryKind::Priming);
            let changed = self.change_unreported(&name).await;
            if changed.is_err() {
                self.remove(&name, unmeasured).await;
            }
            changed?;
            if self.changer.context.stop.is_stopped() {
                return Ok(());
            }
            if let Some(changes) = self.report_within(wait_ns).await? {
                // All of them are of priming, and the change that follows is expected.
                check(&changes, None, self.name_length)?;
                break;
            }
            if clock.now() >= end {
                return Err(unreported());
            }
            wait_ns = longest_ns.min(wait_ns * 2);
        }
        self.create_and_remove(EntryKind::Priming, unmeasured).await
    }

    /// Creates a name and removes it again. The creation is measured from its start to the report of it.
    ///
    /// # Errors
    /// A change failed or was not reported. It may have left a request, so that the round ends.
    pub async fn create_and_remove(&mut self, kind: EntryKind, tally: &mut Tally) -> Result<(), OpError> {
        let name = self.next_name(kind);
        self.watch().await?;
        let done = self.reported_cycle(&name, tally).await;
        if done.is_err() {
            self.remove(&name, tally).await;
        }
        done
    }

    async fn reported_cycle(&mut self, name: &str, tally: &mut Tally) -> Result<(), OpError> {
        let path = self.path_of(name);
        let expected = NameChange { name: name.to_owned(), kind: ChangeKind::Added };
        let started = self.changer.context.clock.now();
        let create = MetaOp::open(path.clone(), OpenHow::CreateNew);
        let (created, noticed_at, noticed) = self.change(create, &expected).await?;
        tally.operation(started, noticed_at);
        let (file, _) = MetaYield::into_opened(created)?;
        self.changer.close(file).await?;
        noticed?;
        self.watch().await?;
        let expected = NameChange { kind: ChangeKind::Removed, ..expected };
        let (_, _, noticed) = self.change(MetaOp::Remove { path }, &expected).await?;
        noticed
    }

    async fn watch(&mut self) -> Result<(), OpError> {
        watch(self.file, &mut self.watcher).await
    }

    /// Performs an operation with one session while the other one awaits the report of it. Returns the result, the instant at
    /// which the report arrived in nanoseconds, and whether the report is the expected one.
    ///
    /// Both are polled together, because the report may arrive before the reply to the operation. If the operation fails, the
    /// wait ends without a report.
    ///
    /// # Errors
    /// The operation failed.
    async fn change(
        &mut self,
        op: MetaOp,
        expected: &NameChange,
    ) -> Result<(MetaYield, u64, Result<(), OpError>), OpError> {
        let Self { file, changer, watcher, .. } = self;
        let clock = changer.context.clock;
        let noticed = async {
            let noticed = expected_report(*file, expected, watcher).await;
            Ok((clock.now(), noticed))
        };
        let (done, (at, noticed)) = tokio::try_join!(changer.call(op), noticed)?;
        Ok((done, at, noticed))
    }

    /// Creates a name and removes it again, whether the server reports it or not.
    async fn change_unreported(&mut self, name: &str) -> Result<(), OpError> {
        let path = self.path_of(name);
        self.changer.create_empty(path.clone()).await?;
        self.changer.remove(path).await
    }

    /// The report that is requested, unless the time is over before it arrives.
    async fn report_within(&mut self, nanos: u64) -> Result<Option<Vec<NameChange>>, OpError> {
        let clock = self.watcher.context.clock;
        let report = self.watcher.call(SessionOp::AwaitChange { file: self.file });
        tokio::select! {
            biased;
            report = report => report.and_then(MetaYield::into_changes).map(Some),
            () = clock.sleep_precise(clock.now() + nanos) => Ok(None),
        }
    }

    /// Removes what a failed operation may have left.
    async fn remove(&mut self, name: &str, tally: &mut Tally) {
        let path = self.path_of(name);
        match self.changer.remove(path).await {
            // The failure that ended the connection is counted already.
            Err(error) if error.class != ErrorClass::NotFound && !error.class.ends_connection() => {
                tally.failure(error);
            }
            _ => {}
        }
    }
}

/// Waits for the report of a change, after late reports of priming changes.
async fn expected_report(
    file: FileRef,
    expected: &NameChange,
    watcher: &mut Connected<'_, '_>,
) -> Result<(), OpError> {
    for _ in 0..=MAX_LATE_REPORTS {
        let report = watcher.call(SessionOp::AwaitChange { file }).await;
        let changes = match report.and_then(MetaYield::into_changes) {
            Ok(changes) => changes,
            // A change that was not reported in time is what the test looks for, and no trouble with the connection.
            Err(error) if error.class == ErrorClass::Timeout => return Err(unreported()),
            Err(error) => return Err(error),
        };
        if check(&changes, Some(expected), expected.name.len() as u32)? {
            return Ok(());
        }
        watch(file, watcher).await?;
    }
    Err(wrong("the server notified the watcher of old changes only"))
}

/// True if a report contains the expected change, or has no names: that is a notification too, because the watcher lists the
/// directory. False if it contains nothing but other priming changes, whose names have this number of bytes.
///
/// # Errors
/// It contains something that nobody changed.
fn check(changes: &[NameChange], expected: Option<&NameChange>, name_length: u32) -> Result<bool, OpError> {
    let is_of_priming = |change: &NameChange| {
        parse_name(&change.name, name_length).is_some_and(|(kind, _)| kind == EntryKind::Priming)
    };
    let is_known = |change: &NameChange| {
        is_of_priming(change) || expected.is_some_and(|expected| change.name == expected.name)
    };
    if !changes.iter().all(is_known) {
        return Err(wrong("the server notified the watcher of something else than the change"));
    }
    if changes.is_empty() || expected.is_some_and(|expected| changes.contains(expected)) {
        return Ok(true);
    }
    let is_other_kind = |change: &NameChange| expected.is_some_and(|expected| change.name == expected.name);
    if changes.iter().any(is_other_kind) {
        return Err(wrong("the server notified the watcher of something else than the change"));
    }
    Ok(false)
}

fn unreported() -> OpError {
    wrong("the server did not notify the watcher of a change")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, kind: ChangeKind) -> NameChange {
        NameChange { name: name.to_owned(), kind }
    }

    #[test]
    fn late_reports_of_priming_are_skipped_and_foreign_names_are_not() {
        let expected = change("p0000007", ChangeKind::Added);
        let primed = change("w0000003", ChangeKind::Removed);
        let of = |changes: &[&NameChange]| {
            let changes: Vec<_> = changes.iter().map(|change| (*change).clone()).collect();
            check(&changes, Some(&expected), 8).map_err(|error| error.class)
        };
        assert_eq!(of(&[]), Ok(true));
        assert_eq!(of(&[&expected]), Ok(true));
        assert_eq!(of(&[&primed, &expected]), Ok(true));
        assert_eq!(of(&[&primed, &primed]), Ok(false));
        for wrong in [
            change("p0000007", ChangeKind::Removed),
            change("p0000006", ChangeKind::Added),
            change("w3", ChangeKind::Added),
        ] {
            assert_eq!(of(&[&wrong]), Err(ErrorClass::DataMismatch), "{wrong:?}");
            assert_eq!(check(&[wrong], None, 8).map_err(|error| error.class), Err(ErrorClass::DataMismatch));
        }
        assert_eq!(check(&[primed], None, 8), Ok(false));
    }
}
