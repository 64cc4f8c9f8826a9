//! Tests of notifications: what is counted, which servers are found to break the rules, and what is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use sharebench_engine::{Clock, StopSignal};
use sharebench_model::{
    ChangeKind, ErrorClass, FileRef, MetaOp, MetaReply, MetaYield, NameChange, OpError, OpenHow, RateBase,
    RunOutcome, SessionOp, StepError, Verdict,
};
use sharebench_target::{Capabilities, LocalBoxFuture, MemoryTarget, Session};

use super::altered::{Alteration, Altered, rejected, replied};
use super::runner::{Ran, run_with};

/// What is wrong with a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    /// It has no notifications.
    Lacks,
    /// It reports changes without names, which is right.
    NamesNothing,
    /// It answers that a request is pending some changes before it watches, which is right.
    WatchesLate,
    /// It reports a change of priming once more, with the first measured one, which is right.
    ReportsPrimingAgain,
    /// It accepts the request and reports nothing.
    ReportsNothing,
    /// It reports another name.
    ReportsOther,
    /// It reports a removal where something was created.
    ReportsRemoval,
    /// It reports old changes of priming and nothing else.
    ReportsPrimingOnly,
    /// It fails the creation while the request is pending.
    FailsCreation,
    /// It fails the removal while the request is pending.
    FailsRemoval,
    /// The run is stopped between creation and removal.
    Stopped,
}

/// Reports after which a run is stopped.
const REPORTS_UNTIL_STOP: u64 = 51;
/// What the paths of names contain that cells create to measure.
const PASSING: &str = "/p000";
/// Waits for reports that are lost before a late server watches.
const LOST_WAITS: u32 = 3;

#[derive(Clone)]
struct Faulty {
    fault: Fault,
    /// Each job owns a thread.
    blocking: bool,
    stop: StopSignal,
    /// Of all sessions.
    reports: Arc<AtomicU64>,
    /// Directories that are open.
    open: Arc<AtomicI64>,
    /// Something has failed on purpose.
    failed: Arc<AtomicBool>,
    /// Of this session.
    directories: Vec<FileRef>,
    /// Waits until the server watches the directory that was opened last.
    lost_waits: u32,
}

impl Faulty {
    /// The reply of a faulty server, if it is not that of a correct one.
    async fn faulty_reply(&mut self, memory: &mut dyn Session, op: &SessionOp) -> Option<MetaReply> {
        match (self.fault, op) {
            (Fault::Lacks, SessionOp::OpenDirectory { .. }) => {
                Some(rejected(ErrorClass::Unsupported, "no such request"))
            }
            (Fault::ReportsNothing, SessionOp::AwaitChange { .. }) => std::future::pending().await,
            (Fault::WatchesLate, SessionOp::Watch { .. }) if self.lost_waits > 0 => {
                Some(replied(Ok(MetaYield::Done)))
            }
            (Fault::WatchesLate, SessionOp::AwaitChange { file }) if self.lost_waits > 0 => {
                self.lost_waits -= 1;
                if self.lost_waits == 0 {
                    memory.call(SessionOp::Watch { file: *file }).await.result.unwrap();
                }
                std::future::pending().await
            }
            (Fault::FailsCreation, SessionOp::Basic(MetaOp::Open { path, how: OpenHow::CreateNew, .. }))
                if path.contains(PASSING) =>
            {
                Some(rejected(ErrorClass::Io, "not created"))
            }
            (Fault::FailsRemoval, SessionOp::Basic(MetaOp::Remove { path }))
                if path.contains(PASSING) && !self.failed.swap(true, Ordering::SeqCst) =>
            {
                Some(rejected(ErrorClass::Io, "not removed"))
            }
            _ => None,
        }
    }

    /// What a faulty server reports instead.
    fn reported(&self, mut changes: Vec<NameChange>) -> Vec<NameChange> {
        let change = |name: &str, kind| vec![NameChange { name: name.to_owned(), kind }];
        let measures = changes.iter().any(|change| change.name.starts_with('p'));
        match self.fault {
            Fault::NamesNothing => Vec::new(),
            Fault::ReportsOther => change("other", ChangeKind::Added),
            Fault::ReportsRemoval => {
                changes.into_iter().map(|change| NameChange { kind: ChangeKind::Removed, ..change }).collect()
            }
            Fault::ReportsPrimingOnly if measures => change("w0000000", ChangeKind::Removed),
            Fault::ReportsPrimingAgain if measures && !self.failed.swap(true, Ordering::SeqCst) => {
                changes.extend(change("w0000000", ChangeKind::Removed));
                changes
            }
            _ => changes,
        }
    }

    /// Counts directories and reports.
    fn count(&mut self, op: &SessionOp, result: &Result<MetaYield, OpError>) {
        match (op, result) {
            (SessionOp::OpenDirectory { .. }, Ok(MetaYield::Opened { file, .. })) => {
                self.directories.push(*file);
                self.lost_waits = LOST_WAITS;
                self.open.fetch_add(1, Ordering::SeqCst);
            }
            (SessionOp::Basic(MetaOp::Close { file }), Ok(_)) if self.directories.contains(file) => {
                self.open.fetch_sub(1, Ordering::SeqCst);
            }
            (SessionOp::AwaitChange { .. }, Ok(_)) => {
                let reports = self.reports.fetch_add(1, Ordering::SeqCst) + 1;
                if self.fault == Fault::Stopped && reports == REPORTS_UNTIL_STOP {
                    self.stop.stop();
                }
            }
            _ => {}
        }
    }
}

impl Alteration for Faulty {
    fn capabilities(&self, of_memory: Capabilities) -> Capabilities {
        Capabilities { blocking: self.blocking, ..of_memory }
    }

    fn call<'s>(&'s mut self, memory: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        Box::pin(async move {
            if let Some(reply) = self.faulty_reply(memory, &op).await {
                return reply;
            }
            let mut reply = memory.call(op.clone()).await;
            if let Ok(MetaYield::Changes(changes)) = &mut reply.result {
                *changes = self.reported(std::mem::take(changes));
            }
            self.count(&op, &reply.result);
            reply
        })
    }
}

/// What a run reported, the names that it left, and the number of directories that it did not close.
fn run_on(fault: Fault, blocking: bool, plan: (&str, &str)) -> (Ran, Vec<String>, i64) {
    let memory = MemoryTarget::new();
    let stop = StopSignal::default();
    let faulty = Faulty {
        fault,
        blocking,
        stop: stop.clone(),
        reports: Arc::default(),
        open: Arc::default(),
        failed: Arc::default(),
        directories: Vec::new(),
        lost_waits: 0,
    };
    let open = Arc::clone(&faulty.open);
    let ran = run_with(plan, Altered(memory.clone(), faulty), (&Clock::start(), &stop));
    (ran, memory.names(), open.load(Ordering::SeqCst))
}

#[test]
fn every_operation_is_a_notification_and_nothing_is_left() {
    for (fault, blocking) in [
        (Fault::None, false),
        (Fault::None, true),
        (Fault::NamesNothing, false),
        (Fault::WatchesLate, false),
        (Fault::WatchesLate, true),
        (Fault::ReportsPrimingAgain, false),
    ] {
        let (ran, left, open) = run_on(fault, blocking, ("", "tests = ['notify']\njobs = [1, 4]"));
        assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]), "{fault:?}");
        assert_eq!(ran.steps.len(), 2);
        for step in &ran.steps {
            let at = &step.coordinates;
            assert_ne!(step.verdict(), Verdict::Invalid, "{fault:?} {at}: {:?}", step.checks);
            let measure = &step.measure;
            let jobs = at.number("jobs").unwrap();
            assert_eq!(u64::from(measure.users_reported), jobs, "{at}");
            assert_eq!(measure.operations, measure.passes * 100, "{at}");
            assert_eq!(measure.service.len(), measure.operations, "{at}");
            // The watcher requests two notifications; the other session creates, closes and removes. Priming is not counted.
            assert_eq!(measure.wire.unwrap().requests, 5 * measure.operations, "{fault:?} {at}");
            assert_eq!(measure.rate_base, RateBase::Window, "{at}");
        }
        assert_eq!((left, open), (vec![], 0), "{fault:?}");
    }
}

#[test]
fn a_target_without_notifications_skips_the_test_with_its_reason() {
    let (ran, left, _) = run_on(Fault::Lacks, false, ("", "tests = ['notify', 'stat']\nentries = [3]"));
    assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
    let reason = "skipped notify: not supported here: test: unsupported (no such request)";
    assert!(ran.warnings.iter().any(|warning| warning.contains(reason)), "{:?}", ran.warnings);
    assert_eq!((ran.steps.len(), left), (1, vec![]));
}

#[test]
fn servers_that_break_the_rules_are_found_and_nothing_is_left() {
    for (fault, found) in [
        (Fault::ReportsNothing, "data mismatch (the server did not notify the watcher of a change)"),
        (Fault::ReportsOther, "data mismatch (the server notified the watcher of something else"),
        (Fault::ReportsRemoval, "data mismatch (the server notified the watcher of something else"),
        (Fault::ReportsPrimingOnly, "data mismatch (the server "),
        (Fault::FailsCreation, "not created"),
        (Fault::FailsRemoval, "not removed"),
    ] {
        for blocking in [false, true] {
            // Only a report that never comes lasts so long: every other operation of the double is done at once.
            let plan = ("timeout = '1s'", "tests = ['notify']\njobs = [2]");
            let (ran, left, open) = run_on(fault, blocking, plan);
            let is_named = ran.failures.iter().any(|failure| failure.contains(found));
            assert!(is_named, "{fault:?}: {:?}", ran.failures);
            assert_eq!(ran.steps[0].verdict(), Verdict::Invalid, "{fault:?}");
            assert_eq!((left, open), (vec![], 0), "{fault:?}");
        }
    }
}

#[test]
fn a_stopped_run_closes_every_directory_and_leaves_nothing() {
    for blocking in [false, true] {
        let (ran, left, open) = run_on(Fault::Stopped, blocking, ("", "tests = ['notify']\njobs = [3]"));
        assert_eq!(ran.end.outcome, RunOutcome::Incomplete(StepError::Stopped));
        assert_eq!((left, open), (vec![], 0));
    }
}
