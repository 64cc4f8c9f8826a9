//! The state of the server's cache before the passes of a cell: warm or cold, whatever the cell before left in it.
//!
//! The reads of this module are never measured: only failures of them are counted, and they are not in the wire counts of
//! a cell.

use sharebench_model::{Fact, FileRef, IoPolicy, MetaOp, OpenHow, Random, StepError};
use sharebench_plan::{Access, Pattern, RecordWork};
use sharebench_target::Session;

use crate::cell::access_pattern::{AccessPattern, FilePart};
use crate::cell::pass::Pass;
use crate::cell::policy;
use crate::cell::stream::StreamPass;
use crate::data::context::PassContext;
use crate::data::file_state::FileState;
use crate::data::request_splitting;
use crate::record::tally::Tally;

/// Name of the file whose bytes displace others from the server's cache.
pub(crate) const DISPLACING: &str = "displacing";

/// True if the files of a session are on a server: a local directory has no cache but that of this machine, which the
/// cache policy governs.
pub(crate) fn has_server(session: &dyn Session) -> bool {
    session.facts().get(Fact::Access).is_none_or(|access| access != "local")
}

/// Reads a file once in the order of its test, and returns what was counted meanwhile. Tests that write read it as well, so
/// that nothing dirty is left.
pub(crate) async fn warm(
    work: &RecordWork,
    part: FilePart,
    session: &mut dyn Session,
    file: &mut FileState,
    handle: FileRef,
    random: &mut Random,
    context: &mut PassContext<'_>,
) -> Result<Tally, StepError> {
    let mut unmeasured = Tally::default();
    // A client's cache would answer in place of the server.
    policy::drop_cache(session, handle, context).await?;
    if work.test.access() == Access::Stream {
        let stream = StreamPass::new(context, session, file, handle, work.record_size, work.stream_buffer);
        stream.run(None, &mut unmeasured).await?;
        return Ok(unmeasured);
    }
    let in_order = work.test.pattern() == Pattern::Sequential;
    let whole = part == FilePart::WHOLE && work.align == u64::from(work.record_size);
    let depth = work.queue_depth;
    let content = None;
    if in_order && whole {
        // The largest requests leave the same in the cache, and need fewer round trips.
        let most = request_splitting::largest_request(session);
        let record = request_splitting::largest_record(file.size, work.record_size.into(), most);
        let order = AccessPattern::scanning(file.size, record);
        let record_size = record as u32;
        let pass = Pass { context, session, file, handle, record_size, depth, content };
        pass.run(order, &mut unmeasured).await?;
        return Ok(unmeasured);
    }
    let record_size = work.record_size;
    let order = AccessPattern::reading(work, part, random);
    let pass = Pass { context, session, file, handle, record_size, depth, content };
    pass.run(order, &mut unmeasured).await?;
    Ok(unmeasured)
}

/// Reads the file of other data next to `path` once, in requests of `record_size` bytes.
///
/// It is opened for this read only and closed again, so that the pre-step command meets no open file. Its content is not
/// verified: what counts is that the server has read it.
pub(crate) async fn displace(
    work: &RecordWork,
    session: &mut dyn Session,
    path: &str,
    record_size: u32,
    context: &mut PassContext<'_>,
) -> Result<(), StepError> {
    if work.displaced == 0 || !has_server(session) {
        return Ok(());
    }
    let path = match path.rsplit_once('/') {
        Some((directory, _)) => format!("{directory}/{DISPLACING}"),
        None => DISPLACING.to_owned(),
    };
    let open = MetaOp::Open { path: path.clone(), how: OpenHow::ReadWrite, policy: IoPolicy::default() };
    let (handle, _) = context.deadline.call(session, open).await?.into_opened()?;
    policy::drop_cache(session, handle, context).await?;
    let record = u64::from(record_size.max(1));
    let size = work.displaced / record * record;
    // Without known content nothing is compared.
    let mut file = FileState::new(path, 0, 0, record);
    let order = AccessPattern::scanning(size, record);
    let depth = work.queue_depth;
    let pass = Pass { context, session, file: &mut file, handle, record_size, depth, content: None };
    let read = pass.run(order, &mut Tally::default()).await;
    let closed = context.deadline.call(session, MetaOp::Close { file: handle }).await;
    read.and(closed.map(drop).map_err(StepError::from))
}
