//! A run of a sweep on one target, and what it reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun, RunEnd, StopSignal};
use sharebench_model::{StepResult, Verdict};
use sharebench_plan::Plan;
use sharebench_target::{Alteration, Altered, Target};

pub struct Ran {
    pub end: RunEnd,
    pub steps: Vec<StepResult>,
    pub failures: Vec<String>,
    pub warnings: Vec<String>,
}

/// Runs the section `sweep` of a plan.
pub fn run(sweep: &str, target: impl Target + 'static, clock: &Clock) -> Ran {
    run_until(sweep, target, (clock, &StopSignal::default()))
}

/// The same, until it is stopped.
pub fn run_until(sweep: &str, target: impl Target + 'static, until: (&Clock, &StopSignal)) -> Ran {
    run_with(("", sweep), target, until)
}

/// The same with further settings of the plan.
pub fn run_with(
    (settings, sweep): (&str, &str),
    target: impl Target + 'static,
    (clock, stop): (&Clock, &StopSignal),
) -> Ran {
    let text = format!(
        "seed = 3\nrepetitions = 1\nmin_sample_time = '1ms'\nverify = 'full'\n{settings}\n[[target]]\nurl = '/a'\n[sweep]\n{sweep}\n"
    );
    let plan = Plan::parse(&text).unwrap().resolve().unwrap();
    let CollectedRun { end, steps, failures, warnings, .. } =
        CollectedRun::until(&plan, &[Arc::new(target)], clock, stop, &[]);
    Ran { end: end.unwrap(), steps, failures, warnings }
}

/// What a test learns of a faulty server. Clones share it.
#[derive(Clone, Default)]
pub struct Watched {
    /// Stops the run.
    pub stop: StopSignal,
    /// Files and directories that are open.
    pub open: Arc<AtomicI64>,
}

/// Runs a section `sweep` with further settings at a faulty server, where each job owns a thread if `blocking`. What the run
/// reported, the names that it left, and the number of files and directories that it did not close.
pub fn run_faulty<A: Alteration + Clone + Send + Sync>(
    faulty: impl FnOnce(Watched) -> A,
    blocking: bool,
    plan: (&str, &str),
) -> (Ran, Vec<String>, i64) {
    let memory = MemoryTarget::new();
    let watched = Watched::default();
    let mut target = Altered::new(memory.clone(), faulty(watched.clone()));
    target.capabilities.blocking = blocking;
    let ran = run_with(plan, target, (&Clock::start(), &watched.stop));
    (ran, memory.names(), watched.open.load(Ordering::SeqCst))
}

/// No check of the step has found it invalid.
pub fn assert_not_invalid(step: &StepResult) {
    let invalid = step.checks.iter().find(|check| check.verdict == Verdict::Invalid);
    assert_eq!(invalid, None, "{}", step.coordinates);
}
