//! Tests of names and attributes: every test, what is counted, what is verified, and what is left.

use std::time::Duration;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::Clock;
use sharebench_model::{
    ErrorClass, MetaOp, MetaReply, OpenHow, RateBase, RunOutcome, SessionOp, StepError, Verdict,
};
use sharebench_plan::{MetadataGroup, MetadataTest};
use sharebench_simulated::{Device, SimulatedTarget};
use sharebench_target::{Alteration, Altered, LocalBoxFuture, Session};

use super::replies::rejected;
use super::runner::{Ran, assert_not_invalid, run};

/// Requests per operation at a target without a protocol, where each call of a session is one; none where one request
/// serves many operations.
fn requests_of(test: MetadataTest) -> Option<u64> {
    match test {
        MetadataTest::Create | MetadataTest::OpenClose => Some(2),
        MetadataTest::CreateWrite
        | MetadataTest::OpenReadClose
        | MetadataTest::StatThenOpen
        | MetadataTest::Truncate => Some(3),
        MetadataTest::ReadDirectory | MetadataTest::ReadDirectoryAttributes | MetadataTest::TreeWalk => None,
        _ => Some(1),
    }
}

#[test]
fn every_test_runs_in_every_layout_and_leaves_nothing() {
    let target = MemoryTarget::new();
    let sweep = "tests = ['metadata']\nentries = [8, 150]\njobs = [1, 2]\nlayouts = ['own', 'shared', 'tree']\n\
                 batch = 20\ntree_fan_out = 2";
    let ran = run(sweep, target.clone(), &Clock::start());
    assert_eq!((ran.end.outcome, ran.failures), (RunOutcome::Complete, vec![]));
    assert_eq!(
        ran.steps.len(),
        MetadataTest::of_group(MetadataGroup::Names).len() * 2 * 5,
        "one job shares with nobody"
    );
    for step in &ran.steps {
        let at = &step.coordinates;
        assert_not_invalid(step);
        let measure = &step.measure;
        let test: MetadataTest = at.text("test").unwrap().parse().unwrap();
        assert!(measure.operations > 0 && measure.window_ns > 0, "{at}");
        assert_eq!(measure.rate_base, RateBase::Window);
        assert!(!step.is_rated_in_bytes() && measure.operation_rate() > Some(0.0), "{at}");
        let requests = measure.wire.map_or(0, |wire| wire.requests);
        if let Some(each) = requests_of(test) {
            assert_eq!(requests, each * measure.operations, "{at}");
            assert_eq!(measure.service.len(), measure.operations, "{at}");
        } else {
            assert!(requests > 0 && requests < measure.operations, "{at}: {requests}");
        }
        assert_eq!(measure.verified, measure.bytes.read, "{at}");
    }
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn virtual_time_gives_the_rate_of_the_device() {
    let clock = Clock::virtual_at(0);
    let device = Device::new(5).metadata(Duration::from_millis(1));
    let target = SimulatedTarget::new(MemoryTarget::new(), &clock, device);
    let ran = run("tests = ['stat', 'create', 'unlink']\nentries = [50]\njobs = [1, 4]", target, &clock);
    assert_eq!(ran.end.outcome, RunOutcome::Complete);
    for step in &ran.steps {
        let jobs = step.coordinates.number("jobs").unwrap() as f64;
        // A create is an open and a close.
        let calls = if step.coordinates.text("test") == Some("create") { 2.0 } else { 1.0 };
        assert_eq!(step.measure.operation_rate(), Some(jobs * 1000.0 / calls), "{}", step.coordinates);
    }
}

/// A target that works on entries as another user would, while a test runs, or that is not able to do something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interference {
    /// Adds a name to the directory of the first stat.
    Adds,
    /// Removes the name after it was found.
    Removes,
    /// Makes the file larger after its attributes were read.
    Grows,
    /// Loses the second half of each write of a small file.
    Shortens,
    /// Has no links.
    NoLinks,
    /// Has no inodes left after N creates.
    InodeQuota(u32),
    /// Denies access after N stats.
    Revoked(u32),
}

#[derive(Clone)]
struct Interfering {
    how: Interference,
    /// Operations of the kind that matters in this session.
    seen: u32,
}

impl Alteration for Interfering {
    fn call<'s>(&'s mut self, memory: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        Box::pin(async move {
            let concerns = match self.how {
                // A job also sends requests for a missing name, to find its directory before the first pass.
                Interference::Adds | Interference::Grows | Interference::Removes => {
                    matches!(&op, SessionOp::Basic(MetaOp::Stat { path }) if path.rsplit('/').next().is_some_and(|name| name.starts_with('b')))
                }
                Interference::Revoked(_) => matches!(op, SessionOp::Basic(MetaOp::Stat { .. })),
                Interference::Shortens => matches!(op, SessionOp::Basic(MetaOp::Close { .. })),
                Interference::NoLinks => matches!(op, SessionOp::Basic(MetaOp::Link { .. })),
                Interference::InodeQuota(_) => {
                    matches!(op, SessionOp::Basic(MetaOp::Open { how: OpenHow::CreateNew, .. }))
                }
            };
            self.seen += u32::from(concerns);
            let first = concerns && self.seen == 1;
            match (self.how, &op) {
                (Interference::Adds, SessionOp::Basic(MetaOp::Stat { path })) if first => {
                    let foreign = format!("{path}.foreign");
                    let _ = memory.call(MetaOp::open(foreign, OpenHow::CreateNew)).await;
                }
                (Interference::Removes, SessionOp::Basic(MetaOp::Stat { path })) if first => {
                    let path = path.clone();
                    let reply = memory.call(op).await;
                    let _ = memory.call(MetaOp::Remove { path }).await;
                    return reply;
                }
                (Interference::Grows, SessionOp::Basic(MetaOp::Stat { path })) if first => {
                    let open = MetaOp::open(path.clone(), OpenHow::ReadWrite);
                    let reply = memory.call(op).await;
                    let (file, _) = memory.call(open).await.result.unwrap().into_opened().unwrap();
                    let _ = memory.call(MetaOp::SetSize { file, size: 7 }).await;
                    let _ = memory.call(MetaOp::Close { file }).await;
                    return reply;
                }
                (Interference::Shortens, SessionOp::Basic(MetaOp::Close { file })) => {
                    let file = *file;
                    let _ = memory.call(MetaOp::SetSize { file, size: 100 }).await;
                }
                (Interference::NoLinks, SessionOp::Basic(MetaOp::Link { .. })) => {
                    return rejected(ErrorClass::Unsupported, "no links on this volume");
                }
                (Interference::InodeQuota(most), _) if concerns && self.seen > most => {
                    return rejected(ErrorClass::NoSpace, "no inodes left");
                }
                (Interference::Revoked(most), _) if concerns && self.seen > most => {
                    return rejected(ErrorClass::Refused, "permission denied");
                }
                _ => {}
            }
            memory.call(op).await
        })
    }
}

fn interfered(how: Interference, sweep: &str) -> (Ran, Vec<String>) {
    let inner = MemoryTarget::new();
    // In virtual time each test has one pass.
    let ran = run(sweep, Altered::new(inner.clone(), Interfering { how, seen: 0 }), &Clock::virtual_at(0));
    (ran, inner.names())
}

#[test]
fn names_that_others_add_are_reported_as_foreign() {
    let (ran, left) = interfered(Interference::Adds, "tests = ['stat']\nentries = [30]");
    assert!(ran.failures[0].contains("1 foreign (first: 'b000000000000000.foreign')"), "{:?}", ran.failures);
    assert_eq!(ran.steps[0].verdict(), Verdict::Invalid);
    assert_eq!((ran.end.outcome, left), (RunOutcome::Complete, vec![]));
}

#[test]
fn names_that_are_missing_are_reported() {
    let (ran, _) = interfered(Interference::Removes, "tests = ['stat']\nentries = [30]");
    assert!(ran.failures[0].contains("1 missing (first: 'b000000000000000')"), "{:?}", ran.failures);
    assert_eq!(ran.steps[0].verdict(), Verdict::Invalid);
}

#[test]
fn a_file_that_changes_between_its_attributes_and_its_open_is_reported() {
    let sweep = "tests = ['stat-then-open']\nentries = [30]";
    let (removed, left) = interfered(Interference::Removes, sweep);
    let RunOutcome::Incomplete(StepError::TargetLost { reason, .. }) = removed.end.outcome else {
        panic!("{:?}", removed.end.outcome)
    };
    assert!(reason.contains(&ErrorClass::NotFound.to_string()), "{reason}");
    assert_eq!((removed.end.leftovers, left), (vec![], vec![]));
    let (grown, left) = interfered(Interference::Grows, sweep);
    let reason = "a file of 0 bytes was opened with 7 bytes";
    assert!(grown.failures.iter().any(|failure| failure.contains(reason)), "{:?}", grown.failures);
    assert_eq!(grown.steps[0].verdict(), Verdict::Invalid);
    assert_eq!((grown.end.outcome, left), (RunOutcome::Complete, vec![]));
}

#[test]
fn content_that_was_lost_is_reported() {
    let (ran, _) = interfered(Interference::Shortens, "tests = ['create-write']\nentries = [3]");
    assert!(ran.failures.iter().any(|failure| failure.contains("size: 100")), "{:?}", ran.failures);
    assert_eq!(ran.steps[0].verdict(), Verdict::Invalid);
}

#[test]
fn a_test_that_the_server_rejects_is_skipped_with_its_reason() {
    let (ran, left) = interfered(Interference::NoLinks, "tests = ['link', 'stat']\nentries = [3]");
    assert_eq!(ran.steps.len(), 1);
    assert!(ran.warnings[0].contains("skipped link: not supported here"), "{:?}", ran.warnings);
    assert_eq!((ran.end.outcome, left), (RunOutcome::Complete, vec![]));
}

#[test]
fn a_run_without_inodes_or_permission_ends_with_the_reason_and_cleans_up() {
    for (how, test, reason) in [
        (Interference::InodeQuota(40), "create", "no inodes left"),
        (Interference::Revoked(10), "stat", "permission denied"),
    ] {
        let (ran, left) = interfered(how, &format!("tests = ['{test}']\nentries = [100]"));
        let RunOutcome::Incomplete(StepError::TargetLost { reason: found, .. }) = ran.end.outcome else {
            panic!("{:?}", ran.end.outcome)
        };
        assert!(found.contains(reason), "{found}");
        assert_eq!((ran.end.leftovers, left), (vec![], vec![]));
    }
}
