//! Large directories under a time budget, in virtual time: what is reported while they are filled and removed, and when
//! the run ends.

use std::sync::Arc;
use std::time::Duration;

use sharebench_engine::simulated::{Device, SimulatedTarget, collect};
use sharebench_engine::{Clock, StopSignal};
use sharebench_model::{RunEvent, RunOutcome};
use sharebench_plan::Plan;
use sharebench_target::MemoryTarget;

/// Time of an operation on a name. An entry is made by two of them and removed by one.
const OPERATION: Duration = Duration::from_micros(200);
const ENTRIES: u64 = 20_000;
const SECOND: u64 = 1_000_000_000;

/// Runs a sweep of one large directory within a budget, and returns its events and the instant of its end.
fn events(budget: &str) -> (Vec<RunEvent>, u64) {
    let text = format!(
        "seed = 3\ntime_budget = '{budget}'\nmin_sample_time = '100ms'\nverify = 'off'\n[[target]]\nurl = '/a'\n\
         [sweep]\ntests = ['stat']\nentries = [{ENTRIES}]\nbatch = 100\n"
    );
    let plan = Plan::parse(&text).unwrap().resolve().unwrap();
    let clock = Clock::virtual_at(0);
    let target = MemoryTarget::new();
    let device = Device::new(3).metadata(OPERATION);
    let simulated = SimulatedTarget::new(target.clone(), &clock, device);
    let (end, events) = collect(&plan, &[Arc::new(simulated)], &[], &clock, &StopSignal::default());
    let end = end.unwrap();
    assert_eq!((end.outcome, end.leftovers), (RunOutcome::Complete, Vec::new()));
    assert_eq!(target.names(), Vec::<String>::new());
    (events, clock.now())
}

fn warnings(events: &[RunEvent]) -> Vec<&str> {
    let warnings = events.iter().filter_map(|event| match event {
        RunEvent::Warning(text) => Some(text.as_str()),
        _ => None,
    });
    warnings.collect()
}

#[test]
fn a_budget_leaves_time_for_the_removal_of_the_directories() {
    let (events, ended) = events("30s");
    assert_eq!(warnings(&events), Vec::<&str>::new());
    // Filling takes 8 s, so that as much is reserved, of which the removal uses about half.
    assert!((24 * SECOND..30 * SECOND).contains(&ended), "ended after {ended} ns");
}

#[test]
fn a_removal_beyond_the_budget_is_finished_and_reported() {
    let (events, ended) = events("5s");
    let warnings = warnings(&events);
    let [text] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(text.starts_with("time_budget: exceeded by ") && text.contains("removing"), "{text}");
    assert!(ended > 11 * SECOND, "filled and removed within {ended} ns");
}

#[test]
fn progress_of_filling_and_removal_is_reported_at_most_twice_a_second() {
    let (events, _) = events("20s");
    let filled = events.iter().filter_map(|event| match event {
        RunEvent::Preparing { target: 0, what: "entries of the directories", done, of } => Some((*done, *of)),
        _ => None,
    });
    let filled: Vec<(u64, u64)> = filled.collect();
    assert!(filled.windows(2).all(|pair| pair[0].0 < pair[1].0), "{filled:?}");
    assert!(filled.iter().all(|(done, of)| done <= of && *of == ENTRIES - 100), "{filled:?}");
    let removed = events.iter().filter_map(|event| match event {
        RunEvent::Removing { target: 0, entries } => Some(*entries),
        _ => None,
    });
    let removed: Vec<u64> = removed.collect();
    assert!(removed.windows(2).all(|pair| pair[0] < pair[1]), "{removed:?}");
    // 8 s of filling and 4 s of removal.
    assert!((14..=16).contains(&filled.len()) && (6..=8).contains(&removed.len()), "{filled:?}, {removed:?}");
}
