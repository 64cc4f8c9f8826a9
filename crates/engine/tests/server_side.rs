//! Server-side cells on doubles: what is counted, what is verified after each pass, and what is left.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};

use sharebench_engine::{Clock, Run, RunEnd, StopSignal};
use sharebench_model::{
    DataOp, ErrorClass, Facts, MetaOp, MetaReply, MetaYield, OpError, OpStep, Reply, RunEvent, RunOutcome,
    Slot, StepResult, Verdict, WireCount,
};
use sharebench_plan::Plan;
use sharebench_target::{
    Capabilities, ConnectError, LocalBoxFuture, MemoryTarget, Session, SessionSpec, Target,
};

/// What is wrong with a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    /// It has none of the requests.
    Lacks,
    /// It reports copies that it does not make: the copy has zeros.
    Forgets,
    /// It copies nothing, and reports that.
    Stalls,
    /// It reports holes that it does not make.
    Ignores,
    /// A reply that contains holes is not understood, so that files are read whole.
    Whole,
}

struct Faulty(MemoryTarget, Fault);

struct FaultySession(Box<dyn Session>, Fault);

impl Target for Faulty {
    fn url(&self) -> String {
        self.0.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        Box::pin(async move {
            let session = FaultySession(self.0.connect(spec).await?, self.1);
            Ok(Box::new(session) as Box<dyn Session>)
        })
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
            let replied = |result| MetaReply { result, requests: 1 };
            let lacks = || OpError::new(ErrorClass::Unsupported, OpStep::Request("test"), "no such request");
            match (self.1, &op) {
                (
                    Fault::Lacks,
                    MetaOp::CopyRange { .. } | MetaOp::CloneRange { .. } | MetaOp::PunchHole { .. },
                )
                | (Fault::Lacks | Fault::Whole, MetaOp::ReadSparse { .. }) => replied(Err(lacks())),
                (Fault::Stalls, MetaOp::CopyRange { .. }) => replied(Ok(MetaYield::Bytes(0))),
                (Fault::Ignores, MetaOp::PunchHole { .. }) => replied(Ok(MetaYield::Done)),
                (Fault::Forgets, MetaOp::CopyRange { to, offset, bytes, .. }) => {
                    let size = offset + bytes;
                    let bytes = *bytes;
                    let extended = self.0.call(MetaOp::SetSize { file: *to, size }).await;
                    replied(extended.result.map(|_| MetaYield::Bytes(bytes)))
                }
                _ => self.0.call(op).await,
            }
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
}

fn run(fault: Fault, sweep: &str) -> Ran {
    let target = MemoryTarget::new();
    let text = format!(
        "seed = 3\nrepetitions = 1\nmin_sample_time = '1ms'\nverify = 'full'\n[[target]]\nurl = '/a'\n[sweep]\n{sweep}\n"
    );
    let plan = Plan::parse(&text).unwrap().resolve().unwrap();
    let (sender, receiver) = mpsc::channel();
    let run = Run {
        plan: &plan,
        targets: &[Arc::new(Faulty(target.clone(), fault))],
        done: &[],
        directory: ".sharebench-side",
        resumed: false,
        stop: &StopSignal::default(),
        clock: &Clock::start(),
        events: &sender,
        ranks: None,
    };
    let end = run.execute().unwrap();
    let mut ran =
        Ran { end, steps: Vec::new(), failures: Vec::new(), warnings: Vec::new(), left: target.names() };
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

/// File data on the wire per operation.
fn data_per_operation(step: &StepResult) -> u64 {
    step.measure.wire.map_or(0, sharebench_model::WireCount::payload) / step.measure.operations
}

#[test]
fn every_test_is_clean_and_leaves_nothing() {
    let sweep = "tests = ['server-side']\ncopy_sizes = ['64KiB', '2MiB']\njobs = [1, 2]";
    let ran = run(Fault::None, sweep);
    assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
    assert_eq!(ran.steps.len(), 4 * 2 * 2);
    for step in &ran.steps {
        let at = &step.coordinates;
        let invalid = step.checks.iter().find(|check| check.verdict == Verdict::Invalid);
        assert_eq!(invalid, None, "{at}");
        assert!(step.checks.iter().any(|check| check.name == "server-side"), "{at}");
        assert!(!step.is_rated_in_bytes() && step.measure.operation_rate() > Some(0.0), "{at}");
        let size = at.number("file_size").unwrap();
        let sparse = at.text("test") == Some("sparse-read");
        // The edges of the hole: 16 KiB each of a file of 64 KiB, 64 KiB each of a larger one.
        let edges = 2 * (size / 4).min(64 << 10);
        assert_eq!(data_per_operation(step), if sparse { edges } else { 0 }, "{at}");
    }
    assert_eq!(ran.left, Vec::<String>::new());
}

#[test]
fn tests_that_the_server_rejects_are_skipped_with_its_reason() {
    let ran = run(Fault::Lacks, "tests = ['server-side']\ncopy_sizes = ['64KiB']");
    assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
    for test in ["server-copy", "clone", "punch-hole"] {
        let reason = format!("skipped {test}: not supported here: test: unsupported (no such request)");
        assert!(ran.warnings.iter().any(|warning| warning.contains(&reason)), "{:?}", ran.warnings);
    }
    assert_eq!(ran.steps.len(), 1, "files with holes can be read everywhere");
    assert_eq!(data_per_operation(&ran.steps[0]), 64 << 10);
    assert_eq!(ran.left, Vec::<String>::new());
}

#[test]
fn work_that_the_server_only_reports_is_found() {
    for (fault, test, found) in [
        (Fault::Forgets, "server-copy", "zeros instead of data"),
        (Fault::Stalls, "server-copy", "the server copied 0 of 65536 bytes"),
        (Fault::Ignores, "punch-hole", "data instead of zeros"),
    ] {
        let ran = run(fault, &format!("tests = ['{test}', 'sparse-read']\ncopy_sizes = ['64KiB']"));
        if fault == Fault::Stalls {
            // The trial before the run finds it.
            assert!(ran.warnings.iter().any(|warning| warning.contains("copied 0 of")), "{:?}", ran.warnings);
        } else {
            assert!(
                ran.failures.iter().any(|failure| failure.contains(found)),
                "{fault:?}: {:?}",
                ran.failures
            );
            let of_test = |step: &&StepResult| step.coordinates.text("test") == Some(test);
            assert_eq!(ran.steps.iter().find(of_test).unwrap().verdict(), Verdict::Invalid);
        }
        assert_eq!(ran.left, Vec::<String>::new());
    }
}

#[test]
fn files_are_read_whole_where_replies_have_no_holes() {
    let ran = run(Fault::Whole, "tests = ['sparse-read']\ncopy_sizes = ['2MiB']");
    assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
    assert_eq!(data_per_operation(&ran.steps[0]), 2 << 20);
}
