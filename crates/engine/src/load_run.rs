//! A step of users within a run: its data set, its users, its objective.

use std::sync::atomic::AtomicU32;

use sharebench_model::{Measure, ObjectiveReport, RunEvent};
use sharebench_plan::{Pace, StepPlan, TransactionWork};

use crate::build_set::Site;
use crate::engine::{Host, Run};
use crate::load_step::LoadStep;
use crate::pass::{PassContext, PassEnd};
use crate::tally::Tally;
use crate::watch::Watch;

impl Run<'_> {
    /// Measures a step of users: what those of this process did.
    pub(crate) async fn load(
        &self,
        work: &TransactionWork,
        step: &StepPlan,
        host: &mut Host,
        context: &mut PassContext<'_>,
    ) -> Result<Tally, PassEnd> {
        self.lay_out(work, step, host, context).await?;
        let users = self.own_users(work.users);
        let load = LoadStep {
            target: self.targets[step.target as usize].as_ref(),
            work,
            users: &users,
            ranks: self.ranks,
            clock: context.clock,
            stop: self.stop,
            verify: self.plan.verify,
            timeout: self.plan.timeout,
            directory: &host.files.directory,
            set_directory: host.set.directory.as_deref().unwrap_or_default(),
            looked_at: &AtomicU32::new(0),
            shelf: &host.shelf,
            seed: self.plan.seed ^ u64::from(step.index),
            tell: &|why| self.tell(RunEvent::Warning(format!("{} {why}", step.coordinates))),
            watch: &Watch::new(self, step),
        };
        let mut tally = load.measure().await.map_err(PassEnd::Broken)?;
        if let Some((measure, _)) = tally.span {
            let since_ms = self.clock.now().saturating_sub(measure) / 1_000_000;
            tally.detail.window_unix_ms = self.clock.unix_ms().saturating_sub(since_ms);
        }
        if self.stop.is_stopped() {
            return Err(PassEnd::Stopped);
        }
        Ok(tally)
    }

    /// Whether a step kept the plan's objective; none where there is none.
    pub(crate) fn objective(&self, work: &TransactionWork, measure: &Measure) -> Option<ObjectiveReport> {
        let slo = self.plan.typed.load.as_ref()?.slo.as_ref()?;
        let (kept, detail) = match work.pace {
            Pace::Open { rate, .. } => slo.judge_open(measure, rate),
            Pace::Closed(_) | Pace::Visits { .. } => slo.judge(measure),
        };
        Some(ObjectiveReport { wanted: slo.to_string(), kept, detail })
    }

    /// Lays out the shared data set, where that is not done yet.
    pub(crate) async fn lay_out(
        &self,
        work: &TransactionWork,
        step: &StepPlan,
        host: &mut Host,
        context: &mut PassContext<'_>,
    ) -> Result<(), PassEnd> {
        let target = self.targets[step.target as usize].as_ref();
        let tell = |done, of| {
            self.tell(RunEvent::Preparing { target: step.target, what: "files of the data set", done, of });
        };
        let site = Site { target, spec: self.spec(target), tell: &tell };
        let keep = self.plan.typed.load.as_ref().and_then(|load| load.keep_data).unwrap_or(false);
        if let Some(ranks) = self.ranks {
            return self.lay_out_together(ranks, work, host, keep, &site, context).await;
        }
        let said = host.set.prepare(work, &mut host.files, keep, &site, context).await;
        if context.stop.is_stopped() {
            return Err(PassEnd::Stopped);
        }
        if let Some(said) = said? {
            self.tell(RunEvent::Warning(said));
        }
        Ok(())
    }
}
