//! Large directories under a time budget, in virtual time: what is reported while they are filled and removed, and when
//! the run ends.

use std::sync::Arc;
use std::time::Duration;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun, RunEnd};
use sharebench_model::RunEvent;
use sharebench_plan::Plan;
use sharebench_simulated::{Device, SimulatedTarget};

/// Time of an operation on a name. An entry is made by two of them and removed by one.
const OPERATION: Duration = Duration::from_micros(200);
const ENTRIES: u64 = 20_000;
const SECOND: u64 = 1_000_000_000;

/// Runs a sweep of one large directory within a budget, and returns what it reported and the instant of its end.
fn run(budget: &str) -> (CollectedRun, u64) {
    let text = format!(
        "seed = 3\ntime_budget = '{budget}'\nmin_sample_time = '100ms'\nverify = 'off'\n[[target]]\nurl = '/a'\n\
         [sweep]\ntests = ['stat']\nentries = [{ENTRIES}]\nbatch = 100\n"
    );
    let plan = Plan::parse(&text).unwrap().resolve().unwrap();
    let clock = Clock::virtual_at(0);
    let target = MemoryTarget::new();
    let device = Device::new(3).metadata(OPERATION);
    let simulated = SimulatedTarget::new(target.clone(), &clock, device);
    let run = CollectedRun::new(&plan, &[Arc::new(simulated)], &clock);
    assert_eq!(run.end, Ok(RunEnd::CLEAN));
    assert_eq!(target.names(), Vec::<String>::new());
    (run, clock.now())
}

#[test]
fn a_budget_leaves_time_for_the_removal_of_the_directories() {
    let (run, ended) = run("30s");
    assert_eq!(run.warnings, Vec::<&str>::new());
    // Filling takes 8 s, so that as much is reserved, of which the removal uses about half.
    assert!((24 * SECOND..30 * SECOND).contains(&ended), "ended after {ended} ns");
}

#[test]
fn a_removal_beyond_the_budget_is_finished_and_reported() {
    let (run, ended) = run("5s");
    let [text] = run.warnings.as_slice() else { panic!("{:?}", run.warnings) };
    assert!(text.starts_with("time_budget: exceeded by ") && text.contains("removing"), "{text}");
    assert!(ended > 11 * SECOND, "filled and removed within {ended} ns");
}

#[test]
fn progress_of_filling_and_removal_is_reported_at_most_twice_a_second() {
    let (run, _) = run("20s");
    let filled = run.events.iter().filter_map(|event| match event {
        RunEvent::Preparing { target: 0, what: "entries of the directories", done, of } => Some((*done, *of)),
        _ => None,
    });
    let filled: Vec<(u64, u64)> = filled.collect();
    assert!(filled.windows(2).all(|pair| pair[0].0 < pair[1].0), "{filled:?}");
    assert!(filled.iter().all(|(done, of)| done <= of && *of == ENTRIES - 100), "{filled:?}");
    let removed = run.events.iter().filter_map(|event| match event {
        RunEvent::Removing { target: 0, entries } => Some(*entries),
        _ => None,
    });
    let removed: Vec<u64> = removed.collect();
    assert!(removed.windows(2).all(|pair| pair[0] < pair[1]), "{removed:?}");
    // 8 s of filling and 4 s of removal.
    assert!((14..=16).contains(&filled.len()) && (6..=8).contains(&removed.len()), "{filled:?}, {removed:?}");
}
