//! Policies of whole runs on doubles: refused before anything is made, kept, watched, and timed.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun, RunEnd, StartError};
use sharebench_model::{
    DataOp, IoPolicy, MetaReply, MetaYield, Residency, RunOutcome, SessionOp, Slot, StepError, StepResult,
    Verdict,
};
use sharebench_plan::Plan;
use sharebench_target::{
    Alteration, Capabilities, Connecting, LocalBoxFuture, NullTarget, PolicyRefusal, PolicyTerms, Session,
    SessionSpec, Target,
};

/// A target in memory with a page cache that holds the same whatever is done.
#[derive(Clone)]
struct Paged {
    inner: MemoryTarget,
    resident: u64,
    dirty: u64,
    alignment: u32,
    /// Whether it looks like a path of the system.
    path: bool,
    /// Reads of all sessions.
    reads: Arc<AtomicU64>,
}

struct PagedSession {
    seen: Residency,
    reads: Arc<AtomicU64>,
}

impl Paged {
    fn new(resident: u64, dirty: u64) -> Self {
        Self { inner: MemoryTarget::new(), resident, dirty, alignment: 1, path: false, reads: Arc::default() }
    }
}

impl Target for Paged {
    fn url(&self) -> String {
        "paged://".into()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { blocking: self.path, ..self.inner.capabilities() }
    }

    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        let alignment = if wanted.is_normal() { 1 } else { self.alignment };
        self.inner.policy(wanted).map(|_| PolicyTerms { alignment })
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        let seen = Residency { bytes: 65_536, resident: self.resident, dirty: Some(self.dirty) };
        Box::pin(async move {
            let inner = self.inner.connect(spec).await?;
            let reads = self.reads.clone();
            Ok(PagedSession { seen, reads }.session(inner))
        })
    }
}

impl Alteration for PagedSession {
    fn submit(&mut self, inner: &mut dyn Session, slot: Slot, op: DataOp) {
        self.reads.fetch_add(u64::from(matches!(op, DataOp::Read { .. })), Ordering::Relaxed);
        inner.submit(slot, op);
    }

    fn call<'s>(&'s mut self, inner: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        let result = match op {
            SessionOp::Residency { .. } => Ok(MetaYield::Residency(self.seen)),
            SessionOp::DropCache { .. } => Ok(MetaYield::Done),
            other => return inner.call(other),
        };
        Box::pin(std::future::ready(MetaReply { result, requests: 0 }))
    }
}

/// Runs a sweep of one 64 KiB file in records of 4 KiB over the targets `a` and, where given, `b`.
fn run(
    head: &str,
    sweep: &str,
    targets: &[Arc<dyn Target>],
) -> (Result<RunEnd, StartError>, Vec<StepResult>) {
    let named = ["a", "b"].into_iter().zip(targets);
    let named: Vec<String> =
        named.map(|(name, _)| format!("[[target]]\nname = '{name}'\nurl = '/{name}'\n")).collect();
    let named = named.concat();
    let text = format!(
        "seed = 7\nrepetitions = 1\nmin_sample_time = '1ms'\n{head}\n{named}[sweep]\nfile_sizes = ['64KiB']\n\
         record_sizes = ['4KiB']\n{sweep}"
    );
    let plan = Plan::parse(&text).unwrap().resolve().unwrap();
    let run = CollectedRun::new(&plan, targets, &Clock::start());
    (run.end, run.steps)
}

fn check<'a>(step: &'a StepResult, name: &str) -> Option<&'a sharebench_model::Check> {
    step.checks.iter().find(|check| check.name == name)
}

#[test]
fn a_policy_that_one_target_cannot_keep_is_refused_before_anything_is_made_on_any() {
    let first = MemoryTarget::new();
    let targets: [Arc<dyn Target>; 2] = [Arc::new(first.clone()), Arc::new(NullTarget)];
    for (sweep, words) in [
        ("cache = ['normal', 'unbuffered']", "b: cache=unbuffered: "),
        ("sync = ['write-through']", "b: sync=write-through: "),
    ] {
        let (end, steps) = run("", sweep, &targets);
        let error = end.unwrap_err();
        assert!(
            matches!(error, StartError::Beyond { .. }) && error.to_string().starts_with(words),
            "{error}"
        );
        assert!(steps.is_empty() && first.names().is_empty());
    }
}

#[test]
fn a_record_that_direct_access_cannot_serve_is_refused_with_the_alignment() {
    let target = Paged { alignment: 8192, ..Paged::new(0, 0) };
    let (end, _) = run("", "cache = ['unbuffered']", &[Arc::new(target.clone())]);
    let error = end.unwrap_err().to_string();
    assert!(
        error.contains("4096 bytes") && error.contains("8192 bytes") && error.contains("a: cache="),
        "{error}"
    );
    assert!(run("", "cache = ['normal']", &[Arc::new(target)]).0.is_ok());
}

#[test]
fn every_policy_reads_what_was_written_and_says_so_with_each_request() {
    let target = MemoryTarget::new();
    let sweep = "cache = ['normal', 'no-local', 'unbuffered']\nsync = ['normal', 'write-through']\n";
    let (end, steps) = run("", sweep, &[Arc::new(target.clone())]);
    assert_eq!(end.unwrap().outcome, RunOutcome::Complete);
    // Three tests write, three read; only those that write know the sync axis.
    assert_eq!(steps.len(), 3 * (3 * 2 + 3));
    for step in &steps {
        let measure = &step.measure;
        let at = &step.coordinates;
        let sent = measure.evidence.sent;
        let through = if at.text("sync").is_some() { measure.operations } else { 0 };
        let unbuffered = if at.text("cache") == Some("unbuffered") { measure.operations } else { 0 };
        assert_eq!((sent.through, sent.unbuffered), (through, unbuffered), "{at}");
        assert_eq!((measure.verified, measure.errors.len()), (measure.bytes.read, 0), "{at}");
        assert!(check(step, "write-through").is_none() && check(step, "unbuffered").is_none(), "{at}");
    }
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn a_cold_read_of_a_cached_file_gets_a_warning_with_the_share() {
    let (_, steps) = run("", "tests = ['read', 'reread']", &[Arc::new(Paged::new(16_384, 0))]);
    for step in &steps {
        let read = step.coordinates.text("test") == Some("read");
        assert_eq!(step.measure.evidence.before.map(|seen| seen.resident), read.then_some(16_384));
        assert_eq!(check(step, "cold").map(|check| check.verdict), read.then_some(Verdict::Warning));
        if let Some(check) = check(step, "cold") {
            assert!(check.detail.contains("a cold start was requested, but 25 %"), "{check:?}");
        }
    }
    let (_, steps) = run("", "tests = ['read']", &[Arc::new(Paged::new(0, 0))]);
    assert!(check(&steps[0], "cold").is_none() && steps[0].measure.evidence.drops > 0);
}

#[test]
fn a_new_file_is_read_once_before_a_cell_that_takes_it_as_it_is_out_of_the_page_cache() {
    for (test, path, more) in [
        ("random-read", true, 16),
        ("random-read", false, 0),
        ("rewrite", true, 16),
        ("write", true, 0),
        ("read", true, 0),
        // This one reads it anyway.
        ("reread", true, 16),
    ] {
        let target = Paged { path, ..Paged::new(0, 0) };
        // A server's cache that is warmed would be one more reading.
        let sweep = format!("tests = ['{test}']\nserver_cache = ['as-is']");
        let (_, steps) = run("", &sweep, &[Arc::new(target.clone())]);
        let [step] = &steps[..] else { panic!("{steps:?}") };
        let measured = step.measure.bytes.read / 4096;
        assert_eq!(target.reads.load(Ordering::Relaxed), measured + more, "{test}, {path}");
    }
}

#[test]
fn a_write_through_that_leaves_dirty_pages_voids_the_step() {
    let sweep = "tests = ['rewrite']\nsync = ['normal', 'write-through']\n";
    let (_, steps) = run("", sweep, &[Arc::new(Paged::new(65_536, 4096))]);
    for step in &steps {
        let through = step.coordinates.text("sync").is_some();
        assert_eq!(step.verdict() == Verdict::Invalid, through, "{:?}", step.checks);
        assert_eq!(step.measure.evidence.dirty, through.then_some(4096));
    }
}

#[test]
fn flushes_and_closes_are_part_of_the_busy_time_and_reported_separately() {
    let sweep = "tests = ['write', 'rewrite', 'read']\ninclude = ['flush', 'close']\n";
    let target = MemoryTarget::new();
    let (end, steps) = run("", sweep, &[Arc::new(target.clone())]);
    assert_eq!(end.unwrap().outcome, RunOutcome::Complete);
    for step in &steps {
        let measure = &step.measure;
        let at = &step.coordinates;
        let seen = *measure.evidence;
        let writes = measure.bytes.written > 0;
        let passes = measure.operations / 16;
        assert_eq!(at.text("included"), Some(if writes { "flush+close" } else { "close" }));
        assert_eq!(seen.flushes, if writes { passes } else { 0 }, "{at}");
        // One close per pass, one flush per pass that writes; operations are those on records only.
        assert_eq!(measure.wire.unwrap().requests, measure.operations + passes + seen.flushes, "{at}");
        assert!(seen.close_ns > 0 && seen.close_ns + seen.flush_ns < measure.busy_ns, "{at} {seen:?}");
        assert!(measure.busy_ns <= measure.window_ns);
        assert_eq!(measure.durable().is_some(), writes);
        if let (Some(acknowledged), Some(durable)) = (measure.acknowledged(), measure.durable()) {
            let all = measure.throughput().unwrap();
            assert!(all < durable && durable < acknowledged, "{all} {durable} {acknowledged}");
        }
    }
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn a_command_runs_before_each_step() {
    let log = std::env::temp_dir().join(format!("sharebench-between-{}", std::process::id()));
    let head = format!("pre_step_cmd = 'echo x >> {}'", log.display());
    let first = MemoryTarget::new();
    let second = MemoryTarget::new();
    let targets: [Arc<dyn Target>; 2] = [Arc::new(first.clone()), Arc::new(second.clone())];
    let (end, steps) = run(&head, "tests = ['write', 'rewrite', 'read']", &targets);
    assert_eq!(end.unwrap().outcome, RunOutcome::Complete);
    let lines = std::fs::read_to_string(&log).unwrap().lines().count();
    std::fs::remove_file(&log).unwrap();
    assert_eq!((steps.len(), lines), (6, 6));
    for step in &steps {
        assert_eq!((step.measure.errors.len(), step.measure.verified), (0, step.measure.bytes.read));
    }
    assert!(first.names().is_empty() && second.names().is_empty());
}

#[test]
fn a_command_that_fails_ends_the_run_names_the_flag_and_leaves_nothing() {
    let target = MemoryTarget::new();
    let command = if cfg!(windows) { "echo busy>&2& exit 32" } else { "echo busy >&2; exit 32" };
    let head = format!("pre_step_cmd = '{command}'");
    let (end, steps) = run(&head, "", &[Arc::new(target.clone())]);
    let RunOutcome::Incomplete(StepError::PreStepCommandFailed(why)) = end.unwrap().outcome else {
        panic!("it continued")
    };
    assert!(why.contains("--pre-step-cmd") && why.contains("exit code 32") && why.contains("busy"), "{why}");
    assert!(steps.is_empty() && target.names().is_empty());
}

#[test]
fn jobs_apply_policies_and_flush_and_close_within_their_window() {
    let sweep = "tests = ['write', 'rewrite', 'read', 'reread', 'fwrite', 'fread']\njobs = [2]\nstream_buffer = '8KiB'\n\
                 cache = ['normal', 'unbuffered']\nsync = ['write-through']\ninclude = ['flush', 'close']\n";
    let target = MemoryTarget::new();
    let (end, steps) = run("", sweep, &[Arc::new(target.clone())]);
    assert_eq!(end.unwrap().outcome, RunOutcome::Complete);
    assert_eq!(steps.len(), 6 * 2);
    for step in &steps {
        let measure = &step.measure;
        let at = &step.coordinates;
        let seen = *measure.evidence;
        let streams = at.text("test").unwrap().starts_with('f');
        let requests = if streams { measure.operations / 2 } else { measure.operations };
        let writes = measure.bytes.written > 0;
        assert_eq!(seen.sent.through, if writes { requests } else { 0 }, "{at}");
        assert_eq!(seen.sent.unbuffered, if at.text("cache").is_some() { requests } else { 0 }, "{at}");
        assert_eq!(seen.flushes, if writes { measure.passes } else { 0 }, "{at}");
        assert!(seen.close_ns > 0 && seen.close_ns + seen.flush_ns < 2 * measure.window_ns, "{at} {seen:?}");
        assert_eq!((measure.verified, measure.errors.len()), (measure.bytes.read, 0), "{at}");
        assert!(check(step, "write-through").is_none() && check(step, "unbuffered").is_none(), "{at}");
    }
    assert_eq!(target.names(), Vec::<String>::new());
}

#[test]
fn cached_pages_of_jobs_are_found_after_they_closed_their_files() {
    for include in ["", "include = ['close']\n"] {
        let sweep = format!(
            "tests = ['rewrite', 'read']\njobs = [2]\nshared_file = true\nsync = ['write-through']\n{include}"
        );
        let (_, steps) = run("", &sweep, &[Arc::new(Paged::new(16_384, 4096))]);
        for step in &steps {
            let writes = step.coordinates.text("test") == Some("rewrite");
            assert_eq!(step.measure.evidence.dirty, writes.then_some(4096), "{include}");
            assert_eq!(check(step, "write-through").is_some(), writes);
            assert_eq!(check(step, "cold").is_some(), !writes);
        }
    }
}

#[test]
fn a_command_runs_before_cells_of_several_jobs_too() {
    let target = MemoryTarget::new();
    let sweep = "tests = ['write', 'rewrite', 'read']\njobs = [1, 2]\n";
    let (end, steps) = run("pre_step_cmd = 'exit 0'", sweep, &[Arc::new(target.clone())]);
    assert_eq!((end.unwrap().outcome, steps.len()), (RunOutcome::Complete, 6));
    assert!(steps.iter().all(|step| step.measure.errors.is_empty() && step.measure.operations > 0));
    assert!(target.names().is_empty());
}
