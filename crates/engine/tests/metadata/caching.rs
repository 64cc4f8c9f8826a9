//! Tests of leases and delegations: what is counted, which servers are found to break the rules, and what is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use sharebench_engine::{Clock, StopSignal};
use sharebench_model::{
    CacheRight, ErrorClass, MetaOp, MetaReply, MetaYield, OpError, OpenHow, RateBase, RunOutcome, SessionOp,
    StepError, Verdict,
};
use sharebench_target::{Capabilities, LocalBoxFuture, MemoryTarget, Session};

use super::altered::{Alteration, Altered, rejected};
use super::runner::{Ran, run_with};

/// What is wrong with a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    /// It has neither leases nor delegations.
    Lacks,
    /// It opens files, and grants nothing.
    GrantsNothing,
    /// It grants no more than leases on reads.
    GrantsReads,
    /// It grants nothing to every fourth open.
    GrantsSometimes,
    /// It opens files against a right and does not take that back.
    NeverTakesBack,
    /// It takes the right back and fails the open.
    FailsOpen,
    /// The run is stopped while rights are held.
    Stopped,
}

/// Rights that are given back until a run is stopped.
const RECALLS_UNTIL_STOP: u64 = 30;
const TESTS: &str =
    "tests = ['lease-grant', 'lease-break', 'delegation-grant', 'delegation-recall']\njobs = [1, 3]";

#[derive(Clone)]
struct Faulty {
    fault: Fault,
    /// Each job owns a thread.
    blocking: bool,
    stop: StopSignal,
    /// Of all sessions.
    rights: Arc<AtomicU64>,
    recalls: Arc<AtomicU64>,
    /// Files that are open.
    open: Arc<AtomicI64>,
}

impl Faulty {
    /// True for every fourth open after the trials, which are four.
    fn is_refused(&self) -> bool {
        let number = self.rights.fetch_add(1, Ordering::SeqCst);
        number >= 4 && number % 4 == 3
    }

    /// What a faulty server grants instead.
    fn granted(&self, right: CacheRight) -> CacheRight {
        match self.fault {
            Fault::GrantsNothing => CacheRight::None,
            Fault::GrantsReads => right.min(CacheRight::Reads),
            Fault::GrantsSometimes if self.is_refused() => CacheRight::None,
            _ => right,
        }
    }

    /// Counts open files and rights that were given back.
    fn count(&self, op: &SessionOp, result: &Result<MetaYield, OpError>) {
        match (op, result) {
            (_, Ok(MetaYield::Opened { .. } | MetaYield::OpenedToCache { .. })) => {
                self.open.fetch_add(1, Ordering::SeqCst);
            }
            (SessionOp::Basic(MetaOp::Close { .. }), Ok(_)) => {
                self.open.fetch_sub(1, Ordering::SeqCst);
            }
            (SessionOp::AwaitRecall { .. }, Ok(_)) => {
                let recalls = self.recalls.fetch_add(1, Ordering::SeqCst) + 1;
                if self.fault == Fault::Stopped && recalls == RECALLS_UNTIL_STOP {
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
            let mut reply = match (self.fault, &op) {
                (Fault::Lacks, SessionOp::OpenLeased { .. } | SessionOp::OpenDelegated { .. }) => {
                    return rejected(ErrorClass::Unsupported, "no such request");
                }
                (
                    Fault::NeverTakesBack,
                    SessionOp::OpenLeased { path } | SessionOp::OpenDelegated { path },
                ) => {
                    let reply = memory.call(MetaOp::open(path.clone(), OpenHow::ReadWrite)).await;
                    let right = CacheRight::Writes;
                    let result = reply.result.and_then(MetaYield::into_opened);
                    MetaReply {
                        result: result.map(|(file, _)| MetaYield::OpenedToCache { file, right }),
                        ..reply
                    }
                }
                (Fault::NeverTakesBack, SessionOp::AwaitRecall { .. }) => std::future::pending().await,
                (Fault::FailsOpen, SessionOp::Basic(MetaOp::Open { how: OpenHow::ReadWrite, .. })) => {
                    return rejected(ErrorClass::Io, "not opened");
                }
                _ => memory.call(op.clone()).await,
            };
            if let Ok(MetaYield::OpenedToCache { right, .. }) = &mut reply.result {
                *right = self.granted(*right);
            }
            self.count(&op, &reply.result);
            reply
        })
    }
}

/// What a run reported, the names that it left, and the number of files that it did not close.
fn run_on(fault: Fault, blocking: bool, plan: (&str, &str)) -> (Ran, Vec<String>, i64) {
    let memory = MemoryTarget::new();
    let stop = StopSignal::default();
    let faulty = Faulty {
        fault,
        blocking,
        stop: stop.clone(),
        rights: Arc::default(),
        recalls: Arc::default(),
        open: Arc::default(),
    };
    let open = Arc::clone(&faulty.open);
    let ran = run_with(plan, Altered(memory.clone(), faulty), (&Clock::start(), &stop));
    (ran, memory.names(), open.load(Ordering::SeqCst))
}

#[test]
fn every_test_counts_its_operations_and_leaves_nothing() {
    for blocking in [false, true] {
        let (ran, left, open) = run_on(Fault::None, blocking, ("", TESTS));
        assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
        assert_eq!(ran.steps.len(), 8);
        for step in &ran.steps {
            let at = &step.coordinates;
            assert_ne!(step.verdict(), Verdict::Invalid, "{at}: {:?}", step.checks);
            let measure = &step.measure;
            assert_eq!(u64::from(measure.users_reported), at.number("jobs").unwrap(), "{at}");
            assert_eq!(measure.operations, measure.passes * 100, "{at}");
            assert_eq!(measure.service.len(), measure.operations, "{at}");
            let requests = match at.text("test").unwrap() {
                // Two sessions open and close.
                "lease-break" => 4,
                // The file is created, closed and removed.
                "delegation-recall" => 4 + 3,
                _ => 2,
            };
            assert_eq!(measure.wire.unwrap().requests, requests * measure.operations, "{at}");
            assert_eq!(measure.rate_base, RateBase::Window, "{at}");
        }
        assert_eq!((left, open), (vec![], 0));
    }
}

#[test]
fn what_the_target_does_not_grant_is_skipped_with_its_reason() {
    for (fault, measured, reasons) in [
        (
            Fault::Lacks,
            0,
            [
                "skipped lease-grant: not supported here: test: unsupported (no such request)",
                "skipped delegation-recall: not supported here: test: unsupported (no such request)",
            ],
        ),
        (
            Fault::GrantsNothing,
            0,
            ["(the server granted no lease and no oplock)", "(the server granted no delegation)"],
        ),
        (
            Fault::GrantsReads,
            6,
            [
                "skipped lease-break",
                "(the server granted no lease or oplock on writes, and an open breaks no other one)",
            ],
        ),
    ] {
        let sweep = TESTS.replace("['", "['stat', '");
        let (ran, left, open) = run_on(fault, false, ("", &format!("{sweep}\nentries = [3]")));
        assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]), "{fault:?}");
        for reason in reasons {
            let is_given = ran.warnings.iter().any(|warning| warning.contains(reason));
            assert!(is_given, "{fault:?} {reason}: {:?}", ran.warnings);
        }
        // `stat` is measured with each number of jobs.
        assert_eq!(ran.steps.len(), measured + 2, "{fault:?}");
        assert_eq!((left, open), (vec![], 0), "{fault:?}");
    }
}

#[test]
fn opens_without_the_right_are_counted_as_busy_and_leave_the_others_valid() {
    let (ran, left, open) = run_on(Fault::GrantsSometimes, false, ("", TESTS));
    assert_eq!(ran.end.outcome, RunOutcome::Complete);
    for step in &ran.steps {
        let at = &step.coordinates;
        let measure = &step.measure;
        assert_eq!(step.verdict(), Verdict::Warning, "{at}: {:?}", step.checks);
        let busy = measure.errors.get(&ErrorClass::Busy).copied().unwrap_or(0);
        assert_eq!(measure.errors.len(), 1, "{at}: {:?}", measure.errors);
        // Every fourth one of those that all jobs requested, wherever the count began.
        let requested = measure.passes * 100;
        assert!(busy.abs_diff(requested / 4) <= 1, "{at}: {busy} of {requested}");
    }
    assert_eq!((left, open), (vec![], 0));
}

#[test]
fn servers_that_break_the_rules_are_found_and_nothing_is_left() {
    for (fault, found) in [
        (
            Fault::NeverTakesBack,
            "data mismatch (the server opened the file without taking back the right to cache it)",
        ),
        (Fault::FailsOpen, "not opened"),
    ] {
        for (blocking, test) in [(false, "lease-break"), (true, "lease-break"), (false, "delegation-recall")]
        {
            // Only a break that never comes lasts so long: every other operation of the double is done at once.
            let (ran, left, open) =
                run_on(fault, blocking, ("timeout = '1s'", &format!("tests = ['{test}']\njobs = [2]")));
            let is_named = ran.failures.iter().any(|failure| failure.contains(found));
            assert!(is_named, "{fault:?} {test}: {:?}", ran.failures);
            assert_eq!(ran.steps[0].verdict(), Verdict::Invalid, "{fault:?} {test}");
            assert_eq!((left, open), (vec![], 0), "{fault:?} {test}");
        }
    }
}

#[test]
fn a_stopped_run_closes_every_file_and_leaves_nothing() {
    for blocking in [false, true] {
        let (ran, left, open) = run_on(Fault::Stopped, blocking, ("", "tests = ['lease-break']\njobs = [3]"));
        assert_eq!(ran.end.outcome, RunOutcome::Incomplete(StepError::Stopped));
        assert_eq!((left, open), (vec![], 0));
    }
}
