//! The generator's ceiling: what the engine itself can do when the target takes no time.

use std::time::Duration;

use sharebench_model::{FileRef, MetaOp, MetaYield, OpenHow};
use sharebench_plan::Verify;
use sharebench_target::{NullTarget, SessionSpec, Target};

use crate::cell::access_pattern::AccessPattern;
use crate::cell::pass::Pass;
use crate::data::context::PassContext;
use crate::data::file_state::FileState;
use crate::record::tally::Tally;
use crate::time::clock::Clock;
use crate::time::deadline::Deadline;
use crate::time::stop::StopSignal;

/// Duration of one measurement of a ceiling, which is long enough for thousands of operations.
const SPELL: Duration = Duration::from_millis(10);

/// The properties of a cell that determine the generator's ceiling. Cells that agree in them share one measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CeilingKind {
    /// Bytes per operation.
    pub record_size: u32,
    /// Operations in flight.
    pub depth: u32,
    /// Writes (filling included), or reads (verifying included).
    pub writes: bool,
}

/// Operations per second of one thread against the null target; none when nothing could be measured.
///
/// At depth 1 filling and verifying happen while nothing is in flight and belong to no cell's time, so they
/// do not count here either; at greater depths they do.
pub async fn generator_ceiling(clock: &Clock, kind: CeilingKind, verify: Verify) -> Option<f64> {
    let CeilingKind { record_size, depth, writes } = kind;
    let stop = StopSignal::default();
    let deadline = Deadline::new(clock, Duration::from_secs(10));
    let mut context = PassContext::new(clock, &stop, verify, deadline);
    let spec = SessionSpec { slots: depth, slot_bytes: record_size, ..SessionSpec::default() };
    let mut session = NullTarget.connect(&spec).await.ok()?;
    let handle = open(session.as_mut(), &mut context).await?;
    // As many records as slots: each pass finds every record in the slot that the first one left it in, so
    // that even the null target's reads can be verified.
    let size = u64::from(record_size) * u64::from(depth);
    let mut file = FileState::new("null".into(), 1, size, u64::from(record_size));
    let mut tally = Tally::default();
    let begin = clock.now();
    let mut first = true;
    while first || clock.now() - begin < SPELL.as_nanos() as u64 {
        let content = (first || writes).then(|| file.next_generation());
        let record = u64::from(record_size);
        let order = if content.is_some() {
            AccessPattern::filling(size, record)
        } else {
            AccessPattern::scanning(size, record)
        };
        let session = session.as_mut();
        let file = &mut file;
        let pass = Pass { context: &mut context, session, file, handle, record_size, depth, content };
        pass.run(order, &mut tally).await.ok()?;
        if std::mem::take(&mut first) {
            // The first pass fills the slots and allocates, so it is not counted.
            tally = Tally::default();
        }
    }
    let nanos = if depth == 1 { tally.busy_ns } else { tally.window_ns };
    (nanos > 0 && tally.operations > 0).then(|| tally.operations as f64 * 1e9 / nanos as f64)
}

async fn open(
    session: &mut dyn sharebench_target::Session,
    context: &mut PassContext<'_>,
) -> Option<FileRef> {
    let open = MetaOp::open("null", OpenHow::CreateNew);
    match context.deadline.call(session, open).await {
        Ok(MetaYield::Opened { file, .. }) => Some(file),
        _ => None,
    }
}
