//! One pass of a test over one file, in the way its application takes to the file.

use sharebench_model::{ErrorClass, FileRef, MetaOp, OpError, Random};
use sharebench_plan::{Access, RecordWork, Start};
use sharebench_target::Session;

use crate::file_state::FileState;
use crate::order::{Order, Part};
use crate::pass::{Pass, PassContext, PassEnd};
use crate::stream::StreamPass;
use crate::tally::Tally;

/// A file in the hands of the motor that measures it.
pub(crate) struct RecordPass<'a> {
    pub work: &'a RecordWork,
    /// The motor's part of the file.
    pub part: Part,
    pub session: &'a mut dyn Session,
    pub file: &'a mut FileState,
    pub handle: FileRef,
}

impl RecordPass<'_> {
    /// Brings the file into the state that the test asks for, unmeasured. `first` is true before the first
    /// of several passes: what was read by the pass before need not be read again.
    pub async fn prepare(
        &mut self,
        first: bool,
        random: &mut Random,
        context: &mut PassContext<'_>,
    ) -> Result<(), PassEnd> {
        let (start, maps) = (self.work.test.start(), self.work.test.access() == Access::Mapping);
        if start == Start::Cold {
            let drop = MetaOp::DropCache { file: self.handle };
            match context.deadline.call(self.session, drop).await {
                Err(error) if error.class != ErrorClass::Unsupported => return Err(error.into()),
                _ => {}
            }
        }
        if maps {
            if start == Start::Fresh {
                let size = MetaOp::SetSize { file: self.handle, size: self.work.file_size };
                context.deadline.call(self.session, size).await?;
            }
            self.map(self.work.file_size, context).await?;
        }
        if start == Start::JustRead && first {
            self.run(random, context, &mut Tally::default()).await?;
        }
        Ok(())
    }

    /// One measured pass.
    pub async fn run(
        &mut self,
        random: &mut Random,
        context: &mut PassContext<'_>,
        tally: &mut Tally,
    ) -> Result<(), PassEnd> {
        let Self { work, part, session, file, handle } = self;
        let (session, file, handle) = (&mut **session, &mut **file, *handle);
        let content = work.test.writes().then(|| file.next_generation());
        let (record_size, depth) = (work.record_size, work.queue_depth);
        if work.test.access() == Access::Stream {
            let buffer = work.stream_buffer;
            StreamPass::new(context, session, file, handle, record_size, buffer).run(content, tally).await?;
        } else {
            let order = Order::new(work, *part, random);
            Pass { context, session, file, handle, record_size, depth, content }.run(order, tally).await?;
        }
        tally.passes += 1;
        Ok(())
    }

    /// Gives back what [`Self::prepare`] took; also after a pass that failed.
    pub async fn release(&mut self, context: &mut PassContext<'_>) -> Result<(), OpError> {
        if self.work.test.access() == Access::Mapping { self.map(0, context).await } else { Ok(()) }
    }

    async fn map(&mut self, bytes: u64, context: &mut PassContext<'_>) -> Result<(), OpError> {
        let map = MetaOp::Map { file: self.handle, bytes };
        context.deadline.call(self.session, map).await.map(drop)
    }
}
