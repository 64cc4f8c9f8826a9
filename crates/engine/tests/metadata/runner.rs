//! A run of a sweep on one target, and what it reported.

use std::sync::Arc;

use sharebench_engine::simulated::collect;
use sharebench_engine::{Clock, RunEnd, StopSignal};
use sharebench_model::{RunEvent, StepResult};
use sharebench_plan::Plan;
use sharebench_target::Target;

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
    let (end, events) = collect(&plan, &[Arc::new(target)], &[], clock, stop);
    let mut ran = Ran { end: end.unwrap(), steps: Vec::new(), failures: Vec::new(), warnings: Vec::new() };
    for event in events {
        match event {
            RunEvent::StepFinished(step) => ran.steps.push(*step),
            RunEvent::Failure { detail, .. } => ran.failures.push(detail),
            RunEvent::Warning(warning) => ran.warnings.push(warning),
            _ => {}
        }
    }
    ran
}
