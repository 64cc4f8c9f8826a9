//! The shared data set of a load, written by all ranks.

use sharebench_cluster::Ranks;
use sharebench_model::{RunEvent, StepError};
use sharebench_plan::{DataFile, TransactionWork};

use crate::data::context::PassContext;
use crate::data::directory::make;
use crate::data::set_content::shared;
use crate::load::data_set_builder::{BuildSite, build_files, make_directories};
use crate::ranks::agreement::{agreed, rank_lost};
use crate::run::Run;
use crate::run::target_state::TargetState;

/// The part of the layout that the leader has done alone.
struct Ground {
    directory: String,
    /// It is there with all its files.
    complete: bool,
    said: Option<String>,
}

impl Run<'_> {
    /// Lays the set out once per target: the leader makes its directories, and each rank writes its part of the files.
    /// A set that is to stay the leader finds or makes alone, because it must be known who is at it.
    pub(crate) async fn lay_out_together(
        &self,
        ranks: &Ranks,
        work: &TransactionWork,
        state: &mut TargetState,
        keep: bool,
        site: &BuildSite<'_>,
        context: &mut PassContext<'_>,
    ) -> Result<(), StepError> {
        if state.set.directory.is_some() {
            return Ok(());
        }
        let ground = if ranks.is_leader() {
            ground(work, state, keep, site, context).await.map(Some)
        } else {
            Ok(None)
        };
        let ground = agreed(Some(ranks), ground)?;
        if let Some(said) = ground.as_ref().and_then(|ground| ground.said.clone()) {
            self.emit(RunEvent::Warning(said));
        }
        let reported = ground.map(|ground| (ground.directory, ground.complete));
        let (directory, complete): (String, bool) = ranks.broadcast(reported.as_ref()).map_err(rank_lost)?;
        if !complete {
            let session = state.files.session.as_mut();
            let part = ranks.rank() as usize;
            let of = ranks.size() as usize;
            let own: Vec<(usize, &DataFile)> = shared(&work.workload).skip(part).step_by(of).collect();
            let written = build_files(site, session, own, &directory, None, context).await;
            let stopped = if context.stop.is_stopped() { Err(StepError::Stopped) } else { Ok(()) };
            agreed(Some(ranks), stopped.and(written))?;
        }
        state.set.directory = Some(directory);
        Ok(())
    }
}

/// The leader's part: a set that is there, or an empty place with directories.
async fn ground(
    work: &TransactionWork,
    state: &mut TargetState,
    keep: bool,
    site: &BuildSite<'_>,
    context: &mut PassContext<'_>,
) -> Result<Ground, StepError> {
    let directory = state.files.path("set");
    if keep || shared(&work.workload).next().is_none() {
        let said = state.set.prepare(work, &mut state.files, keep, site, context).await;
        if context.stop.is_stopped() {
            return Err(StepError::Stopped);
        }
        let said = said?;
        let directory = state.set.directory.take().unwrap_or(directory);
        return Ok(Ground { directory, complete: true, said });
    }
    let session = state.files.session.as_mut();
    make(session, &directory, context).await?;
    make_directories(session, &work.workload, &directory, context).await?;
    Ok(Ground { directory, complete: false, said: None })
}
