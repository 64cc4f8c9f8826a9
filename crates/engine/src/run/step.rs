//! One step of a run: what its users do, of this process or of all ranks, and the result with its checks.

use sharebench_model::units::ByteSize;
use sharebench_model::{
    Check, ErrorClass, Measure, Random, RankShare, RateBase, RunEvent, Space, StepError, StepResult,
};
use sharebench_plan::{Pace, StepPlan, Work};

use crate::cell::cell_context::CellContext;
use crate::cell::record_step;
use crate::cell::throughput_step;
use crate::check::steady_state::steadiness;
use crate::check::{StepEvidence, checks};
use crate::data::context::PassContext;
use crate::machine::measuring_machine::Machine;
use crate::metadata;
use crate::metadata::connected::Connected;
use crate::metadata::directory_set::DirectorySet;
use crate::metadata::driver::Driver;
use crate::metadata::job::MetadataCell;
use crate::record::tally::Tally;
use crate::run::Run;
use crate::run::step_begin::StepBegin;
use crate::run::target_state::TargetState;

/// What each of several ranks contributed to a step, and the checks of its machine.
pub(crate) type RankedParts = (Vec<RankShare>, Vec<(u32, Vec<Check>)>);

impl Run<'_> {
    /// Measures one step and checks it. With several ranks, the leader gets the result of all ranks.
    pub(crate) async fn step(
        &self,
        step: &StepPlan,
        state: &mut TargetState,
        machine: Option<&Machine>,
        context: &mut PassContext<'_>,
    ) -> Result<Option<StepResult>, StepError> {
        let begun = StepBegin::now(self.clock);
        let mut measured = self.measure(step, state, context).await;
        if let Err(StepError::TargetLost { class: ErrorClass::NoSpace, reason }) = &mut measured
            && let Some(Space { total, available }) = state.files.space(context).await
        {
            *reason = format!("{reason}; free: {} of {}", ByteSize(available), ByteSize(total));
        }
        let (mut tally, ranked, mut failures) = match self.ranks {
            None => (measured?, None, Vec::new()),
            Some(ranks) => {
                let Some(all) = self.reduce(ranks, step, measured, machine)? else { return Ok(None) };
                (all.tally, Some((all.shares, all.checks)), all.failure_samples)
            }
        };
        let samples = std::mem::take(&mut tally.failure_samples);
        failures.extend(samples.into_iter().map(|error| (error.class, error.to_string())));
        for (class, detail) in failures {
            self.emit(RunEvent::Failure { index: step.index, class, detail });
        }
        let unmeasured_ms = begun.unmeasured_ms(self.clock, context.waited_ns(), &tally);
        Ok(Some(self.result_from(step, (begun.unix_ms, unmeasured_ms), tally, ranked, machine)))
    }

    /// The result of a step from the tally of its window, with its checks. `times` are its start and the time outside its
    /// window, as in [`StepResult`]. `ranked` has what each of several ranks
    /// contributed, and the checks of its machine.
    pub(crate) fn result_from(
        &self,
        step: &StepPlan,
        (started_unix_ms, unmeasured_ms): (u64, u32),
        mut tally: Tally,
        ranked: Option<RankedParts>,
        machine: Option<&Machine>,
    ) -> StepResult {
        let target = &self.targets[step.target as usize];
        let blocking = target.capabilities().blocking;
        let machinery =
            machine.filter(|_| ranked.is_none()).map(|machine| machine.during(step, blocking, &tally));
        let work = &step.work;
        let verify = self.plan.verify;
        let occupancy = tally.occupancy;
        let unfinished = std::mem::take(&mut tally.unfinished);
        let seconds = std::mem::take(&mut tally.seconds);
        let mut measure = self.measure_of(step, tally);
        // A session with a cache of its own is to the checks what a mount is.
        let wire_counted = target.capabilities().wire_counted && !target.caches();
        let mut checks = checks(&measure, &StepEvidence { work, verify, wire_counted, occupancy, machinery });
        if let Work::Transactions(work) = work {
            checks.extend(steadiness(&seconds, work));
        }
        // After the checks: they judge what completed, while the stored percentiles include what was in flight
        // as lower bounds.
        unfinished.count_in(&mut measure);
        if let Work::Transactions(work) = work {
            measure.load.objective = self.objective(work, &measure);
            measure.load.unit = self.load_unit(work);
        }
        if let Some((shares, machines)) = ranked {
            // Each rank has read its own machine; of each check the worst is reported with its rank
            // (docs/design/several-machines.md).
            checks.extend(crate::check::ranks::checks(&shares, measure.window_ns, &machines));
            measure.ranks = shares.into();
        }
        StepResult {
            index: step.index,
            target: step.target,
            repetition: step.repetition,
            coordinates: step.coordinates.clone(),
            started_unix_ms,
            unmeasured_ms,
            measure,
            checks: checks.into(),
        }
    }

    /// Measures what the jobs or users of this process do in a step.
    async fn measure(
        &self,
        step: &StepPlan,
        state: &mut TargetState,
        context: &mut PassContext<'_>,
    ) -> Result<Tally, StepError> {
        match &step.work {
            Work::Records(work) if work.jobs.is_some() => {
                let target = self.targets[step.target as usize].as_ref();
                let clock = context.clock;
                let stop = self.stop;
                let ranks = self.ranks;
                let verify = self.plan.verify;
                let timeout = self.plan.timeout;
                let seed = self.plan.seed ^ u64::from(step.index);
                let cell = CellContext { target, work, clock, stop, verify, timeout, seed, ranks };
                throughput_step::measure(&cell, work.jobs.unwrap_or(1), &mut state.files, context).await
            }
            Work::Records(work) => {
                // The stream depends on the step alone, so that a resumed run reads the same records in the same
                // order.
                let mut random = Random::new(self.plan.seed, 0x10_0000 + u64::from(step.index));
                let mut tally = Tally::default();
                record_step::measure(work, &mut state.files, &mut random, context, &mut tally).await?;
                self.probe_caches(step, work, state, context, &mut tally).await?;
                Ok(tally)
            }
            Work::Metadata(work) => {
                let set = DirectorySet::new(work, &state.files.directory);
                let cell = MetadataCell {
                    driver: Driver::of_test(work.test),
                    target: self.targets[step.target as usize].as_ref(),
                    work,
                    set: &set,
                    clock: context.clock,
                    stop: self.stop,
                    verify: self.plan.verify,
                    timeout: self.plan.timeout,
                    ranks: self.ranks,
                };
                let session = state.files.session.as_mut();
                let mut at = Connected::new(session, context);
                metadata::step::measure(&cell, &mut state.directories, &mut at).await
            }
            Work::Transactions(work) => self.load(work, step, state, context).await,
        }
    }

    /// Turns the tally of a step, or of one rank's part of it, into a measure.
    pub(crate) fn measure_of(&self, step: &StepPlan, tally: Tally) -> Measure {
        let (users, rate_base) = match &step.work {
            Work::Records(work) => {
                (work.jobs.unwrap_or(1), if work.jobs.is_some() { RateBase::Window } else { RateBase::Busy })
            }
            Work::Metadata(work) if work.test.hands_over() => (work.jobs(), RateBase::Busy),
            Work::Metadata(work) => (work.jobs(), RateBase::Window),
            Work::Transactions(work) => match work.pace {
                Pace::Closed(_) => (work.users, RateBase::Window),
                // The users of an open load are a pool: those that were never needed are not missing.
                Pace::Open { .. } | Pace::Visits { .. } => (tally.users_engaged, RateBase::Window),
            },
        };
        let wire_counted = self.targets[step.target as usize].capabilities().wire_counted;
        tally.into_measure(users, rate_base, wire_counted)
    }
}
