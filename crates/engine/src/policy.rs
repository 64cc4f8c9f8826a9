//! Policies of a measured file: opened as asked, watched while it is used, flushed and closed on the clock.

use sharebench_model::{
    CachePolicy, DataOp, ErrorClass, Evidence, FileRef, MetaOp, MetaYield, OpError, OpenHow, PolicyCount,
    Residency, Slot,
};
use sharebench_plan::RecordWork;
use sharebench_target::Session;

use crate::clock::thread_cpu;
use crate::file_state::FileState;
use crate::pass::{PassContext, PassEnd, is_fatal};
use crate::tally::Tally;

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
    match context.deadline.call(session, open).await? {
        MetaYield::Opened { file: handle, .. } => {
            (file.file, file.policy) = (Some(handle), work.policy);
            Ok(handle)
        }
        _ => Err(OpError::new(ErrorClass::Protocol, "open", "no file in the reply")),
    }
}

/// Drops what this machine caches of a file: true when it was done or tried, false where it cannot be. Pages
/// that stay all the same are no failure here: whoever looks afterwards sees them.
pub(crate) async fn drop_cache(
    session: &mut dyn Session,
    file: FileRef,
    context: &mut PassContext<'_>,
) -> Result<bool, OpError> {
    match context.deadline.call(session, MetaOp::DropCache { file }).await {
        Err(error) if error.class == ErrorClass::Unsupported => Ok(false),
        Err(error) if error.class != ErrorClass::Busy => Err(error),
        _ => Ok(true),
    }
}

/// What was so before a pass.
pub(crate) struct Watch {
    before: Option<Residency>,
    sent: PolicyCount,
    drops: u64,
}

impl Watch {
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

    /// Looks again when the pass has ended, before anything is flushed, and books what was seen.
    pub async fn end(
        self,
        work: &RecordWork,
        session: &mut dyn Session,
        file: FileRef,
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
    match context.deadline.call(session, MetaOp::Residency { file }).await {
        Ok(MetaYield::Residency(seen)) => Ok(Some(seen)),
        Err(error) if error.class != ErrorClass::Unsupported => Err(error),
        _ => Ok(None),
    }
}

/// Flushes and closes what the test's time includes; a file that was closed has no handle afterwards.
pub(crate) async fn conclude(
    work: &RecordWork,
    session: &mut dyn Session,
    file: &mut FileState,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), PassEnd> {
    let Some(handle) = file.file else { return Ok(()) };
    if work.include_flush && work.test.writes() {
        let spent = timed(session, context, tally, Ending::Flush(handle)).await?;
        tally.evidence.flush_ns += spent;
        tally.evidence.flushes += 1;
    }
    if work.include_close {
        file.file = None;
        let spent = timed(session, context, tally, Ending::Close(handle)).await?;
        tally.evidence.close_ns += spent;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Ending {
    Flush(FileRef),
    Close(FileRef),
}

/// Performs one of them within the busy time and gives its length.
async fn timed(
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
    ending: Ending,
) -> Result<u64, PassEnd> {
    let (cpu, wire, begin) = (thread_cpu(), session.wire(), context.clock.now());
    let result = match ending {
        Ending::Flush(file) => {
            let mut replies = Vec::with_capacity(1);
            session.submit(Slot(0), DataOp::Flush { file });
            context.deadline.replies(session, &mut replies).await?;
            replies.swap_remove(0).result.map(drop)
        }
        Ending::Close(file) => context.deadline.call(session, MetaOp::Close { file }).await.map(drop),
    };
    let spent = context.clock.now() - begin;
    let after = thread_cpu();
    tally.busy_ns += spent;
    tally.window_ns += spent;
    tally.wire += session.wire().since(wire);
    tally.cpu.user_ns += after.user_ns - cpu.user_ns;
    tally.cpu.kernel_ns += after.kernel_ns - cpu.kernel_ns;
    if let Err(error) = result {
        let fatal = is_fatal(error.class).then(|| error.clone());
        tally.failure(error);
        if let Some(error) = fatal {
            return Err(error.into());
        }
    }
    Ok(spent)
}
