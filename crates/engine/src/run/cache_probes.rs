//! When a cell is followed by cache probes, and what they need.

use sharebench_model::units::ByteSize;
use sharebench_model::{Random, ServerEvidence, StepError};
use sharebench_plan::{CacheProbePlan, Cold, RecordWork, Start, StepPlan};
use sharebench_target::Target;

use crate::cell::record_step;
use crate::cell::target_files::TargetFiles;
use crate::data::context::PassContext;
use crate::probe::cache_probe::{Ended, KNOWN_HOT, PUSH_OUT, ProbeSeries, RESERVE};
use crate::probe::probe_connection::ProbeConnection;
use crate::record::tally::Tally;
use crate::run::Run;
use crate::run::target_state::TargetState;

impl Run<'_> {
    /// The plan of a cell's cache probes; none for a step without probes.
    fn probe_plan(&self, step: &StepPlan, work: &RecordWork) -> Option<&CacheProbePlan> {
        // Once per cell; not at first, when caches are still as the making of the files left them.
        let turn = u32::from(self.plan.repeat.certain() > 1);
        self.plan.cache_probes.as_ref().filter(|_| step.repetition == turn && CacheProbePlan::covers(work))
    }

    /// Number of timed passes of a step that read a file which the pre-step command made cold: the first one, unless
    /// the test reads its file before.
    fn cold_passes(&self, work: &RecordWork) -> u64 {
        let emptied =
            self.plan.cache_probes.as_ref().is_some_and(|probes| probes.cold == Cold::PreStepCommand);
        let read_before = work.test.start() == Start::JustRead || work.is_warmed();
        u64::from(emptied && CacheProbePlan::covers(work) && !read_before)
    }

    /// Makes the files that probes need; before the user's command, where that is what makes them cold.
    pub(crate) async fn lay_reserve(
        &self,
        step: &StepPlan,
        work: &RecordWork,
        files: &mut TargetFiles,
        context: &mut PassContext<'_>,
    ) -> Result<(), StepError> {
        let Some(probes) = self.probe_plan(step, work) else { return Ok(()) };
        let record = work.record_size;
        files.ensure(RESERVE, probes.reserve(record), record, context).await?;
        files.ensure(KNOWN_HOT, CacheProbePlan::known_hot(record), record, context).await?;
        if let Cold::PushedOut(size) = probes.cold {
            files.ensure(PUSH_OUT, self.pushed(size), self.plan.max_record(), context).await?;
        }
        Ok(())
    }

    /// Length of the file that pushes others out of the server's cache.
    fn pushed(&self, size: ByteSize) -> u64 {
        size.0.next_multiple_of(u64::from(self.plan.max_record()))
    }

    /// Runs the cache probes of a cell that was just measured.
    pub(crate) async fn probe_caches(
        &self,
        step: &StepPlan,
        work: &RecordWork,
        state: &mut TargetState,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
    ) -> Result<(), StepError> {
        tally.server.cold_passes = self.cold_passes(work);
        let Some(probes) = self.probe_plan(step, work) else { return Ok(()) };
        let target = self.targets[step.target as usize].as_ref();
        let Some(path) = target.bypass().or_else(|| (!has_cache(target)).then_some(target)) else {
            let why = "its reads go through a cache of this machine, and no path around it is set (--bypass)";
            tally.server.without_probes = Some(why.to_owned());
            return Ok(());
        };
        // The files exist already if a pre-step command made them cold. This call then finds them and writes
        // nothing.
        self.lay_reserve(step, work, &mut state.files, context).await?;
        record_step::prepare(work, &mut state.files, context).await?;
        let mut connection = match ProbeConnection::open(path, &self.spec(path), context.clock).await {
            Ok(connection) => connection,
            Err(error) => {
                tally.server.without_probes = Some(error.to_string());
                return Ok(());
            }
        };
        // A stream of its own, so that probing does not change the order of the cells' records.
        let random = Random::new(self.plan.seed, 0x30_0000 + u64::from(step.index));
        let study = ProbeSeries { plan: probes, work, push: self.push_out(probes), random };
        let mut seen = ServerEvidence::default();
        let ended = study.run(&mut state.files, &mut connection, context, tally, &mut seen).await;
        connection.close().await;
        match ended {
            Ok(()) => {
                tally.server.probes = seen.probes;
                // Of several requests in flight, the time of each contains the wait for others.
                tally.server.own_times_comparable = target.bypass().is_none() && work.queue_depth == 1;
                tally.server.while_probed = seen.while_probed;
            }
            Err(Ended::Probe(error)) => tally.server.without_probes = Some(error.to_string()),
            Err(Ended::Workload(end)) => return Err(end),
        }
        Ok(())
    }

    fn push_out(&self, probes: &CacheProbePlan) -> Option<(u64, u32)> {
        match probes.cold {
            Cold::PushedOut(size) => Some((self.pushed(size), self.plan.max_record())),
            Cold::Unbuffered | Cold::PreStepCommand => None,
        }
    }
}

/// True if reads over the target's own sessions may be answered by a cache of this machine.
fn has_cache(target: &dyn Target) -> bool {
    target.caches() || target.capabilities().blocking
}
