//! Cells of notifications on doubles: what is counted, which servers are found to break the rules, and what is left.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};

use sharebench_engine::{Clock, Run, RunEnd, StopSignal};
use sharebench_model::{
    ChangeKind, DataOp, ErrorClass, Facts, FileRef, MetaOp, MetaReply, MetaYield, NameChange, OpError,
    OpStep, OpenHow, RateBase, Reply, RunEvent, RunOutcome, Slot, StepError, StepResult, Verdict, WireCount,
};
use sharebench_plan::Plan;
use sharebench_target::{
    Capabilities, ConnectError, LocalBoxFuture, MemoryTarget, Session, SessionSpec, Target,
};

/// What is wrong with a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    /// It has no notifications.
    Lacks,
    /// It reports changes without names, which is right.
    NamesNothing,
    /// It accepts the request and reports nothing.
    ReportsNothing,
    /// It reports another name.
    ReportsOther,
    /// It reports a removal where something was created.
    ReportsRemoval,
    /// It fails the creation while the request is pending.
    FailsCreation,
    /// It fails the removal while the request is pending.
    FailsRemoval,
    /// The run is stopped between creation and removal.
    Stopped,
}

/// Reports after which a run is stopped.
const REPORTS_UNTIL_STOP: u64 = 51;
/// First letter of the names that cells create.
const PASSING: &str = "/p000";

#[derive(Clone)]
struct Faulty {
    memory: MemoryTarget,
    fault: Fault,
    /// Each job owns a thread.
    blocking: bool,
    stop: StopSignal,
    reports: Arc<AtomicU64>,
    /// Directories that are open.
    open: Arc<AtomicI64>,
}

struct FaultySession(Box<dyn Session>, Faulty, Vec<FileRef>);

impl Target for Faulty {
    fn url(&self) -> String {
        self.memory.url()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { blocking: self.blocking, ..self.memory.capabilities() }
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        Box::pin(async move {
            let session = FaultySession(self.memory.connect(spec).await?, self.clone(), Vec::new());
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }
}

impl FaultySession {
    /// The reply of a faulty server, if it is not that of a correct one.
    async fn replied(&self, op: &MetaOp) -> Option<Result<MetaYield, OpError>> {
        let fails = |class, detail| Some(Err(OpError::new(class, OpStep::Request("test"), detail)));
        match (self.1.fault, op) {
            (Fault::Lacks, MetaOp::OpenDirectory { .. }) => fails(ErrorClass::Unsupported, "no such request"),
            (Fault::ReportsNothing, MetaOp::AwaitChange { .. }) => std::future::pending().await,
            (Fault::FailsCreation, MetaOp::Open { path, how: OpenHow::CreateNew, .. })
                if path.contains(PASSING) =>
            {
                fails(ErrorClass::Io, "not created")
            }
            (Fault::FailsRemoval, MetaOp::Remove { path })
                if path.contains("p0000002") && self.1.reports.load(Ordering::SeqCst) == 5 =>
            {
                self.1.reports.fetch_add(1, Ordering::SeqCst);
                fails(ErrorClass::Io, "not removed")
            }
            _ => None,
        }
    }

    /// What a faulty server reports instead.
    fn reported(&self, changes: Vec<NameChange>) -> Vec<NameChange> {
        let change = |name: &str, kind| vec![NameChange { name: name.to_owned(), kind }];
        match self.1.fault {
            Fault::NamesNothing => Vec::new(),
            Fault::ReportsOther => change("other", ChangeKind::Added),
            Fault::ReportsRemoval => {
                changes.into_iter().map(|change| NameChange { kind: ChangeKind::Removed, ..change }).collect()
            }
            _ => changes,
        }
    }

    /// Counts directories and reports.
    fn count(&mut self, op: &MetaOp, result: &Result<MetaYield, OpError>) {
        match (op, result) {
            (MetaOp::OpenDirectory { .. }, Ok(MetaYield::Opened { file, .. })) => {
                self.2.push(*file);
                self.1.open.fetch_add(1, Ordering::SeqCst);
            }
            (MetaOp::Close { file }, Ok(_)) if self.2.contains(file) => {
                self.1.open.fetch_sub(1, Ordering::SeqCst);
            }
            (MetaOp::AwaitChange { .. }, Ok(_)) => {
                let reports = self.1.reports.fetch_add(1, Ordering::SeqCst) + 1;
                if self.1.fault == Fault::Stopped && reports == REPORTS_UNTIL_STOP {
                    self.1.stop.stop();
                }
            }
            _ => {}
        }
    }
}

impl Session for FaultySession {
    fn facts(&self) -> Facts {
        self.0.facts()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.0.buffer(slot)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        self.0.submit(slot, op);
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        self.0.poll_replies(cx, replies)
    }

    fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(async move {
            if let Some(result) = self.replied(&op).await {
                return MetaReply { result, requests: 1 };
            }
            let mut reply = self.0.call(op.clone()).await;
            if let Ok(MetaYield::Changes(changes)) = &mut reply.result {
                *changes = self.reported(std::mem::take(changes));
            }
            self.count(&op, &reply.result);
            reply
        })
    }

    fn wire(&self) -> WireCount {
        self.0.wire()
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        self.0.close()
    }
}

struct Ran {
    end: RunEnd,
    steps: Vec<StepResult>,
    failures: Vec<String>,
    warnings: Vec<String>,
    /// Names that the run left.
    left: Vec<String>,
    /// Directories that were not closed.
    open: i64,
}

fn run_on(fault: Fault, blocking: bool, settings: &str) -> Ran {
    let memory = MemoryTarget::new();
    let stop = StopSignal::default();
    let (timeout, sweep) = settings.split_once("\n\n").unwrap_or(("", settings));
    let text = format!(
        "seed = 3\nrepetitions = 1\nmin_sample_time = '1ms'\n{timeout}\n[[target]]\nurl = '/a'\n[sweep]\n{sweep}\n"
    );
    let plan = Plan::parse(&text).unwrap().resolve().unwrap();
    let (sender, receiver) = mpsc::channel();
    let target = Faulty {
        memory: memory.clone(),
        fault,
        blocking,
        stop: stop.clone(),
        reports: Arc::default(),
        open: Arc::default(),
    };
    let open = target.open.clone();
    let run = Run {
        plan: &plan,
        targets: &[Arc::new(target)],
        done: &[],
        directory: ".sharebench-notify",
        resumed: false,
        stop: &stop,
        clock: &Clock::start(),
        events: &sender,
        ranks: None,
    };
    let end = run.execute().unwrap();
    let mut ran = Ran {
        end,
        steps: Vec::new(),
        failures: Vec::new(),
        warnings: Vec::new(),
        left: memory.names(),
        open: open.load(Ordering::SeqCst),
    };
    for event in receiver.try_iter() {
        match event {
            RunEvent::StepFinished(step) => ran.steps.push(*step),
            RunEvent::Failure { detail, .. } => ran.failures.push(detail),
            RunEvent::Warning(warning) => ran.warnings.push(warning),
            _ => {}
        }
    }
    ran
}

#[test]
fn every_operation_is_a_notification_and_nothing_is_left() {
    for (fault, blocking) in [(Fault::None, false), (Fault::None, true), (Fault::NamesNothing, false)] {
        let ran = run_on(fault, blocking, "tests = ['notify']\njobs = [1, 4]");
        assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
        assert_eq!(ran.steps.len(), 2);
        for step in &ran.steps {
            let at = &step.coordinates;
            assert_ne!(step.verdict(), Verdict::Invalid, "{at}: {:?}", step.checks);
            let measure = &step.measure;
            let jobs = at.number("jobs").unwrap();
            assert_eq!(u64::from(measure.users_reported), jobs, "{at}");
            assert_eq!(measure.operations, measure.passes * 100, "{at}");
            assert_eq!(measure.service.len(), measure.operations, "{at}");
            // The watcher requests two notifications; the other session creates, closes and removes.
            assert_eq!(measure.wire.unwrap().requests, 5 * measure.operations, "{at}");
            assert_eq!(measure.rate_base, RateBase::Window, "{at}");
        }
        assert_eq!((ran.left, ran.open), (vec![], 0));
    }
}

#[test]
fn a_target_without_notifications_skips_the_test_with_its_reason() {
    let ran = run_on(Fault::Lacks, false, "tests = ['notify', 'stat']\nentries = [3]");
    assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
    let reason = "skipped notify: not supported here: test: unsupported (no such request)";
    assert!(ran.warnings.iter().any(|warning| warning.contains(reason)), "{:?}", ran.warnings);
    assert_eq!((ran.steps.len(), ran.left), (1, vec![]));
}

#[test]
fn servers_that_break_the_rules_are_found_and_nothing_is_left() {
    for (fault, found) in [
        (Fault::ReportsNothing, "data mismatch (the server did not notify the watcher of a change)"),
        (Fault::ReportsOther, "data mismatch (the server notified the watcher of something else"),
        (Fault::ReportsRemoval, "data mismatch (the server notified the watcher of something else"),
        (Fault::FailsCreation, "not created"),
        (Fault::FailsRemoval, "not removed"),
    ] {
        for blocking in [false, true] {
            // Only a report that never comes lasts so long: every other operation of the double is done at once.
            let settings = "timeout = '1s'\n\ntests = ['notify']\njobs = [2]";
            let ran = run_on(fault, blocking, settings);
            let is_named = ran.failures.iter().any(|failure| failure.contains(found));
            assert!(is_named, "{fault:?}: {:?}", ran.failures);
            assert_eq!(ran.steps[0].verdict(), Verdict::Invalid, "{fault:?}");
            assert_eq!((ran.left, ran.open), (vec![], 0), "{fault:?}");
        }
    }
}

#[test]
fn a_stopped_run_closes_every_directory_and_leaves_nothing() {
    for blocking in [false, true] {
        let ran = run_on(Fault::Stopped, blocking, "tests = ['notify']\njobs = [3]");
        assert_eq!(ran.end.outcome, RunOutcome::Incomplete(StepError::Stopped));
        assert_eq!((ran.left, ran.open), (vec![], 0));
    }
}
