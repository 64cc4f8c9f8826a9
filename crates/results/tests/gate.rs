//! Runs that count for a gate are kept per plan and host, and only complete runs count.
use crate::sample::{Scratch, header, step};
use sharebench_model::{RunOutcome, StepError};
use sharebench_results::{GateRun, Problem, RunId, Store};

const PLAN: &str = "title = 'nightly'\n";

/// Stores a run with this outcome.
fn run(store: &mut Store, outcome: &RunOutcome) -> RunId {
    let run = store.begin_run(&header()).unwrap();
    store.record_step(run, &step(0)).unwrap();
    store.finish_run(run, outcome).unwrap();
    run
}

fn counted(run: RunId, plan: &str, host: &str) -> GateRun {
    let judged_unix_ms = 1_780_000_000_000 + run.0.unsigned_abs();
    GateRun { run, plan: plan.to_owned(), host: host.to_owned(), judged_unix_ms, starts_series: false }
}

#[test]
fn runs_that_count_are_those_of_the_plan_and_the_host_in_their_order() {
    let file = Scratch::new("counted");
    let mut store = Store::open(&file.0).unwrap();
    assert_eq!(store.gate_runs(PLAN, "lab").unwrap(), [], "a file without a gate");
    let runs: Vec<RunId> = (0..5).map(|_| run(&mut store, &RunOutcome::Complete)).collect();
    let others = [(0, PLAN, "lab"), (1, PLAN, "other"), (2, "title = 'weekly'\n", "lab"), (3, PLAN, "lab")];
    for (index, plan, host) in others {
        store.record_gate_run(&counted(runs[index], plan, host)).unwrap();
    }
    assert_eq!(store.gate_runs(PLAN, "lab").unwrap(), [runs[0], runs[3]]);
    assert_eq!(store.gate_runs(PLAN, "other").unwrap(), [runs[1]]);
    let first = GateRun { starts_series: true, ..counted(runs[4], PLAN, "lab") };
    store.record_gate_run(&first).unwrap();
    assert_eq!(store.gate_runs(PLAN, "lab").unwrap(), [runs[4]], "a new series");
    drop(store);
    let reader = Store::open_read_only(&file.0).unwrap();
    assert_eq!(reader.gate_runs(PLAN, "other").unwrap(), [runs[1]], "another series stays");
    assert_eq!(reader.runs().unwrap().len(), 5);
}

#[test]
fn a_run_that_ended_early_cannot_count_and_a_run_counts_once() {
    let file = Scratch::new("early");
    let mut store = Store::open(&file.0).unwrap();
    let stopped = run(&mut store, &RunOutcome::Incomplete(StepError::Stopped));
    let error = store.record_gate_run(&counted(stopped, PLAN, "lab")).unwrap_err();
    assert!(matches!(error.problem, Problem::OutOfOrder(_)), "{error}");
    let unknown = store.record_gate_run(&counted(RunId(9), PLAN, "lab")).unwrap_err();
    assert!(matches!(unknown.problem, Problem::NoRun(RunId(9))), "{unknown}");
    let complete = run(&mut store, &RunOutcome::Complete);
    store.record_gate_run(&counted(complete, PLAN, "lab")).unwrap();
    assert!(store.record_gate_run(&counted(complete, PLAN, "lab")).is_err());
    assert_eq!(store.gate_runs(PLAN, "lab").unwrap(), [complete]);
}
