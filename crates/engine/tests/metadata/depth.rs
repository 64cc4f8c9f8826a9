//! Metadata tests at queue depths: how many operations are in flight, what is counted and verified, and which targets skip them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, StopSignal};
use sharebench_model::{
    DataOp, ErrorClass, MetaOp, MetaReply, OpError, OpStep, Reply, RunOutcome, SessionOp, Slot, StepError,
    TargetFacts, WireCount,
};
use sharebench_plan::{MetadataGroup, MetadataTest};
use sharebench_target::{
    Alteration, Altered, CallDepth, CallReply, Capabilities, Connecting, Extensions, LocalBoxFuture,
    OverlappingCalls, Readings, Session, SessionSpec, Target,
};

use super::runner::{assert_not_invalid, run, run_with};

/// A target in memory that answers one operation at a time, the oldest first, and fails all of them after a number.
#[derive(Clone, Default)]
struct Queueing {
    memory: MemoryTarget,
    /// Most operations that were in flight on one session.
    most: Arc<AtomicU32>,
    /// Operations until the connection is lost; 0 for none.
    loses_after: u32,
    /// The first operation is never answered, and each of the others after a millisecond, in a turn of the task of its own.
    keeps_first: bool,
}

struct QueueingSession {
    inner: Box<dyn Session>,
    target: Queueing,
    queue: VecDeque<(Slot, MetaOp)>,
    done: u32,
    has_waited: bool,
}

impl Target for Queueing {
    fn url(&self) -> String {
        self.memory.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.memory.capabilities()
    }

    fn call_depth(&self) -> CallDepth {
        CallDepth { max: 16, reason: "this is a test" }
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        Box::pin(async move {
            let inner = self.memory.connect(spec).await?;
            let target = self.clone();
            Ok(
                Box::new(QueueingSession {
                    inner,
                    target,
                    queue: VecDeque::new(),
                    done: 0,
                    has_waited: false,
                }) as Box<dyn Session>,
            )
        })
    }
}

impl Session for QueueingSession {
    fn facts(&self) -> TargetFacts {
        self.inner.facts()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        self.inner.max_transfer(op)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        self.inner.submit(slot, op);
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        self.inner.poll_replies(cx, replies)
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        self.inner.call(op)
    }

    fn wire(&self) -> WireCount {
        self.inner.wire()
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn readings(&self) -> Option<&dyn Readings> {
        self.inner.readings()
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        self.inner.close()
    }
}

impl Extensions for QueueingSession {
    fn calls(&mut self) -> Option<&mut dyn OverlappingCalls> {
        Some(self)
    }
}

impl OverlappingCalls for QueueingSession {
    fn submit_call(&mut self, slot: Slot, op: MetaOp) -> Result<(), OpError> {
        self.queue.push_back((slot, op));
        self.target.most.fetch_max(self.queue.len() as u32, Ordering::SeqCst);
        Ok(())
    }

    fn poll_calls(&mut self, cx: &mut Context<'_>, replies: &mut Vec<CallReply>) -> Poll<()> {
        if self.target.keeps_first && !self.queue.is_empty() {
            self.has_waited = !self.has_waited;
            if self.has_waited {
                std::thread::sleep(Duration::from_millis(1));
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        let Some((slot, op)) = self.queue.pop_front() else { return Poll::Pending };
        self.done += 1;
        if self.target.keeps_first && self.done == 1 {
            return self.poll_calls(cx, replies);
        }
        if self.target.loses_after > 0 && self.done > self.target.loses_after {
            let lost = OpError::new(ErrorClass::Disconnected, OpStep::Session, "connection reset");
            replies.push(CallReply { slot, reply: MetaReply { result: Err(lost), requests: 0 } });
            return Poll::Ready(());
        }
        self.inner.submit_call(slot, op).unwrap();
        self.inner.poll_calls(cx, replies)
    }
}

/// Requests per operation of memory.
fn requests_of(test: MetadataTest) -> u64 {
    match test {
        MetadataTest::Create | MetadataTest::OpenClose => 2,
        MetadataTest::CreateWrite
        | MetadataTest::OpenReadClose
        | MetadataTest::StatThenOpen
        | MetadataTest::Truncate => 3,
        _ => 1,
    }
}

#[test]
fn every_test_keeps_its_depth_in_flight_and_counts_as_at_depth_1() {
    for layout in ["own", "shared", "tree"] {
        let target = Queueing::default();
        let sweep = format!(
            "tests = ['metadata']\nentries = [60]\nbatch = 40\ndepths = [1, 7]\njobs = [2]\n\
             layouts = ['{layout}']\ntree_fan_out = 2"
        );
        let ran = run(&sweep, target.clone(), &Clock::start());
        assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]), "{layout}");
        let names = MetadataTest::of_group(MetadataGroup::Names);
        let deep = names.iter().filter(|test| test.declaration().takes_depth).count();
        assert_eq!(ran.steps.len(), names.len() + deep);
        for step in &ran.steps {
            let at = &step.coordinates;
            assert_not_invalid(step);
            let measure = &step.measure;
            let test: MetadataTest = at.text("test").unwrap().parse().unwrap();
            assert_eq!(measure.verified, measure.bytes.read, "{at}");
            if test.declaration().takes_depth {
                assert_eq!(measure.service.len(), measure.operations, "{at}");
                let requests = measure.wire.map_or(0, |wire| wire.requests);
                assert_eq!(requests, requests_of(test) * measure.operations, "{at}");
                let of_jobs: u64 = measure.shares.iter().map(|share| share.operations).sum();
                assert_eq!(of_jobs, measure.operations, "{at}");
            }
        }
        assert_eq!(target.most.load(Ordering::SeqCst), 7, "{layout}");
        assert_eq!(target.memory.names(), Vec::<String>::new());
    }
}

#[test]
fn memory_at_a_depth_runs_every_test_too() {
    let target = MemoryTarget::new();
    let sweep = "tests = ['metadata']\nentries = [50]\ndepths = [1, 32]";
    let ran = run(sweep, target.clone(), &Clock::start());
    assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn a_connection_lost_at_a_depth_ends_the_step_with_its_reason_and_nothing_is_left() {
    let target = Queueing { loses_after: 30, ..Queueing::default() };
    let ran = run("tests = ['create']\nentries = [100]\ndepths = [8]", target.clone(), &Clock::start());
    let RunOutcome::Incomplete(StepError::TargetLost { reason, .. }) = ran.end.outcome else {
        panic!("{:?}", ran.end.outcome)
    };
    assert!(reason.contains("connection reset"), "{reason}");
    assert_eq!((ran.end.leftovers, target.memory.names()), (vec![], vec![]));
}

#[test]
fn an_operation_that_is_never_answered_is_a_timeout_also_while_others_are_answered() {
    let target = Queueing { keeps_first: true, ..Queueing::default() };
    let sweep = "tests = ['stat']\nentries = [500]\ndepths = [4]";
    let clock = Clock::start();
    let ran = run_with(("timeout = '100ms'", sweep), target, (&clock, &StopSignal::default()));
    let RunOutcome::Incomplete(StepError::TargetLost { reason, .. }) = ran.end.outcome else {
        panic!("{:?}", ran.end.outcome)
    };
    assert!(reason.contains("no reply within 100ms"), "{reason}");
}

#[derive(Clone)]
struct Unaltered;

impl Alteration for Unaltered {}

#[test]
fn a_target_with_one_operation_in_flight_skips_other_depths_with_the_reason() {
    let target = Altered::new(MemoryTarget::new(), Unaltered);
    let ran = run("tests = ['stat']\nentries = [20]\ndepths = [1, 4]", target, &Clock::start());
    assert_eq!((ran.end.outcome, ran.steps.len()), (RunOutcome::Complete, 1));
    let reason = "1 of 2 cells: a session over memory has at most 1 operation on names in flight, because its client \
                  performs operations on names one at a time";
    assert!(ran.warnings.iter().any(|warning| warning.contains(reason)), "{:?}", ran.warnings);
}
