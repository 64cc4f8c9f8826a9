//! A run whose events are kept until it has ended, for experiments and tests.

use std::sync::{Arc, mpsc};

use sharebench_model::{RunEvent, StepResult};
use sharebench_plan::ResolvedPlan;
use sharebench_target::Target;

use super::start_error::StartError;
use super::{Run, RunEnd};
use crate::time::clock::Clock;
use crate::time::stop::StopSignal;

/// A run of one process: how it ended, and what it reported.
#[derive(Debug, Clone)]
pub struct CollectedRun {
    /// How it ended, or why it did not start.
    pub end: Result<RunEnd, StartError>,
    /// Every event, in order.
    pub events: Vec<RunEvent>,
    /// The steps that it measured, in order.
    pub steps: Vec<StepResult>,
    /// Details of failures.
    pub failures: Vec<String>,
    /// Its warnings.
    pub warnings: Vec<String>,
}

impl CollectedRun {
    /// Runs a plan on its targets.
    pub fn new(plan: &ResolvedPlan, targets: &[Arc<dyn Target>], clock: &Clock) -> Self {
        Self::until(plan, targets, clock, &StopSignal::default(), &[])
    }

    /// Runs a plan on its targets until `stop`, without the steps `done`.
    pub fn until(
        plan: &ResolvedPlan,
        targets: &[Arc<dyn Target>],
        clock: &Clock,
        stop: &StopSignal,
        done: &[StepResult],
    ) -> Self {
        let (sender, receiver) = mpsc::channel();
        let directory = ".sharebench-collected";
        let run =
            Run { plan, targets, done, directory, resumed: false, stop, clock, events: &sender, ranks: None };
        let end = run.execute();
        let events = receiver.try_iter().collect();
        let mut collected =
            Self { end, events, steps: Vec::new(), failures: Vec::new(), warnings: Vec::new() };
        for event in &collected.events {
            match event {
                RunEvent::StepFinished(step) => collected.steps.push((**step).clone()),
                RunEvent::Failure { detail, .. } => collected.failures.push(detail.clone()),
                RunEvent::Warning(warning) => collected.warnings.push(warning.clone()),
                _ => {}
            }
        }
        collected
    }
}
