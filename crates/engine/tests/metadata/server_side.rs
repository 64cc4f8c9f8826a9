//! Tests of work that a server does by itself: what is counted, what is verified after each pass, and what is left.

use sharebench_doubles::MemoryTarget;
use sharebench_engine::Clock;
use sharebench_model::{
    ErrorClass, MetaOp, MetaReply, MetaYield, RunOutcome, SessionOp, StepResult, Verdict,
};
use sharebench_target::{Alteration, Altered, LocalBoxFuture, Session};

use super::replies::{rejected, replied};
use super::runner;

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

impl Alteration for Fault {
    fn call<'s>(&'s mut self, memory: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        Box::pin(async move {
            match (*self, &op) {
                (
                    Self::Lacks,
                    SessionOp::CopyRange { .. } | SessionOp::CloneRange { .. } | SessionOp::PunchHole { .. },
                )
                | (Self::Lacks | Self::Whole, SessionOp::ReadSparse { .. }) => {
                    rejected(ErrorClass::Unsupported, "no such request")
                }
                (Self::Stalls, SessionOp::CopyRange { .. }) => replied(Ok(MetaYield::Bytes(0))),
                (Self::Ignores, SessionOp::PunchHole { .. }) => replied(Ok(MetaYield::Done)),
                (Self::Forgets, SessionOp::CopyRange { to, offset, bytes, .. }) => {
                    let size = offset + bytes;
                    let bytes = *bytes;
                    let extended = memory.call(MetaOp::SetSize { file: *to, size }).await;
                    replied(extended.result.map(|_| MetaYield::Bytes(bytes)))
                }
                _ => memory.call(op).await,
            }
        })
    }
}

/// What a run reported, and the names that it left.
fn run(fault: Fault, sweep: &str) -> (runner::Ran, Vec<String>) {
    let memory = MemoryTarget::new();
    let ran = runner::run(sweep, Altered::new(memory.clone(), fault), &Clock::start());
    (ran, memory.names())
}

/// File data on the wire per operation.
fn data_per_operation(step: &StepResult) -> u64 {
    step.measure.wire.map_or(0, sharebench_model::WireCount::payload) / step.measure.operations
}

#[test]
fn every_test_is_clean_and_leaves_nothing() {
    let sweep = "tests = ['server-side']\ncopy_sizes = ['64KiB', '2MiB']\njobs = [1, 2]";
    let (ran, left) = run(Fault::None, sweep);
    assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
    assert_eq!(ran.steps.len(), 4 * 2 * 2);
    for step in &ran.steps {
        let at = &step.coordinates;
        runner::assert_not_invalid(step);
        assert!(step.checks.iter().any(|check| check.name == "server-side"), "{at}");
        assert!(!step.is_rated_in_bytes() && step.measure.operation_rate() > Some(0.0), "{at}");
        let size = at.number("file_size").unwrap();
        let sparse = at.text("test") == Some("sparse-read");
        // The edges of the hole: 16 KiB each of a file of 64 KiB, 64 KiB each of a larger one.
        let edges = 2 * (size / 4).min(64 << 10);
        assert_eq!(data_per_operation(step), if sparse { edges } else { 0 }, "{at}");
    }
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn tests_that_the_server_rejects_are_skipped_with_its_reason() {
    let (ran, left) = run(Fault::Lacks, "tests = ['server-side']\ncopy_sizes = ['64KiB']");
    assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
    for test in ["server-copy", "clone", "punch-hole"] {
        let reason = format!("skipped {test}: not supported here: test: unsupported (no such request)");
        assert!(ran.warnings.iter().any(|warning| warning.contains(&reason)), "{:?}", ran.warnings);
    }
    assert_eq!(ran.steps.len(), 1, "files with holes can be read everywhere");
    assert_eq!(data_per_operation(&ran.steps[0]), 64 << 10);
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn work_that_the_server_only_reports_is_found() {
    for (fault, test, found) in [
        (Fault::Forgets, "server-copy", "zeros instead of data"),
        (Fault::Stalls, "server-copy", "the server copied 0 of 65536 bytes"),
        (Fault::Ignores, "punch-hole", "data instead of zeros"),
    ] {
        let (ran, left) = run(fault, &format!("tests = ['{test}', 'sparse-read']\ncopy_sizes = ['64KiB']"));
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
        assert_eq!(left, Vec::<String>::new());
    }
}

#[test]
fn files_are_read_whole_where_replies_have_no_holes() {
    let (ran, _) = run(Fault::Whole, "tests = ['sparse-read']\ncopy_sizes = ['2MiB']");
    assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
    assert_eq!(data_per_operation(&ran.steps[0]), 2 << 20);
}
