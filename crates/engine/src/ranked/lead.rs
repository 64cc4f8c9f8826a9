//! Who leads decides which step comes next; who follows measures it and asks again.

use serde::{Deserialize, Serialize};
use sharebench_cluster::Ranks;
use sharebench_model::RunOutcome;
use sharebench_plan::{Cell, Pace, ResolvedPlan, StepPlan, TransactionWork, Work};

use crate::engine::Run;
use crate::rounds::UnderWay;

/// What the leader tells before each step, and at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Measure this.
    Step {
        /// Position in the schedule.
        index: u32,
        /// Index of the target.
        target: u32,
        /// Which repetition.
        repetition: u32,
        /// Index of the cell, or of the step of users.
        cell: usize,
        /// Where it stands in the plan.
        of: Of,
    },
    /// That was all.
    Finish(RunOutcome),
}

/// Where a step stands in a plan that all ranks have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Of {
    /// Among the cells.
    Cells,
    /// Among the steps of users.
    Loads,
    /// Behind them, as the last one with other users, and as an open load with another rate.
    Further { users: u32, open: Option<(bool, u32)> },
}

impl Order {
    /// The order to measure `step`.
    pub fn step(step: &StepPlan, plan: &ResolvedPlan) -> Self {
        let of = match &step.work {
            Work::Records(_) => Of::Cells,
            Work::Transactions(_) if step.cell < plan.loads.len() => Of::Loads,
            Work::Transactions(work) => {
                let open = match work.pace {
                    Pace::Open { poisson, rate } => Some((poisson, rate)),
                    Pace::Closed(_) | Pace::Visits { .. } => None,
                };
                Of::Further { users: work.users, open }
            }
        };
        let StepPlan { index, target, repetition, cell, .. } = *step;
        Self::Step { index, target, repetition, cell, of }
    }

    /// The step of `plan` that was ordered; none at the end, or where the plan has no such step.
    pub fn planned(&self, plan: &ResolvedPlan) -> Option<StepPlan> {
        let Self::Step { index, target, repetition, cell, of } = self else { return None };
        let (coordinates, work): Cell = match of {
            Of::Cells => plan.cells.get(*cell)?.clone(),
            Of::Loads => plan.loads.get(*cell)?.clone(),
            Of::Further { users, open } => {
                let Work::Transactions(last) = &plan.loads.last()?.1 else { return None };
                let pace =
                    open.map_or_else(|| last.pace.clone(), |(poisson, rate)| Pace::Open { poisson, rate });
                TransactionWork { users: *users, pace, ..last.clone() }.into_cell()
            }
        };
        let (index, target, repetition, cell) = (*index, *target, *repetition, *cell);
        Some(StepPlan { index, target, repetition, cell, coordinates, work })
    }
}

impl Run<'_> {
    /// Tells the others what to measure next, where there are others.
    pub(crate) fn order(&self, step: &StepPlan) -> Result<(), RunOutcome> {
        let Some(ranks) = self.ranks else { return Ok(()) };
        let order = Order::step(step, self.plan);
        ranks.broadcast(Some(&order)).map(drop).map_err(|lost| RunOutcome::EngineFailed(lost.to_string()))
    }

    /// Measures what the leader says, until it says that it is over.
    pub(crate) async fn follow(&self, ranks: &Ranks, mut under_way: UnderWay<'_, '_>) -> RunOutcome {
        loop {
            let order = match ranks.broadcast::<Order>(None) {
                Ok(Order::Finish(outcome)) => return outcome,
                Ok(order) => order,
                Err(lost) => return RunOutcome::EngineFailed(lost.to_string()),
            };
            let Some(step) = order.planned(self.plan) else {
                return RunOutcome::EngineFailed(format!(
                    "rank 0 ordered a step that the plan does not have: {order:?}"
                ));
            };
            // Why it ended early was told to all, and the leader decides what follows.
            let _ = self.perform(&step, &mut under_way).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use sharebench_plan::{Plan, Schedule};

    use super::*;

    #[test]
    fn followers_find_every_step_of_a_schedule_in_their_own_plan() {
        let text = "repetitions = 2\nseed = 3\n[[target]]\nurl = '/a'\n[[target]]\nurl = '/b'\n[sweep]\n\
                    file_sizes = ['64KiB']\nrecord_sizes = ['4KiB', '8KiB']\njobs = [2]\n[load]\nusers = [1, 5]\n";
        let plan = Plan::parse(text).unwrap().resolve().unwrap();
        let mut schedule = Schedule::new(&plan);
        let cells: Vec<usize> = (0..plan.cells.len()).collect();
        let mut steps = schedule.round(&cells);
        steps.extend(schedule.loads());
        let Work::Transactions(last) = &plan.loads[1].1 else { panic!("users") };
        let further = TransactionWork { users: 9, ..last.clone() }.into_cell();
        let open =
            TransactionWork { users: 64, pace: Pace::Open { poisson: true, rate: 70 }, ..last.clone() };
        steps.extend(schedule.further(&further));
        steps.extend(schedule.further(&open.into_cell()));
        for step in steps {
            let told = serde_json::to_string(&Order::step(&step, &plan)).unwrap();
            let order: Order = serde_json::from_str(&told).unwrap();
            assert_eq!(order.planned(&plan), Some(step));
        }
        let beyond = Order::Step { index: 0, target: 0, repetition: 0, cell: 99, of: Of::Cells };
        assert_eq!(beyond.planned(&plan), None);
    }
}
