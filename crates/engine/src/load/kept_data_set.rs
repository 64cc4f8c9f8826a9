//! A data set that stays on the target, and who else may be making it: a run that makes one lets a file grow, so that
//! another run can distinguish a set under construction from leftovers of a killed run.

use std::time::Duration;

use sharebench_model::{ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpenHow};
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::data::request_splitting;
use crate::record::request::transfer;

/// Name of the file that marks a complete set.
pub(crate) const COMPLETE: &str = "complete";
/// Name of the file that grows while a run makes the set (docs/design/workloads.md).
const GROWING: &str = "growing";
/// Minimum time between two extensions of the growing file.
const BEAT: Duration = Duration::from_secs(1);
/// Bytes by which the growing file is extended.
const STEP: u64 = 512;
/// Interval at which a set that another run may be making is examined.
const LOOK: Duration = Duration::from_millis(500);

/// The state of a set that another run has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataSetState {
    /// There is none.
    Nothing,
    /// It is whole.
    Complete,
    /// Another run is making the set: its file grows.
    InProgress,
    /// No run has extended it for longer than an operation may take, so the run that began it was killed.
    Abandoned,
}

/// Examines a set until its state is known.
pub(crate) async fn look(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<DataSetState, OpError> {
    let first = grown(session, directory, context).await?;
    // A run that needs longer for one operation has failed by its own timeout.
    let patience = context.deadline.limit() + 5 * BEAT;
    let until = context.clock.now() + patience.as_nanos() as u64;
    loop {
        if size(session, directory, COMPLETE, context).await?.is_some() {
            return Ok(DataSetState::Complete);
        }
        if size(session, directory, "", context).await?.is_none() {
            return Ok(DataSetState::Nothing);
        }
        // Growth and not a time stamp: the clocks of server and client need not agree
        // (docs/design/workloads.md, Kept data sets).
        if grown(session, directory, context).await? != first {
            return Ok(DataSetState::InProgress);
        }
        if context.stop.is_stopped() || context.clock.now() >= until {
            return Ok(DataSetState::Abandoned);
        }
        context.clock.sleep_coarse(context.clock.now() + LOOK.as_nanos() as u64).await;
    }
}

async fn grown(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<Option<u64>, OpError> {
    size(session, directory, GROWING, context).await
}

/// Bytes of a file of the set, or of its directory itself; none where it is not there.
async fn size(
    session: &mut dyn Session,
    directory: &str,
    name: &str,
    context: &mut PassContext<'_>,
) -> Result<Option<u64>, OpError> {
    let path = if name.is_empty() { directory.to_owned() } else { format!("{directory}/{name}") };
    match context.deadline.call(session, MetaOp::Stat { path }).await {
        Ok(MetaYield::Stat(stat)) => Ok(Some(stat.size)),
        Ok(_) => Ok(Some(0)),
        Err(error) if error.class == ErrorClass::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The growing file by which other runs recognise that this run is making the set.
pub(crate) struct Heartbeat {
    file: FileRef,
    bytes: u64,
    last: u64,
}

impl Heartbeat {
    /// Creates the growing file, right after the set's directory.
    pub async fn begin(
        session: &mut dyn Session,
        directory: &str,
        context: &mut PassContext<'_>,
    ) -> Result<Self, OpError> {
        let open = MetaOp::open(format!("{directory}/{GROWING}"), OpenHow::CreateNew);
        let (file, _) = context.deadline.call(session, open).await?.into_opened()?;
        Ok(Self { file, bytes: 0, last: context.clock.now() })
    }

    /// Grows, if it has not done so for a while; nothing may be in flight.
    pub async fn beat(
        &mut self,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
    ) -> Result<(), OpError> {
        if context.clock.now() - self.last < BEAT.as_nanos() as u64 {
            return Ok(());
        }
        self.last = context.clock.now();
        let (op, len) = request_splitting::write(session, self.file, self.bytes, STEP);
        transfer(session, &mut context.deadline, op).await?;
        self.bytes += u64::from(len);
        Ok(())
    }

    /// Marks the set as complete and removes the growing file.
    pub async fn end(
        self,
        session: &mut dyn Session,
        directory: &str,
        context: &mut PassContext<'_>,
    ) -> Result<(), OpError> {
        context.deadline.call(session, MetaOp::Close { file: self.file }).await?;
        let open = MetaOp::open(format!("{directory}/{COMPLETE}"), OpenHow::CreateNew);
        if let MetaYield::Opened { file, .. } = context.deadline.call(session, open).await? {
            context.deadline.call(session, MetaOp::Close { file }).await?;
        }
        // After `complete` exists: another run that looks in between finds the set complete, never abandoned.
        let path = format!("{directory}/{GROWING}");
        context.deadline.call(session, MetaOp::Remove { path }).await.map(drop)
    }
}
