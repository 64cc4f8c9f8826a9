//! sharebench's engine in this process: plans as text, events as they come.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use sharebench_engine::{Clock, Run, StopSignal};
use sharebench_model::RunEvent;
use sharebench_plan::{Plan, ResolvedPlan};
use sharebench_target::Target;

use crate::Failure;

/// A plan that is right, or what is wrong with it.
pub fn resolve(text: &str) -> Result<ResolvedPlan, Failure> {
    let plan = Plan::parse(text).map_err(|mistakes| mistakes.to_string())?;
    Ok(plan.resolve().map_err(|mistakes| mistakes.to_string())?)
}

/// Runs a plan of one target to its end.
pub fn execute(
    plan: &ResolvedPlan,
    target: Arc<dyn Target>,
    events: &Sender<RunEvent>,
) -> Result<(), Failure> {
    let run = Run {
        plan,
        targets: &[target],
        done: &[],
        directory: ".sharebench-bench",
        resumed: false,
        stop: &StopSignal::default(),
        clock: &Clock::start(),
        events,
    };
    run.execute()?;
    Ok(())
}
