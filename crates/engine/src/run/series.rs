//! The load steps of a plan that keeps its users, measured as one series.
use sharebench_model::{RunEvent, StepError, StepResult};
use sharebench_plan::{StepPlan, TransactionWork, Work};

use crate::check::series::SeriesAccount;
use crate::load::load_series::{LoadSeries, SeriesStep};
use crate::load::observer::LoadObserver;
use crate::load::series_driver::{SeriesDriver, SeriesSteps};
use crate::load::user::environment::LoadCounters;
use crate::machine::measuring_machine::Machine;
use crate::record::tally::Tally;
use crate::run::Run;
use crate::run::rounds::{Done, RunResources};
use crate::run::step_begin::StepBegin;

/// Turns the tallies of a series into results, one after the other, while users continue to work.
struct SeriesResults<'a> {
    run: &'a Run<'a>,
    steps: &'a [StepPlan],
    machine: Option<&'a Machine>,
    /// Of the current step.
    begun: StepBegin,
    account: SeriesAccount,
    results: Vec<StepResult>,
}

impl SeriesSteps for SeriesResults<'_> {
    fn begin(&mut self, step: usize) -> Result<(), StepError> {
        self.begun = StepBegin::now(self.run.clock);
        self.run.start(&self.steps[step])
    }

    fn measured(&mut self, step: usize, mut tally: Tally) -> Result<(), StepError> {
        let run = self.run;
        let plan = &self.steps[step];
        run.label_window(&mut tally);
        for error in std::mem::take(&mut tally.failure_samples) {
            let class = error.class;
            run.emit(RunEvent::Failure { index: plan.index, class, detail: error.to_string() });
        }
        self.account.add(&tally);
        let outside = tally.outside;
        let unmeasured_ms = self.begun.unmeasured_ms(run.clock, 0, &tally);
        let times = (self.begun.unix_ms, unmeasured_ms);
        let mut result = run.result_from(plan, times, tally, None, self.machine);
        result.measure.load.outside = Some(outside);
        if step + 1 == self.steps.len() {
            let target = &run.targets[plan.target as usize];
            let wire_counted = target.capabilities().wire_counted && !target.caches();
            // Users who share a session cannot attribute all of its bytes.
            let wire_counted = wire_counted && result.measure.load.users_per_session <= 1;
            result.checks.push(self.account.check(wire_counted));
        }
        self.results.push(run.finish(plan, Ok(Some(result)))?);
        Ok(())
    }
}

impl Run<'_> {
    /// Measures load steps as one series that keeps its users logged on. It is measured as a whole or read from the
    /// results database as a whole: the state of a step is what the steps before it left, so a series that was
    /// interrupted starts again.
    pub(crate) async fn series(
        &self,
        steps: &[StepPlan],
        done: &Done<'_>,
        resources: &mut RunResources<'_, '_>,
    ) -> Result<Vec<StepResult>, StepError> {
        let works = works(steps);
        let (Some(first), Some(work)) = (steps.first(), works.first()) else { return Ok(Vec::new()) };
        if steps.iter().all(|step| done.contains_key(&step.index)) {
            return self.one_after_the_other(steps, done, resources).await;
        }
        self.precede(first, resources).await?;
        let state = &mut resources.states[first.target as usize];
        self.lay_out(work, first, state, resources.context).await?;
        let send = |event| self.emit(event);
        let now = self.clock.now();
        let mut present = 0;
        let mut series_steps = Vec::with_capacity(steps.len());
        for (step, work) in steps.iter().zip(works.iter().copied()) {
            let observer = LoadObserver::new(&send, step, now, work.users.min(present));
            series_steps.push(SeriesStep { work, observer });
            present = work.users;
        }
        let counters = LoadCounters::default();
        let series =
            LoadSeries { environment: self.load_environment(first, state, &counters), steps: series_steps };
        let mut results = SeriesResults {
            run: self,
            steps,
            machine: resources.machine.as_ref(),
            begun: StepBegin::now(self.clock),
            account: SeriesAccount::default(),
            results: Vec::with_capacity(steps.len()),
        };
        let mut driver = SeriesDriver::new(works.clone(), self.clock, self.stop, &mut results);
        let rest = series.measure(&mut driver).await.map_err(StepError::EngineFailed)?;
        driver.conclude(rest)?;
        Ok(results.results)
    }
}

fn works(steps: &[StepPlan]) -> Vec<&TransactionWork> {
    let users = steps.iter().filter_map(|step| match &step.work {
        Work::Transactions(work) => Some(work),
        Work::Records(_) | Work::Metadata(_) => None,
    });
    users.collect()
}
