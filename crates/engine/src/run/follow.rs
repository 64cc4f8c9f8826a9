//! The leader orders steps, the other ranks follow.

use sharebench_cluster::Ranks;
use sharebench_model::{RunOutcome, StepError};
use sharebench_plan::StepPlan;

use crate::ranks::agreement::rank_lost;
use crate::ranks::leader_command::LeaderCommand;
use crate::run::Run;
use crate::run::rounds::RunResources;

impl Run<'_> {
    /// Sends the next step to the other ranks, if there are any.
    pub(crate) fn order(&self, step: &StepPlan) -> Result<(), StepError> {
        let Some(ranks) = self.ranks else { return Ok(()) };
        let order = LeaderCommand::step(step, self.plan);
        ranks.broadcast(Some(&order)).map(drop).map_err(rank_lost)
    }

    /// Measures each step that the leader orders, until the leader ends the run.
    pub(crate) async fn follow(&self, ranks: &Ranks, mut resources: RunResources<'_, '_>) -> RunOutcome {
        loop {
            let order = match ranks.broadcast::<LeaderCommand>(None) {
                Ok(LeaderCommand::Finish(outcome)) => return outcome,
                Ok(order) => order,
                Err(lost) => return RunOutcome::Incomplete(rank_lost(lost)),
            };
            let Some(step) = order.planned(self.plan) else {
                return RunOutcome::Incomplete(StepError::EngineFailed(format!(
                    "rank 0 ordered a step that the plan does not have: {order:?}"
                )));
            };
            // All ranks know why it ended early, and the leader decides what follows.
            // An error is not lost: every step that can fail is agreed upon, so the leader has the same one.
            let _ = self.perform(&step, &mut resources).await;
        }
    }
}
