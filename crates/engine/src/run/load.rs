//! A step of users within a run: its data set, its users, its objective.

use sharebench_cluster::Ranks;
use sharebench_model::{LoadUnit, Measure, ObjectiveReport, RunEvent, StepError, Verdict};
use sharebench_plan::{Pace, Scale, StepPlan, Think, TransactionWork};

use crate::check::steady_state::steadiness;
use crate::data::context::PassContext;
use crate::load::data_set_builder::BuildSite;
use crate::load::load_step::LoadStep;
use crate::load::observer::LoadObserver;
use crate::load::step_trial::try_operations;
use crate::load::user::environment::{LoadCounters, LoadEnvironment};
use crate::metadata::connected::Connected;
use crate::ranks::agreement::agreed;
use crate::record::tally::Tally;
use crate::run::Run;
use crate::run::target_state::TargetState;

impl Run<'_> {
    /// Measures a load step and returns the tally of this process's users.
    pub(crate) async fn load(
        &self,
        work: &TransactionWork,
        step: &StepPlan,
        state: &mut TargetState,
        context: &mut PassContext<'_>,
    ) -> Result<Tally, StepError> {
        self.lay_out(work, step, state, context).await?;
        let users = self.own_users(work.users);
        let send = |event| self.emit(event);
        let observer = LoadObserver::new(&send, step, self.clock.now(), 0);
        let counters = LoadCounters::default();
        let load = LoadStep {
            environment: self.load_environment(step, state, &counters),
            work,
            unsteady: &|seconds| {
                let check = steadiness(seconds, work).filter(|check| check.verdict != Verdict::Valid)?;
                Some(check.detail.clone())
            },
            users: &users,
            ranks: self.ranks,
            warn: &|why| self.emit(RunEvent::Warning(format!("{} {why}", step.coordinates))),
            observer: &observer,
        };
        let mut tally = load.measure().await.map_err(StepError::EngineFailed)?;
        self.label_window(&mut tally);
        if self.stop.is_stopped() {
            return Err(StepError::Stopped);
        }
        Ok(tally)
    }

    /// What the users of a step, or of a series that begins with it, work with.
    pub(crate) fn load_environment<'a>(
        &'a self,
        step: &StepPlan,
        state: &'a TargetState,
        counters: &'a LoadCounters,
    ) -> LoadEnvironment<'a> {
        LoadEnvironment {
            target: self.targets[step.target as usize].as_ref(),
            clock: self.clock,
            stop: self.stop,
            verify: self.plan.verify,
            timeout: self.plan.timeout,
            directory: &state.files.directory,
            set_directory: state.set.directory.as_deref().unwrap_or_default(),
            counters,
            file_store: &state.file_store,
            seed: self.plan.seed ^ u64::from(step.index),
        }
    }

    /// Notes the time of day at which the window of a tally began.
    pub(crate) fn label_window(&self, tally: &mut Tally) {
        if let Some((measure, _)) = tally.span {
            let since_ms = self.clock.now().saturating_sub(measure) / 1_000_000;
            tally.detail.window_unix_ms = self.clock.unix_ms().saturating_sub(since_ms);
        }
    }

    /// The verdict on the plan's objective for a step; none if the plan has no objective.
    pub(crate) fn objective(&self, work: &TransactionWork, measure: &Measure) -> Option<ObjectiveReport> {
        let slo = self.plan.typed.load.as_ref()?.slo.as_ref()?;
        let (kept, detail) = match work.pace {
            Pace::Open { rate, .. } => slo.judge_open(measure, rate),
            Pace::Closed(_) | Pace::Visits { .. } => slo.judge(measure),
        };
        Some(ObjectiveReport { wanted: slo.to_string(), kept, detail })
    }

    /// What each user of a step stands for; none where the workload does not state it.
    pub(crate) fn load_unit(&self, work: &TransactionWork) -> Option<LoadUnit> {
        let unit = work.workload.unit.as_ref()?;
        let scale = self.plan.typed.load.as_ref().and_then(|load| load.scale);
        let timed = work.workload.transactions.iter().filter(|transaction| transaction.deadline.is_some());
        Some(LoadUnit {
            name: unit.name.clone(),
            transaction: unit.transaction.clone(),
            objective: unit.objective,
            with_deadline: timed.map(|transaction| transaction.name.clone()).collect(),
            paced: matches!(work.pace, Pace::Closed(Think::Every(_))),
            scale: scale.filter(|scale| *scale != Scale::WHOLE).map(|scale| scale.to_string()),
        })
    }

    /// Lays out the shared data set, unless an earlier step of the run has done so.
    pub(crate) async fn lay_out(
        &self,
        work: &TransactionWork,
        step: &StepPlan,
        state: &mut TargetState,
        context: &mut PassContext<'_>,
    ) -> Result<(), StepError> {
        let target = self.targets[step.target as usize].as_ref();
        let on_progress = |done, of| {
            self.emit(RunEvent::Preparing { target: step.target, what: "files of the data set", done, of });
        };
        let site = BuildSite { target, spec: self.spec(target), on_progress: &on_progress };
        if state.set.directory.is_none() {
            let leads = self.ranks.is_none_or(Ranks::is_leader);
            let path = state.files.path("trial");
            let session = state.files.session.as_mut();
            let tried = if leads {
                try_operations(&work.workload, &path, &mut Connected::new(session, context))
                    .await
                    .map_err(StepError::from)
            } else {
                Ok(())
            };
            agreed(self.ranks, tried)?;
        }
        let keep = self.plan.typed.load.as_ref().and_then(|load| load.keep_data).unwrap_or(false);
        if let Some(ranks) = self.ranks {
            return self.lay_out_together(ranks, work, state, keep, &site, context).await;
        }
        let said = state.set.prepare(work, &mut state.files, keep, &site, context).await;
        if context.stop.is_stopped() {
            return Err(StepError::Stopped);
        }
        if let Some(said) = said? {
            self.emit(RunEvent::Warning(said));
        }
        Ok(())
    }
}
