//! The course of a run: rounds over the cells until every one has enough, then the repetitions of the steps of users.

use std::collections::BTreeMap;

use sharebench_model::{Round, RunEvent, RunOutcome, StepError, StepResult, axis};
use sharebench_plan::{SkippedCells, StepOrder, StepPlan};

use crate::data::context::PassContext;
use crate::machine::measuring_machine::Machine;
use crate::ranks::agreement::rank_lost;
use crate::run::Run;
use crate::run::stopper::Stopper;
use crate::run::target_state::TargetState;
use crate::system::clock_resolution_ns;

/// Steps that an earlier part of a resumed run measured, by index.
pub(crate) type Done<'a> = BTreeMap<u32, &'a StepResult>;

/// What steps are measured with. It is borrowed from [`Run::execute`] for the time of the steps.
pub(crate) struct RunResources<'a, 'b> {
    /// Per target.
    pub states: &'a mut [TargetState],
    /// Cells that are not measured on every target.
    pub skipped: &'a SkippedCells,
    /// None in virtual time.
    pub machine: &'a mut Option<Machine>,
    /// Clock, stop signal and deadline of operations.
    pub context: &'a mut PassContext<'b>,
    /// The instant at which the time budget of the run is used up; none before the rounds, and where none is given.
    pub budget_ends_ns: &'a mut Option<u64>,
}

impl RunResources<'_, '_> {
    /// Expected time in nanoseconds to remove the directories of all targets, one target after the other.
    fn removal_ns(&self) -> u64 {
        self.states.iter().fold(0, |sum: u64, state| sum.saturating_add(state.directories.removal_ns()))
    }
}

/// Time stamp exchanges per clock before each step. The exchanges at the start of the run have found the offset;
/// these follow its drift.
const EXCHANGES: u32 = 8;

/// The time budget of all cells, as the instant at which it is used up.
struct Budget {
    ends_ns: u64,
}

impl Budget {
    fn left_ns(&self, now: u64) -> u64 {
        self.ends_ns.saturating_sub(now)
    }
}

impl Run<'_> {
    /// Runs every step that is not done yet, in order: rounds of cells, load steps, steps of a search. Stored steps
    /// are only read.
    pub(crate) async fn schedule(&self, mut resources: RunResources<'_, '_>) -> RunOutcome {
        let resources = &mut resources;
        let done: Done<'_> = self.done.iter().map(|step| (step.index, step)).collect();
        let mut schedule = StepOrder::new(self.plan, resources.skipped);
        if let Err(error) = self.rounds(&mut schedule, &done, resources).await {
            return RunOutcome::Incomplete(error);
        }
        match self.loads(&mut schedule, &done, resources).await {
            Ok(()) => RunOutcome::Complete,
            Err(error) => RunOutcome::Incomplete(error),
        }
    }

    /// Measures the series of load steps as often as the plan requires. The first repetition decides which steps a search
    /// adds; the others repeat them, so that every repetition has the same steps on every target.
    async fn loads(
        &self,
        schedule: &mut StepOrder<'_>,
        done: &Done<'_>,
        resources: &mut RunResources<'_, '_>,
    ) -> Result<(), StepError> {
        let mut added = Vec::new();
        for repetition in 0..self.plan.load_repetitions() {
            let loads = schedule.loads(repetition);
            let measured = if self.plan.keeps_users() {
                self.series(&loads, done, resources).await?
            } else {
                self.one_after_the_other(&loads, done, resources).await?
            };
            if repetition == 0 {
                added = self.search(schedule, measured, done, resources).await?;
                continue;
            }
            for cell in &added {
                let steps = schedule.further(cell, repetition);
                self.one_after_the_other(&steps, done, resources).await?;
            }
        }
        Ok(())
    }

    async fn rounds(
        &self,
        schedule: &mut StepOrder<'_>,
        done: &Done<'_>,
        resources: &mut RunResources<'_, '_>,
    ) -> Result<(), StepError> {
        let mut stopper = Stopper::new(self.plan, resources.skipped, clock_resolution_ns());
        let budget = self.budget(done, self.clock.now());
        // The budget is that of cells; a load that follows them keeps the directories for longer.
        let is_over_with_cells = self.plan.loads.is_empty();
        *resources.budget_ends_ns =
            budget.as_ref().filter(|_| is_over_with_cells).map(|budget| budget.ends_ns);
        'rounds: loop {
            let cells = stopper.open();
            if cells.is_empty() {
                break;
            }
            let steps = schedule.round(&cells);
            self.emit(RunEvent::Round(Round {
                number: stopper.round(),
                steps_before: steps.first().map_or(0, |step| step.index),
                cells: cells.len() as u32,
                of: self.plan.cells.len() as u32,
                expected_steps: stopper.expected_steps(),
                budget_left_ns: budget.as_ref().map(|budget| budget.left_ns(self.clock.now())),
            }));
            for pair in steps.chunk_by(|one, next| one.cell == next.cell) {
                let missing = pair.iter().any(|step| !done.contains_key(&step.index));
                // What is left has to suffice for the removal of the directories (docs/design/metadata.md).
                let reserved = if is_over_with_cells { resources.removal_ns() } else { 0 };
                let time_is_up = budget.as_ref().is_some_and(|b| b.left_ns(self.clock.now()) <= reserved);
                // Every cell once, whatever it takes; and no pair without its other side.
                if missing && time_is_up && stopper.round() > 0 {
                    break 'rounds;
                }
                let results = if self.takes_turns(pair, done) {
                    self.in_turns(pair, resources).await?
                } else {
                    self.one_after_the_other(pair, done, resources).await?
                };
                for (step, result) in pair.iter().zip(&results) {
                    stopper.note(step, result);
                }
            }
            stopper.end_round(&cells);
        }
        if !self.plan.repeat.is_fixed() {
            self.emit(RunEvent::Precision(Box::new(stopper.report())));
        }
        Ok(())
    }

    /// The remaining time budget. Stored steps of an interrupted run have used some of it; once a load step is
    /// stored, the rounds were over.
    fn budget(&self, done: &Done<'_>, now: u64) -> Option<Budget> {
        let whole = self.plan.repeat.budget?.as_nanos() as u64;
        let is_load = |step: &StepResult| step.coordinates.get(axis::WORKLOAD).is_some();
        let used = if done.values().any(|step| is_load(step)) {
            whole
        } else {
            // Stored results are all that a resumed run knows of the time that was used.
            done.values().map(|step| step.measure.window_ns).sum()
        };
        Some(Budget { ends_ns: now + whole.saturating_sub(used) })
    }

    /// The result of a step: read from the results database if it is stored there, measured now otherwise.
    pub(crate) async fn result_of(
        &self,
        step: &StepPlan,
        done: &Done<'_>,
        resources: &mut RunResources<'_, '_>,
    ) -> Result<StepResult, StepError> {
        if let Some(&stored) = done.get(&step.index) {
            return if stored.coordinates == step.coordinates
                && (stored.target, stored.repetition) == (step.target, step.repetition)
            {
                Ok(stored.clone())
            } else {
                Err(StepError::EngineFailed(format!(
                    "step {} was measured as {}, but the plan's order has {} there: it cannot be continued",
                    step.index, stored.coordinates, step.coordinates
                )))
            };
        }
        self.start(step)?;
        self.order(step)?;
        let measured = self.perform(step, resources).await;
        self.finish(step, measured)
    }

    pub(crate) async fn one_after_the_other(
        &self,
        steps: &[StepPlan],
        done: &Done<'_>,
        resources: &mut RunResources<'_, '_>,
    ) -> Result<Vec<StepResult>, StepError> {
        let mut results = Vec::with_capacity(steps.len());
        for step in steps {
            results.push(self.result_of(step, done, resources).await?);
        }
        Ok(results)
    }

    /// Reports that a step starts, unless a stop was requested.
    pub(crate) fn start(&self, step: &StepPlan) -> Result<(), StepError> {
        if self.stop.is_stopped() {
            return Err(StepError::Stopped);
        }
        let target = step.target;
        let repetition = step.repetition;
        let coordinates = step.coordinates.clone();
        self.emit(RunEvent::StepStarted { index: step.index, target, repetition, coordinates });
        Ok(())
    }

    /// Reports what a step measured, or the failure that ended it.
    pub(crate) fn finish(
        &self,
        step: &StepPlan,
        measured: Result<Option<StepResult>, StepError>,
    ) -> Result<StepResult, StepError> {
        let measured = measured.and_then(|result| {
            result.ok_or_else(|| StepError::EngineFailed("the leader has no result of a step".into()))
        });
        match measured {
            Ok(result) => {
                self.emit(RunEvent::StepFinished(Box::new(result.clone())));
                Ok(result)
            }
            Err(StepError::TargetLost { class, reason }) => {
                self.emit(RunEvent::Failure { index: step.index, class, detail: reason.clone() });
                let name = &self.plan.targets[step.target as usize].name;
                let reason = format!("{name}: {reason}, in step {}", step.coordinates);
                Err(StepError::TargetLost { class, reason })
            }
            Err(error) => Err(error),
        }
    }
}

impl Run<'_> {
    /// Measures a step with everything that precedes it: clocks, ceiling, pre-step command. With several ranks, the
    /// leader gets the result.
    pub(crate) async fn perform(
        &self,
        step: &StepPlan,
        resources: &mut RunResources<'_, '_>,
    ) -> Result<Option<StepResult>, StepError> {
        if let Some(ranks) = self.ranks {
            let clock = self.clock;
            // Before each step: the drift since the last exchange would add to the start skew
            // (docs/design/several-machines.md).
            ranks.align(EXCHANGES, &|| clock.now()).map_err(rank_lost)?;
        }
        if let Some(reports) = resources.context.reports {
            reports.begin(step.target, self.clock.now());
        }
        self.precede(step, resources).await?;
        let state = &mut resources.states[step.target as usize];
        self.step(step, state, resources.machine.as_ref(), resources.context).await
    }

    /// Does what precedes a step on its target: ceiling of the generator, pre-step command.
    pub(crate) async fn precede(
        &self,
        step: &StepPlan,
        resources: &mut RunResources<'_, '_>,
    ) -> Result<(), StepError> {
        if let Some(machine) = resources.machine {
            machine.calibrate(self.clock, self.plan, &step.work).await;
        }
        self.between(step, resources.states, resources.context).await
    }
}
