//! One pass of a test over one file, in the way its application takes to the file.

use sharebench_model::{CachePolicy, FileRef, MetaOp, OpError, Random, SessionOp, StepError};
use sharebench_plan::{Access, Pattern, RecordWork, ServerCacheState, Start};
use sharebench_target::Session;

use crate::cell::access_pattern::{AccessPattern, FilePart};
use crate::cell::pass::Pass;
use crate::cell::policy;
use crate::cell::policy::{CacheObservation, TimedFinish};
use crate::cell::server_cache;
use crate::cell::stream::StreamPass;
use crate::data::context::PassContext;
use crate::data::file_state::FileState;
use crate::record::tally::Tally;

/// The passes of one test over one file by one job.
///
/// It borrows the session and the file, brings the file into the state that the test requires ([`Self::prepare`]),
/// runs measured passes as records or as a stream ([`Self::run`]), times what the test includes in addition
/// ([`Self::conclude`]), and undoes its preparation ([`Self::release`]). A cell with one job and a throughput job
/// perform the same sequence, so that a test means the same in both.
pub(crate) struct RecordPass<'a> {
    pub work: &'a RecordWork,
    /// The job's part of the file.
    pub part: FilePart,
    pub session: &'a mut dyn Session,
    pub file: &'a mut FileState,
    /// Open in the session; none once the time of closing it was measured.
    pub handle: &'a mut Option<FileRef>,
}

impl RecordPass<'_> {
    /// Brings the file into the state that the test requires, unmeasured, and examines it. `first` is true
    /// before the first of several passes: what was read by the pass before need not be read again. Of its own reads
    /// `tally` gets the failures only.
    pub async fn prepare(
        &mut self,
        first: bool,
        random: &mut Random,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
    ) -> Result<CacheObservation, StepError> {
        let start = self.work.test.start();
        let maps = self.work.test.access() == Access::Mapping;
        let handle = self.open()?;
        // A local directory has no server whose cache would be warm before the client's is dropped.
        if first && self.work.is_warmed() && server_cache::has_server(self.session) {
            let Self { work, part, session, file, .. } = self;
            let session = &mut **session;
            let warmed = server_cache::warm(work, *part, session, file, handle, random, context).await?;
            tally.add_failures_of(warmed);
        }
        let mut dropped = None;
        let cold = self.work.server_cache == ServerCacheState::Cold;
        // What lies in a cache that is to be passed would be written back or thrown out by the first pass.
        let passes = self.work.policy.cache != CachePolicy::Normal;
        if start == Start::Cold || cold || (first && passes && start != Start::Fresh) {
            dropped = Some(policy::drop_cache(self.session, handle, context).await?);
        }
        // A mapping has to have something to map; and over SMB a file that is opened unbuffered has no append
        // access, so that a write may not make it longer (MS-SMB2 3.3.5.9, 3.3.5.13).
        if start == Start::Fresh && (maps || self.work.policy.cache == CachePolicy::Unbuffered) {
            let size = MetaOp::SetSize { file: handle, size: self.work.file_size };
            context.deadline.call(self.session, size).await?;
        }
        if maps {
            let map = SessionOp::Map { file: handle, bytes: self.work.file_size };
            context.deadline.call(self.session, map).await?;
        }
        if start == Start::JustRead && first {
            let mut unmeasured = Tally::default();
            self.run(random, context, &mut unmeasured).await?;
            tally.add_failures_of(unmeasured);
        }
        Ok(CacheObservation::begin(self.work, self.session, handle, dropped, context).await?)
    }

    /// Runs one measured pass: records in the order of the test, or a buffered stream.
    pub async fn run(
        &mut self,
        random: &mut Random,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
    ) -> Result<(), StepError> {
        let handle = self.open()?;
        let Self { work, part, session, file, .. } = self;
        let session = &mut **session;
        let file = &mut **file;
        let content = work.test.writes().then(|| file.next_generation());
        let record_size = work.record_size;
        let depth = work.queue_depth;
        if work.test.access() == Access::Stream {
            let buffer = work.stream_buffer;
            StreamPass::new(context, session, file, handle, record_size, buffer).run(content, tally).await?;
        } else {
            let order = AccessPattern::new(work, *part, random);
            let pass = Pass { context, session, file, handle, record_size, depth, content };
            // Read-ahead and write-back continue while another target has its turn, and a pass in file order would find
            // their work done. So only random order is interrupted (docs/design/cells.md).
            if work.test.pattern() == Pattern::Random {
                pass.run_in_turns(order, tally).await?;
            } else {
                pass.run(order, tally).await?;
            }
        }
        tally.passes += 1;
        Ok(())
    }

    /// Looks at the file after its passes and books what was seen since `observation` began.
    pub async fn look(
        &mut self,
        observation: CacheObservation,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
    ) -> Result<(), OpError> {
        observation.end(self.work, self.session, *self.handle, context, tally).await
    }

    /// Flushes and closes the file, as far as the time of the test includes it.
    pub async fn conclude(
        &mut self,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
    ) -> Result<(), StepError> {
        let file = self.open()?;
        if self.work.include_flush && self.work.test.writes() {
            TimedFinish::Flush(file).timed(self.session, context, tally).await?;
        }
        if self.work.include_close {
            *self.handle = None;
            if self.work.test.access() == Access::Mapping {
                let unmap = SessionOp::Map { file, bytes: 0 };
                TimedFinish::Close(unmap).timed(self.session, context, tally).await?;
            }
            TimedFinish::Close(MetaOp::Close { file }.into()).timed(self.session, context, tally).await?;
        }
        Ok(())
    }

    /// Undoes what [`Self::prepare`] did, also after a pass that failed.
    pub async fn release(&mut self, context: &mut PassContext<'_>) -> Result<(), OpError> {
        let (Some(file), Access::Mapping) = (*self.handle, self.work.test.access()) else { return Ok(()) };
        context.deadline.call(self.session, SessionOp::Map { file, bytes: 0 }).await.map(drop)
    }

    pub fn open(&self) -> Result<FileRef, OpError> {
        self.handle.ok_or_else(OpError::not_open)
    }
}
