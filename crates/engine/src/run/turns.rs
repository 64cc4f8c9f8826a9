//! The interleaved steps of one cell: a slice of each target after the other, until all are done.

use std::time::Duration;

use sharebench_model::{Random, StepError, StepResult};
use sharebench_plan::{StepPlan, Work};

use crate::run::Run;
use crate::run::rounds::{Done, RunResources};
use crate::run::target_state::TargetState;
use crate::time::turns::{Part, Turn, Turns, alternate};

/// Stream of the plan's seed that draws the order of targets within each set of slices; further steps follow it.
const SLICE_STREAM: u64 = 0x20_0000;

impl Run<'_> {
    /// True if the targets of these steps, which are those of one cell, take turns: the plan wants slices, and all
    /// steps are still to be measured by one job of this process.
    ///
    /// Ranks would have to agree upon each slice, and the jobs of a cell work for one window together; both measure
    /// one target after the other. So does a run that reads the server's disk counter, because the counter cannot report
    /// whose turn it was.
    pub(crate) fn takes_turns(&self, steps: &[StepPlan], done: &Done<'_>) -> bool {
        let disk_counted =
            self.plan.cache_probes.as_ref().is_some_and(|probes| probes.server_disk_stat.is_some());
        let one_job = |step: &StepPlan| matches!(&step.work, Work::Records(work) if work.jobs.is_none());
        self.plan.slice_time > Duration::ZERO
            && self.ranks.is_none()
            && !disk_counted
            && steps.len() > 1
            && steps.iter().all(|step| one_job(step) && !done.contains_key(&step.index))
    }

    /// Measures the steps of one cell interleaved. Either all of them have a result, or the run ends: half a pair would
    /// have been measured under other conditions than its other half.
    pub(crate) async fn in_turns(
        &self,
        steps: &[StepPlan],
        resources: &mut RunResources<'_, '_>,
    ) -> Result<Vec<StepResult>, StepError> {
        for step in steps {
            self.start(step)?;
            self.precede(step, resources).await?;
        }
        let turns = Turns::default();
        let machine = resources.machine.as_ref();
        let mut states: Vec<Option<&mut TargetState>> = resources.states.iter_mut().map(Some).collect();
        let mut parts: Vec<Part<'_, Result<Option<StepResult>, StepError>>> = Vec::new();
        for step in steps {
            let Some(state) = states.get_mut(step.target as usize).and_then(Option::take) else {
                return Err(StepError::EngineFailed("two steps of a cell have the same target".into()));
            };
            let mut context = resources.context.another();
            let depth = match &step.work {
                Work::Records(work) => work.queue_depth,
                Work::Metadata(_) | Work::Transactions(_) => 1,
            };
            context.turn = Some(Turn::new(&turns, self.plan.slice_time, depth));
            let turns = &turns;
            parts.push(Box::pin(async move {
                let measured = self.step(step, state, machine, &mut context).await;
                if measured.is_err() {
                    // The run ends, so the other targets need not complete the cell.
                    turns.abandon();
                }
                measured
            }));
        }
        let seed = SLICE_STREAM + u64::from(steps.first().map_or(0, |step| step.index));
        let measured = alternate(parts, &turns, Random::new(self.plan.seed, seed)).await;
        if measured.iter().any(Result::is_err) {
            // Whichever failed is reported; of two, the one that was to be first. The others have only stopped.
            let failed = |result: &Result<_, StepError>| {
                result.as_ref().is_err_and(|error| *error != StepError::Stopped)
            };
            if let Some((step, result)) = steps.iter().zip(measured).find(|(_, result)| failed(result)) {
                self.finish(step, result)?;
            }
            return Err(StepError::Stopped);
        }
        steps.iter().zip(measured).map(|(step, result)| self.finish(step, result)).collect()
    }
}
