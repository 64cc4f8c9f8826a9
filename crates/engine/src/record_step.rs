//! A cell: one test on one file by one motor, in whole passes until it has lasted long enough.

use sharebench_model::{CachePolicy, Random};
use sharebench_plan::{RecordWork, Test};

use crate::file_state::FileState;
use crate::files::TargetFiles;
use crate::order::Order;
use crate::pass::{Pass, PassContext, PassEnd};
use crate::policy::{self, Watch};
use crate::tally::Tally;

/// A cell ends after this many times its sample, however little of that was busy: creating and removing
/// files between passes must not take for ever.
const MOST_WALL: u64 = 5;

/// Name of the file that a cell works on; `write` makes new ones.
fn data_name(work: &RecordWork) -> String {
    format!("data-{}", work.file_size)
}

/// Makes sure that the file of a cell is there.
pub(crate) async fn prepare(
    work: &RecordWork,
    target: &mut TargetFiles,
    context: &mut PassContext<'_>,
) -> Result<(), PassEnd> {
    if work.test == Test::Write {
        return Ok(());
    }
    target.ensure(&data_name(work), work.file_size, context).await
}

/// Measures a cell. The tally holds what was measured also when the target is lost on the way.
pub(crate) async fn measure(
    work: &RecordWork,
    target: &mut TargetFiles,
    random: &mut Random,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), PassEnd> {
    let name = data_name(work);
    prepare(work, target, context).await?;
    let sample = work.sample.as_nanos() as u64;
    let begin = context.clock.now();
    let mut first = true;
    while first || (tally.busy_ns < sample && context.clock.now() - begin < sample * MOST_WALL) {
        if work.test == Test::Write {
            let mut file = target.create_as("new", work.file_size, work.policy, context).await?;
            let result = one_pass(work, target, &mut file, None, random, context, tally).await;
            target.discard(file, context).await?;
            result?;
        } else if let Some(mut file) = target.files.remove(&name) {
            let result = prepared_pass(work, target, &mut file, first, random, context, tally).await;
            target.files.insert(name.clone(), file);
            result?;
        }
        first = false;
    }
    tally.motors_reported = u32::from(tally.operations > 0);
    tally.response = tally.service.clone();
    Ok(())
}

/// A pass over the data file in the cache state that the test asks for.
async fn prepared_pass(
    work: &RecordWork,
    target: &mut TargetFiles,
    file: &mut FileState,
    first: bool,
    random: &mut Random,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), PassEnd> {
    let session = target.session.as_mut();
    let handle = policy::open_as(work, session, file, context).await?;
    let mut dropped = None;
    // What lies in a cache that is to be passed would be written back or thrown out by the first pass.
    if work.test == Test::Read || (first && work.policy.cache != CachePolicy::Normal) {
        dropped = Some(policy::drop_cache(session, handle, context).await?);
    }
    if work.test == Test::Reread && first {
        one_pass(work, target, file, None, random, context, &mut Tally::default()).await?;
        policy::open_as(work, target.session.as_mut(), file, context).await?;
    }
    one_pass(work, target, file, dropped, random, context, tally).await
}

/// One pass over an open file; `dropped` says whether its cache was dropped just before, if that was asked.
async fn one_pass(
    work: &RecordWork,
    target: &mut TargetFiles,
    file: &mut FileState,
    dropped: Option<bool>,
    random: &mut Random,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), PassEnd> {
    let Some(handle) = file.file else { return Ok(()) };
    let order = Order::new(work.test.pattern(), work.file_size / u64::from(work.record_size), random);
    let write = work.test.writes().then(|| file.next_generation());
    let session = target.session.as_mut();
    let watch = Watch::begin(work, session, handle, dropped, context).await?;
    let (record_size, depth) = (work.record_size, work.queue_depth);
    Pass { context, session: &mut *session, file: &mut *file, handle, record_size, depth, write }
        .run(order, tally)
        .await?;
    watch.end(work, session, handle, context, tally).await?;
    policy::conclude(work, session, file, context, tally).await
}
