//! The shared data set of a load, written by all ranks.

use sharebench_cluster::Ranks;
use sharebench_model::RunEvent;
use sharebench_plan::TransactionWork;

use super::agreed;
use crate::engine::{Host, Run};
use crate::layout::{complete, is_unchanged, kept_directory, make_directories, shared, write_files};
use crate::pass::{PassContext, PassEnd};

/// What the leader found, and did so far.
struct Ground {
    directory: String,
    /// It is there from an earlier run.
    found: bool,
}

impl Run<'_> {
    /// Lays the set out once per target: the leader makes its directories and notes its end, and each rank writes its
    /// part of the files.
    pub(crate) async fn lay_out_together(
        &self,
        ranks: &Ranks,
        work: &TransactionWork,
        host: &mut Host,
        keep: bool,
        context: &mut PassContext<'_>,
    ) -> Result<(), PassEnd> {
        if host.set.directory.is_some() {
            return Ok(());
        }
        let ground =
            if ranks.is_leader() { ground(work, host, keep, context).await.map(Some) } else { Ok(None) };
        let ground = agreed(Some(ranks), ground)?;
        let told = ground.map(|ground| (ground.directory, ground.found));
        let (directory, found): (String, bool) = ranks.broadcast(told.as_ref())?;
        if !found && shared(&work.workload).next().is_some() {
            let session = host.files.session.as_mut();
            let part = (ranks.rank() as usize, ranks.size() as usize);
            let written = write_files(session, &work.workload, &directory, part, context).await;
            let stopped = if context.stop.is_stopped() { Err(PassEnd::Stopped) } else { Ok(()) };
            agreed(Some(ranks), stopped.and(written.map_err(PassEnd::from)))?;
            let noted = if ranks.is_leader() { complete(session, &directory, context).await } else { Ok(()) };
            agreed(Some(ranks), noted)?;
        }
        if keep && ranks.is_leader() {
            let what = if found {
                "is unchanged and used again"
            } else {
                "stays, and is removed by `sharebench clean`"
            };
            self.tell(RunEvent::Warning(format!("the data set in {directory} {what}")));
        }
        host.set.directory = Some(directory);
        Ok(())
    }
}

/// The leader's part: an empty place with directories, or a set that is there.
async fn ground(
    work: &TransactionWork,
    host: &mut Host,
    keep: bool,
    context: &mut PassContext<'_>,
) -> Result<Ground, PassEnd> {
    let workload = &work.workload;
    let below = host.files.path("set");
    if shared(workload).next().is_none() {
        return Ok(Ground { directory: below, found: true });
    }
    let session = host.files.session.as_mut();
    let directory = if keep { kept_directory(workload) } else { below };
    if keep && is_unchanged(session, workload, &directory, context).await? {
        return Ok(Ground { directory, found: true });
    }
    if keep {
        crate::files::remove_tree(session, &directory, context).await?;
    }
    make_directories(session, workload, &directory, context).await?;
    Ok(Ground { directory, found: false })
}
