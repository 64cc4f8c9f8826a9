//! Tests of locks and share modes: what is counted, which servers are found to break the rules, and what is left.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, RunEnd, StopSignal};
use sharebench_model::{
    ErrorClass, MetaOp, MetaReply, MetaYield, OpError, OpenHow, RateBase, RunOutcome, SessionOp, StepError,
    StepResult, Verdict,
};
use sharebench_target::{Alteration, Altered, LocalBoxFuture, Session};

use super::replies::{rejected, replied};
use super::runner::{self, run_until};

/// What is wrong with a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    /// It has neither locks nor share modes.
    Lacks,
    /// It grants every lock.
    GrantsAll,
    /// It rejects locks that do not begin at the first byte.
    RejectsNeighbours,
    /// It fails unlocks, and releases nothing.
    FailsUnlock,
    /// Opens deny nothing.
    DeniesNothing,
    /// The run is stopped while locks are held and awaited.
    Stopped,
}

/// Locks after which a run is stopped.
const LOCKS_UNTIL_STOP: u64 = 50;

#[derive(Clone)]
struct Faulty {
    fault: Fault,
    stop: StopSignal,
    locks: Arc<AtomicU64>,
    /// Locks that were granted and not released by an unlock.
    held: Arc<AtomicI64>,
}

impl Faulty {
    /// Counts a lock or an unlock that succeeded.
    fn count(&self, op: &SessionOp, result: &Result<MetaYield, OpError>) {
        match op {
            SessionOp::Lock { .. } | SessionOp::WaitSemaphore if result.is_ok() => {
                self.held.fetch_add(1, Ordering::SeqCst);
                let locks = self.locks.fetch_add(1, Ordering::SeqCst) + 1;
                if self.fault == Fault::Stopped && locks == LOCKS_UNTIL_STOP {
                    self.stop.stop();
                }
            }
            SessionOp::Unlock { .. } | SessionOp::SignalSemaphore if result.is_ok() => {
                self.held.fetch_sub(1, Ordering::SeqCst);
            }
            _ => {}
        }
    }
}

impl Alteration for Faulty {
    fn call<'s>(&'s mut self, memory: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        Box::pin(async move {
            let op = match (self.fault, op) {
                (Fault::Lacks, op) if !matches!(op, SessionOp::Basic(_)) => {
                    return rejected(ErrorClass::Unsupported, "no such request");
                }
                (
                    Fault::GrantsAll,
                    SessionOp::Lock { .. }
                    | SessionOp::Unlock { .. }
                    | SessionOp::WaitSemaphore
                    | SessionOp::SignalSemaphore,
                ) => {
                    return replied(Ok(MetaYield::Done));
                }
                (Fault::FailsUnlock, SessionOp::Unlock { .. } | SessionOp::SignalSemaphore)
                    if self.locks.load(Ordering::SeqCst) > 1 =>
                {
                    return rejected(ErrorClass::Io, "not unlocked");
                }
                (Fault::RejectsNeighbours, SessionOp::Lock { offset: 1.., .. }) => {
                    return rejected(ErrorClass::Busy, "the file is locked");
                }
                (Fault::DeniesNothing, SessionOp::OpenDenying { path }) => {
                    MetaOp::open(path, OpenHow::ReadWrite).into()
                }
                (_, op) => op,
            };
            let reply = memory.call(op.clone()).await;
            self.count(&op, &reply.result);
            reply
        })
    }
}

struct Ran {
    end: RunEnd,
    steps: Vec<StepResult>,
    failures: Vec<String>,
    warnings: Vec<String>,
    /// Names that the run left.
    left: Vec<String>,
    /// Locks that were not released.
    held: i64,
}

fn run_on(fault: Fault, blocking: bool, sweep: &str) -> Ran {
    let memory = MemoryTarget::new();
    let stop = StopSignal::default();
    let faulty = Faulty { fault, stop: stop.clone(), locks: Arc::default(), held: Arc::default() };
    let held = Arc::clone(&faulty.held);
    let mut target = Altered::new(memory.clone(), faulty);
    // Each job owns a thread.
    target.capabilities.blocking = blocking;
    let runner::Ran { end, steps, failures, warnings } = run_until(sweep, target, (&Clock::start(), &stop));
    Ran { end, steps, failures, warnings, left: memory.names(), held: held.load(Ordering::SeqCst) }
}

fn run(fault: Fault, sweep: &str) -> Ran {
    run_on(fault, false, sweep)
}

fn test_of(step: &StepResult) -> &str {
    step.coordinates.text("test").unwrap()
}

#[test]
fn every_test_counts_its_operations_and_leaves_nothing() {
    for blocking in [false, true] {
        let ran = run_on(Fault::None, blocking, "tests = ['locks']\njobs = [1, 2, 5]");
        assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
        assert_eq!(ran.steps.len(), 3 + 2 + 2 + 3 + 3 + 4 * 3 + 2);
        for step in &ran.steps {
            let at = &step.coordinates;
            runner::assert_not_invalid(step);
            let measure = &step.measure;
            let jobs = at.number("jobs").unwrap();
            assert_eq!(
                (measure.users_reported, u64::from(measure.users_assigned)),
                (jobs as u32, jobs),
                "{at}"
            );
            assert_eq!(measure.service.len(), measure.operations, "{at}");
            let requests = measure.wire.unwrap().requests;
            match test_of(step) {
                "lock" | "lock-neighbours" => {
                    assert_eq!(measure.operations, measure.passes * 100, "{at}");
                    assert_eq!(requests, 2 * measure.operations, "{at}");
                }
                // notify.rs and caching.rs
                "notify" | "lease-grant" | "lease-break" | "delegation-grant" | "delegation-recall" => {}
                "share-conflict" => {
                    assert_eq!(measure.operations, measure.passes * 100, "{at}");
                    assert_eq!(requests, measure.operations, "{at}");
                }
                _ => {
                    // All jobs perform the passes of a contested lock together.
                    assert!(measure.operations >= measure.passes / jobs * 100, "{at}");
                    assert!(requests >= 2 * measure.operations, "{at}: {requests}");
                    assert_eq!(measure.rate_base, RateBase::Busy, "{at}");
                    assert!(measure.busy_ns > 0 && measure.busy_ns < measure.window_ns, "{at}");
                }
            }
        }
        assert_eq!((ran.left, ran.held), (vec![], 0));
    }
}

#[test]
fn every_job_has_the_contested_lock() {
    let ran = run_on(Fault::None, true, "tests = ['lock-contended']\njobs = [2]");
    let shares: Vec<u64> = ran.steps[0].measure.shares.iter().map(|share| share.operations).collect();
    let all: u64 = shares.iter().sum();
    // Two jobs have it in turn.
    assert!(shares.iter().all(|operations| *operations >= all / 4), "{shares:?}");
}

#[test]
fn what_the_target_lacks_is_skipped_with_its_reason() {
    let ran = run(Fault::Lacks, "tests = ['locks', 'stat']\nentries = [3]");
    assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
    for test in ["lock", "lock-neighbours", "lock-contended", "share-conflict", "notify"] {
        let reason = format!("skipped {test}: not supported here: test: unsupported (no such request)");
        assert!(ran.warnings.iter().any(|warning| warning.contains(&reason)), "{:?}", ran.warnings);
    }
    assert_eq!(ran.steps.iter().map(test_of).collect::<BTreeSet<_>>(), BTreeSet::from(["stat"]));
    assert_eq!(ran.left, Vec::<String>::new());
}

#[test]
fn servers_that_break_the_rules_are_found() {
    for (fault, test, found) in [
        (
            Fault::GrantsAll,
            "lock-contended",
            "granted one lock, or the unit of one semaphore, to two jobs at once",
        ),
        (Fault::RejectsNeighbours, "lock-neighbours", "rejected the lock of a range that nobody else locks"),
        (Fault::DeniesNothing, "share-conflict", "opened a file that another session denies"),
        (
            Fault::GrantsAll,
            "semaphore",
            "granted one lock, or the unit of one semaphore, to two jobs at once",
        ),
        (Fault::FailsUnlock, "lock-contended", "not unlocked"),
        (Fault::FailsUnlock, "semaphore", "not unlocked"),
        (Fault::FailsUnlock, "lock", "not unlocked"),
    ] {
        for blocking in [false, true] {
            let ran = run_on(fault, blocking, &format!("tests = ['{test}']\njobs = [3]"));
            let is_named = ran.failures.iter().any(|failure| failure.contains(found));
            assert!(is_named, "{fault:?} {test}: {:?}", ran.failures);
            assert_eq!(ran.steps[0].verdict(), Verdict::Invalid, "{fault:?} {test}");
            assert_eq!(ran.left, Vec::<String>::new(), "{fault:?} {test}");
        }
    }
}

#[test]
fn a_stopped_run_releases_every_lock_and_leaves_nothing() {
    for test in ["lock", "lock-neighbours", "lock-contended", "semaphore"] {
        for blocking in [false, true] {
            let ran = run_on(Fault::Stopped, blocking, &format!("tests = ['{test}']\njobs = [3]"));
            assert_eq!(ran.end.outcome, RunOutcome::Incomplete(StepError::Stopped), "{test}");
            assert_eq!((ran.left, ran.held), (vec![], 0), "{test}");
        }
    }
}
