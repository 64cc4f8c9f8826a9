//! Runs whose events are collected until their end, for tests and known answers.

use std::sync::{Arc, mpsc};

use sharebench_model::{RunEvent, StepResult};
use sharebench_plan::ResolvedPlan;
use sharebench_target::Target;

use crate::run::start_error::StartError;
use crate::run::{Run, RunEnd};
use crate::time::clock::Clock;
use crate::time::stop::StopSignal;

/// Executes a plan on its targets, after the steps that are `done`, and returns its end and its events.
pub fn collect(
    plan: &ResolvedPlan,
    targets: &[Arc<dyn Target>],
    done: &[StepResult],
    clock: &Clock,
    stop: &StopSignal,
) -> (Result<RunEnd, StartError>, Vec<RunEvent>) {
    let (events, received) = mpsc::channel();
    let directory = ".sharebench-test";
    let run =
        Run { plan, targets, done, directory, resumed: false, stop, clock, events: &events, ranks: None };
    let end = run.execute();
    (end, received.try_iter().collect())
}

/// The steps that a run has finished.
pub fn finished_steps(events: Vec<RunEvent>) -> Vec<StepResult> {
    let finished = |event| match event {
        RunEvent::StepFinished(step) => Some(*step),
        _ => None,
    };
    events.into_iter().filter_map(finished).collect()
}
