//! Policies of a measured file: it is opened with its policy, its cache is observed, and flush and close are timed
//! where the test includes them.

use sharebench_model::{
    CachePolicy, DataOp, ErrorClass, Evidence, FileRef, MetaOp, MetaYield, OpError, OpenHow, PolicyCount,
    Residency, SessionOp, StepError,
};
use sharebench_plan::RecordWork;
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::data::file_state::FileState;
use crate::record::meter::Meter;
use crate::record::request::transfer;
use crate::record::tally::Tally;

/// Makes sure that an existing file is open with the policy of `work`, and gives its handle.
pub(crate) async fn open_as(
    work: &RecordWork,
    session: &mut dyn Session,
    file: &mut FileState,
    context: &mut PassContext<'_>,
) -> Result<FileRef, OpError> {
    if let Some(handle) = file.file {
        if file.policy == work.policy {
            return Ok(handle);
        }
        file.file = None;
        context.deadline.call(session, MetaOp::Close { file: handle }).await?;
    }
    let open = MetaOp::Open { path: file.path.clone(), how: OpenHow::ReadWrite, policy: work.policy };
    let (handle, _) = context.deadline.call(session, open).await?.into_opened()?;
    file.file = Some(handle);
    file.policy = work.policy;
    Ok(handle)
}

/// Drops what this machine caches of a file: true when it was done or tried, false where it cannot be. Pages
/// that stay all the same are no failure here: whoever looks afterwards sees them.
pub(crate) async fn drop_cache(
    session: &mut dyn Session,
    file: FileRef,
    context: &mut PassContext<'_>,
) -> Result<bool, OpError> {
    match context.deadline.call(session, SessionOp::DropCache { file }).await {
        Err(error) if error.class == ErrorClass::Unsupported => Ok(false),
        // Busy means that some pages stayed; the observation before the pass shows how many.
        Err(error) if error.class != ErrorClass::Busy => Err(error),
        _ => Ok(true),
    }
}

/// What was observed of a file's cache and of the request counters before a pass. [`Self::end`] compares it with the
/// state after the pass.
pub(crate) struct CacheObservation {
    before: Option<Residency>,
    sent: PolicyCount,
    drops: u64,
}

impl CacheObservation {
    /// Looks at a file before a pass over it; `dropped` says that its cache was dropped just before.
    pub async fn begin(
        work: &RecordWork,
        session: &mut dyn Session,
        file: FileRef,
        dropped: Option<bool>,
        context: &mut PassContext<'_>,
    ) -> Result<Self, OpError> {
        let looks = dropped.is_some() || work.policy.cache != CachePolicy::Normal;
        let before = if looks { look(session, file, context).await? } else { None };
        Ok(Self { before, sent: session.policy_count(), drops: u64::from(dropped == Some(true)) })
    }

    /// Looks again when the pass has ended, if the file is open, and books what was seen.
    pub async fn end(
        self,
        work: &RecordWork,
        session: &mut dyn Session,
        file: Option<FileRef>,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        let mut seen = Evidence {
            before: self.before,
            drops: self.drops,
            sent: session.policy_count().since(self.sent),
            ..Evidence::default()
        };
        if !work.policy.is_normal()
            && let Some(file) = file
            && let Some(after) = look(session, file, context).await?
        {
            let cached = work.policy.cache == CachePolicy::Normal;
            let before = self.before.filter(|_| !cached);
            seen.grown = before.map(|before| after.resident.saturating_sub(before.resident));
            seen.dirty = after.dirty.filter(|_| work.policy.writes_through());
        }
        tally.evidence.merge(seen);
        Ok(())
    }
}

/// What the page cache holds of a file; none where there is none to look at.
async fn look(
    session: &mut dyn Session,
    file: FileRef,
    context: &mut PassContext<'_>,
) -> Result<Option<Residency>, OpError> {
    match context.deadline.call(session, SessionOp::Residency { file }).await {
        Ok(MetaYield::Residency(seen)) => Ok(Some(seen)),
        Err(error) if error.class != ErrorClass::Unsupported => Err(error),
        _ => Ok(None),
    }
}

/// What the time of a test includes in addition to its operations.
pub(crate) enum TimedFinish {
    Flush(FileRef),
    /// Closing the file, or giving back its mapping.
    Close(SessionOp),
}

impl TimedFinish {
    /// Does it within the busy time. Failures that later operations survive are counted and no more.
    pub async fn timed(
        self,
        session: &mut dyn Session,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
    ) -> Result<(), StepError> {
        let meter = Meter::start(context.clock, session);
        let begin = context.clock.now();
        let flushes = matches!(self, Self::Flush(_));
        let result = match self {
            Self::Flush(file) => transfer(session, &mut context.deadline, DataOp::Flush { file }).await,
            Self::Close(op) => context.deadline.call(session, op).await.map(drop),
        };
        let spent = context.clock.now() - begin;
        meter.stop(context.clock, session, tally);
        tally.busy_ns += spent;
        if flushes {
            tally.evidence.flushes += 1;
            tally.evidence.flush_ns += spent;
        } else {
            tally.evidence.close_ns += spent;
        }
        Ok(tally.outcome(result)?)
    }
}
