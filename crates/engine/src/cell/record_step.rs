//! A cell: one test on one file by one job, in whole passes until it has lasted long enough.

use sharebench_model::{Random, StepError};
use sharebench_plan::{RecordWork, Start};

use crate::cell::access_pattern::FilePart;
use crate::cell::file_names::data_name;
use crate::cell::policy;
use crate::cell::record_pass::RecordPass;
use crate::cell::server_cache;
use crate::cell::target_files::TargetFiles;
use crate::data::context::PassContext;
use crate::data::file_state::FileState;
use crate::data::request_splitting;
use crate::record::tally::Tally;

/// A cell ends after this many times its sample, however little of that was busy.
pub(crate) const MAX_WALL: u64 = sharebench_plan::MAX_WALL as u64;

/// Ensures that the file of a cell exists as the cell needs it.
pub(crate) async fn prepare(
    work: &RecordWork,
    target: &mut TargetFiles,
    context: &mut PassContext<'_>,
) -> Result<(), StepError> {
    if work.test.start() == Start::Fresh {
        return Ok(());
    }
    target.ensure_displacing(work, context).await?;
    target.ensure_for(work, &data_name(work), context).await
}

fn is_connection_lost<T>(result: &Result<T, StepError>) -> bool {
    matches!(result, Err(StepError::TargetLost { class, .. }) if class.ends_connection())
}

/// Measures a cell. The tally contains what was measured even if the target is lost during the cell.
pub(crate) async fn measure(
    work: &RecordWork,
    target: &mut TargetFiles,
    random: &mut Random,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), StepError> {
    let name = data_name(work);
    let fresh = work.test.start() == Start::Fresh;
    prepare(work, target, context).await?;
    target.merge_pending_failures(tally);
    // Dirty data of earlier cells would be written during this one and count as its wire bytes
    // (docs/design/cache-classification.md).
    target.drain(context).await?;
    let sample = work.min_sample_time.as_nanos() as u64;
    // The files of all targets exist before the first of them is measured.
    context.pass_turn(tally.busy_ns, tally.operations).await?;
    let begin = context.clock.now();
    let waited_before = context.waited_ns();
    let mut first = true;
    let mut passing = true;
    let mut wall_ns = 0;
    while first || passing && (tally.busy_ns < sample && wall_ns < sample * MAX_WALL) {
        if fresh {
            let mut file = target.create_as("new", work.file_size, work.policy, context).await?;
            let result = one_pass(work, target, &mut file, first, random, context, tally).await;
            // On a lost connection this would only wait for another timeout. Cleaning up removes the file.
            if !is_connection_lost(&result) {
                target.discard(file, context).await?;
            }
            result?;
        } else if let Some(mut file) = target.files.remove(&name) {
            let session = target.session.as_mut();
            let record_size = request_splitting::largest_request(session);
            server_cache::displace(work, session, &file.path, record_size, context).await?;
            let result = one_pass(work, target, &mut file, first, random, context, tally).await;
            target.files.insert(name.clone(), file);
            result?;
        }
        first = false;
        // In virtual time a target may answer at once: no repetition would ever fill the sample.
        wall_ns = context.clock.now() - begin - (context.waited_ns() - waited_before);
        passing = wall_ns > 0 && !work.passes_once();
        if passing && tally.busy_ns < sample {
            context.end_slice_at(tally.busy_ns, tally.operations).await?;
        }
    }
    tally.users_reported = u32::from(tally.operations > 0);
    // A job starts its next operation when the last one has ended, so nothing waits: response and service
    // time are equal.
    tally.response = tally.service.clone();
    Ok(())
}

/// Runs one pass over a file in the state that the test requires.
async fn one_pass(
    work: &RecordWork,
    target: &mut TargetFiles,
    file: &mut FileState,
    first: bool,
    random: &mut Random,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), StepError> {
    let session = target.session.as_mut();
    policy::open_as(work, session, file, context).await?;
    let mut handle = file.file.take();
    let mut pass = RecordPass { work, part: FilePart::WHOLE, session, file, handle: &mut handle };
    let result = measured(&mut pass, first, random, context, tally).await;
    let released = pass.release(context).await;
    file.file = handle;
    result.and(released.map_err(StepError::from))
}

async fn measured(
    pass: &mut RecordPass<'_>,
    first: bool,
    random: &mut Random,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), StepError> {
    // What a test needs before its pass is no part of a slice.
    let turn = context.turn.take();
    let observation = pass.prepare(first, random, context, tally).await;
    context.turn = turn;
    let observation = observation?;
    // What preparing the pass reads is not the cell's.
    let before = context.storage_read();
    pass.run(random, context, tally).await?;
    let read = context.storage_read().zip(before).and_then(|(after, before)| after.checked_sub(before));
    let so_far = if first { Some(0) } else { tally.server.storage_read };
    tally.server.storage_read = so_far.zip(read).map(|(so_far, read)| so_far + read);
    // Before anything is flushed, or is closed and cannot be looked at any more.
    pass.look(observation, context, tally).await?;
    pass.conclude(context, tally).await
}
