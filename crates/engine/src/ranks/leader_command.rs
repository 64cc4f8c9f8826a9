//! The leader decides which step comes next. Followers measure it and wait for the next command.

use serde::{Deserialize, Serialize};
use sharebench_model::RunOutcome;
use sharebench_plan::{Cell, Pace, ResolvedPlan, StepPlan, TransactionWork, Work};

/// What the leader broadcasts before each step and at the end of a run. It names the step by its position in the
/// plan, which all ranks have, instead of sending the step itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LeaderCommand {
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
        /// Its position in the plan.
        of: StepOrigin,
    },
    /// That was all.
    Finish(RunOutcome),
}

/// The place of a step in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StepOrigin {
    /// Among the cells.
    Cells,
    /// Among the steps of users.
    Loads,
    /// After them: the last load step with another number of users, or an open load with another rate.
    Further { users: u32, open: Option<(bool, u32)> },
}

impl LeaderCommand {
    /// The command to measure `step`.
    pub fn step(step: &StepPlan, plan: &ResolvedPlan) -> Self {
        let of = match &step.work {
            Work::Records(_) | Work::Metadata(_) => StepOrigin::Cells,
            Work::Transactions(_) if step.cell < plan.loads.len() => StepOrigin::Loads,
            Work::Transactions(work) => {
                let open = match work.pace {
                    Pace::Open { poisson, rate } => Some((poisson, rate)),
                    Pace::Closed(_) | Pace::Visits { .. } => None,
                };
                StepOrigin::Further { users: work.users, open }
            }
        };
        let StepPlan { index, target, repetition, cell, .. } = *step;
        Self::Step { index, target, repetition, cell, of }
    }

    /// The step of `plan` that the command names; none at the end of the run, or if the plan has no such step.
    pub fn planned(&self, plan: &ResolvedPlan) -> Option<StepPlan> {
        let Self::Step { index, target, repetition, cell, of } = self else { return None };
        let (coordinates, work): Cell = match of {
            StepOrigin::Cells => plan.cells.get(*cell)?.clone(),
            StepOrigin::Loads => plan.loads.get(*cell)?.clone(),
            StepOrigin::Further { users, open } => {
                let Work::Transactions(last) = &plan.loads.last()?.1 else { return None };
                let pace =
                    open.map_or_else(|| last.pace.clone(), |(poisson, rate)| Pace::Open { poisson, rate });
                TransactionWork { users: *users, pace, ..last.clone() }.into_cell()
            }
        };
        let index = *index;
        let target = *target;
        let repetition = *repetition;
        let cell = *cell;
        Some(StepPlan { index, target, repetition, cell, coordinates, work })
    }
}

#[cfg(test)]
mod tests {
    use sharebench_plan::{Plan, SkippedCells, StepOrder};

    use super::*;

    #[test]
    fn followers_find_every_step_of_a_schedule_in_their_own_plan() {
        let text = "repetitions = 2\nseed = 3\n[[target]]\nurl = '/a'\n[[target]]\nurl = '/b'\n[sweep]\n\
                    file_sizes = ['64KiB']\nrecord_sizes = ['4KiB', '8KiB']\njobs = [2]\n[load]\nusers = [1, 5]\n";
        let plan = Plan::parse(text).unwrap().resolve().unwrap();
        let none = SkippedCells::default();
        let mut schedule = StepOrder::new(&plan, &none);
        let cells: Vec<usize> = (0..plan.cells.len()).collect();
        let mut steps = schedule.round(&cells);
        steps.extend(schedule.loads(0));
        let Work::Transactions(last) = &plan.loads[1].1 else { panic!("users") };
        let further = TransactionWork { users: 9, ..last.clone() }.into_cell();
        let open =
            TransactionWork { users: 64, pace: Pace::Open { poisson: true, rate: 70 }, ..last.clone() };
        steps.extend(schedule.further(&further, 1));
        steps.extend(schedule.further(&open.into_cell(), 0));
        for step in steps {
            let reported = serde_json::to_string(&LeaderCommand::step(&step, &plan)).unwrap();
            let order: LeaderCommand = serde_json::from_str(&reported).unwrap();
            assert_eq!(order.planned(&plan), Some(step));
        }
        let beyond =
            LeaderCommand::Step { index: 0, target: 0, repetition: 0, cell: 99, of: StepOrigin::Cells };
        assert_eq!(beyond.planned(&plan), None);
    }
}
