//! sharebench's engine in this process: parses plans and runs them.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use sharebench_engine::{Clock, Run, StopSignal, own_descriptors};
use sharebench_model::RunEvent;
use sharebench_plan::{Plan, ResolvedPlan};
use sharebench_target::Target;

use crate::Failure;

/// Parses a plan, or returns its mistakes.
pub fn resolve(text: &str) -> Result<ResolvedPlan, Failure> {
    let plan = Plan::parse(text).map_err(|mistakes| mistakes.to_string())?;
    Ok(plan.resolve().map_err(|mistakes| mistakes.to_string())?)
}

/// Runs a plan with one target on its own thread, as the program does.
pub fn execute(
    plan: &ResolvedPlan,
    target: Arc<dyn Target>,
    events: &Sender<RunEvent>,
) -> Result<(), Failure> {
    execute_on(plan, &[target], events)
}

/// Runs a plan on all of its targets on a thread of the run, as the program does.
pub fn execute_on(
    plan: &ResolvedPlan,
    targets: &[Arc<dyn Target>],
    events: &Sender<RunEvent>,
) -> Result<(), Failure> {
    let run = Run {
        plan,
        targets,
        done: &[],
        directory: ".sharebench-bench",
        resumed: false,
        stop: &StopSignal::default(),
        clock: &Clock::start(),
        events,
        ranks: None,
    };
    let end = std::thread::scope(|scope| {
        let engine = scope.spawn(move || {
            own_descriptors();
            run.execute()
        });
        engine.join()
    });
    end.map_err(|_| "the engine panicked")??;
    Ok(())
}
