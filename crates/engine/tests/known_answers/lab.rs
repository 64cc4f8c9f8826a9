//! The experiments' bench: runs a plan in virtual time on a simulated server, and prints figures.

use std::sync::Arc;
use std::time::Duration;

use sharebench_engine::{Clock, CollectedRun};
use sharebench_model::{Histogram, RunOutcome, StepResult, Verdict};
use sharebench_plan::Plan;
use sharebench_simulated::{Device, Served, SimulatedTarget};
use sharebench_target::{NullTarget, Target};

/// The engine's pause between the last login and the first transaction.
pub const GRACE_NS: u64 = 20_000_000;

/// Runs a plan that must end well.
pub fn run(plan: &str, target: impl Target + 'static, clock: &Clock) -> CollectedRun {
    let plan = Plan::parse(plan).unwrap().resolve().unwrap();
    let run = CollectedRun::new(&plan, &[Arc::new(target)], clock);
    assert_eq!(run.end.as_ref().unwrap().outcome, RunOutcome::Complete);
    run
}

pub fn steps(plan: &str, target: impl Target + 'static, clock: &Clock) -> Vec<StepResult> {
    run(plan, target, clock).steps
}

/// A plan of single reads of 512 bytes without verification; `seed` decides the load's draws.
pub fn load_plan(seed: u64, pace: &str) -> String {
    format!(
        "seed = {seed}\nverify = 'off'\ntimeout = '1000s'\n[[target]]\nurl = '/simulated'\n[load]\n\
         workload = 'single'\nblock = 512\nscale = '8KiB'\n{pace}\n"
    )
}

/// The steps of [`load_plan`], and the server's log of them.
pub fn loads(seed: u64, pace: &str, device: Device) -> (Vec<StepResult>, Vec<Served>) {
    let clock = Clock::virtual_at(0);
    let target = SimulatedTarget::new(NullTarget, &clock, device);
    let steps = steps(&load_plan(seed, pace), target.clone(), &clock);
    (steps, target.log())
}

/// The only step of [`loads`], with the log.
pub fn load(seed: u64, pace: &str, device: Device) -> (StepResult, Vec<Served>) {
    let (mut steps, log) = loads(seed, pace, device);
    assert_eq!(steps.len(), 1);
    (steps.remove(0), log)
}

/// When the warm-up of the first step began.
pub fn window_start(log: &[Served]) -> u64 {
    log.iter().filter(|served| served.write).map(|served| served.end).max().unwrap() + GRACE_NS
}

/// Prints a figure with the truth, and asserts `tolerance` (a share of the truth).
pub fn close(what: &str, measured: f64, truth: f64, tolerance: f64) {
    let off = measured / truth - 1.0;
    println!(
        "{what:<44} {truth:>12.4} measured {measured:>12.4}  off {:>8.3} %  allowed {:>6.2} %",
        off * 100.0,
        tolerance * 100.0
    );
    assert!(off.abs() <= tolerance, "{what}: {measured} instead of {truth}");
}

/// Prints a figure without tolerance, for information.
pub fn report_figure(what: &str, measured: impl std::fmt::Display) {
    println!("{what:<44} {:>12} measured {measured:>12}", "");
}

/// The verdict of a check of a step.
pub fn verdict(step: &StepResult, name: &str) -> Verdict {
    let check = step.checks.iter().find(|check| check.name == name);
    check.unwrap_or_else(|| panic!("no check {name} in {:?}", step.checks)).verdict
}

pub const fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A quantile in milliseconds.
pub fn quantile_ms(histogram: &Histogram, quantile: f64) -> f64 {
    histogram.quantile(quantile) as f64 / 1e6
}

/// A mean in milliseconds.
pub fn mean_ms(histogram: &Histogram) -> f64 {
    histogram.mean() / 1e6
}

pub fn histogram(times: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    times.into_iter().for_each(|nanos| histogram.record(nanos));
    histogram
}
