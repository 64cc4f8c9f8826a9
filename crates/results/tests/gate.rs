//! Passes of a gate are kept per plan and host, and only complete runs can pass.
#![expect(clippy::unwrap_used, reason = "a test may panic, its helper functions too")]

mod sample;

use sample::{Scratch, header, step};
use sharebench_model::{RunOutcome, StepError};
use sharebench_results::{GatePass, Problem, RunId, Store};

const PLAN: &str = "title = 'nightly'\n";

/// Stores a run with this outcome.
fn run(store: &mut Store, outcome: &RunOutcome) -> RunId {
    let run = store.begin_run(&header()).unwrap();
    store.record_step(run, &step(0)).unwrap();
    store.finish_run(run, outcome).unwrap();
    run
}

fn pass(run: RunId, plan: &str, host: &str) -> GatePass {
    let passed_unix_ms = 1_780_000_000_000 + run.0.unsigned_abs();
    GatePass { run, plan: plan.to_owned(), host: host.to_owned(), passed_unix_ms, starts_series: false }
}

#[test]
fn passes_are_those_of_the_plan_and_the_host_in_their_order() {
    let file = Scratch::new("passes");
    let mut store = Store::open(&file.0).unwrap();
    assert_eq!(store.passed_runs(PLAN, "lab").unwrap(), [], "a file without a pass");
    let runs: Vec<RunId> = (0..5).map(|_| run(&mut store, &RunOutcome::Complete)).collect();
    let others = [(0, PLAN, "lab"), (1, PLAN, "other"), (2, "title = 'weekly'\n", "lab"), (3, PLAN, "lab")];
    for (index, plan, host) in others {
        store.record_pass(&pass(runs[index], plan, host)).unwrap();
    }
    assert_eq!(store.passed_runs(PLAN, "lab").unwrap(), [runs[0], runs[3]]);
    assert_eq!(store.passed_runs(PLAN, "other").unwrap(), [runs[1]]);
    let first = GatePass { starts_series: true, ..pass(runs[4], PLAN, "lab") };
    store.record_pass(&first).unwrap();
    assert_eq!(store.passed_runs(PLAN, "lab").unwrap(), [runs[4]], "a new series");
    drop(store);
    let reader = Store::open_read_only(&file.0).unwrap();
    assert_eq!(reader.passed_runs(PLAN, "other").unwrap(), [runs[1]], "another series stays");
    assert_eq!(reader.runs().unwrap().len(), 5);
}

#[test]
fn a_run_that_ended_early_cannot_pass_and_a_run_passes_once() {
    let file = Scratch::new("early");
    let mut store = Store::open(&file.0).unwrap();
    let stopped = run(&mut store, &RunOutcome::Incomplete(StepError::Stopped));
    let error = store.record_pass(&pass(stopped, PLAN, "lab")).unwrap_err();
    assert!(matches!(error.problem, Problem::OutOfOrder(_)), "{error}");
    let unknown = store.record_pass(&pass(RunId(9), PLAN, "lab")).unwrap_err();
    assert!(matches!(unknown.problem, Problem::NoRun(RunId(9))), "{unknown}");
    let complete = run(&mut store, &RunOutcome::Complete);
    store.record_pass(&pass(complete, PLAN, "lab")).unwrap();
    assert!(store.record_pass(&pass(complete, PLAN, "lab")).is_err());
    assert_eq!(store.passed_runs(PLAN, "lab").unwrap(), [complete]);
}
