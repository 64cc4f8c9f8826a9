//! A cell: one test on one file by one motor, in whole passes until it has lasted long enough.

use sharebench_model::Random;
use sharebench_plan::{RecordWork, Start};

use crate::file_state::FileState;
use crate::files::TargetFiles;
use crate::order::Part;
use crate::pass::{PassContext, PassEnd};
use crate::record_pass::RecordPass;
use crate::tally::Tally;

/// A cell ends after this many times its sample, however little of that was busy.
pub(crate) const MOST_WALL: u64 = sharebench_plan::MOST_WALL as u64;

/// Measures a cell. The tally holds what was measured also when the target is lost on the way.
pub(crate) async fn measure(
    work: &RecordWork,
    target: &mut TargetFiles,
    random: &mut Random,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), PassEnd> {
    let name = format!("data-{}", work.file_size);
    let fresh = work.test.start() == Start::Fresh;
    if !fresh {
        target.ensure(&name, work.file_size, context).await?;
    }
    target.drain(context).await?;
    let sample = work.sample.as_nanos() as u64;
    let begin = context.clock.now();
    let mut first = true;
    let mut passing = true;
    while first || passing && (tally.busy_ns < sample && context.clock.now() - begin < sample * MOST_WALL) {
        if fresh {
            let mut file = target.create("new", work.file_size, context).await?;
            let result = one_pass(work, target, &mut file, first, random, context, tally).await;
            target.discard(file, context).await?;
            result?;
        } else if let Some(mut file) = target.files.remove(&name) {
            let result = one_pass(work, target, &mut file, first, random, context, tally).await;
            target.files.insert(name.clone(), file);
            result?;
        }
        first = false;
        // In virtual time a target may answer at once: no repetition would ever fill the sample.
        passing = context.clock.now() > begin;
    }
    tally.motors_reported = u32::from(tally.operations > 0);
    tally.response = tally.service.clone();
    Ok(())
}

/// A pass over a file in the state that the test asks for.
async fn one_pass(
    work: &RecordWork,
    target: &mut TargetFiles,
    file: &mut FileState,
    first: bool,
    random: &mut Random,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), PassEnd> {
    let Some(handle) = file.file else { return Ok(()) };
    let session = target.session.as_mut();
    let mut pass = RecordPass { work, part: Part::WHOLE, session, file, handle };
    let mut result = pass.prepare(first, random, context).await;
    if result.is_ok() {
        result = pass.run(random, context, tally).await;
    }
    let released = pass.release(context).await;
    result.and(released.map_err(PassEnd::from))
}
