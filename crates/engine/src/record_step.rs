//! A cell: one test on one file by one motor, in whole passes until it has lasted long enough.

use sharebench_model::{ErrorClass, MetaOp, Random};
use sharebench_plan::{MOST_WALL, RecordWork, Test};

use crate::file_state::FileState;
use crate::files::TargetFiles;
use crate::order::Order;
use crate::pass::{Pass, PassContext, PassEnd};
use crate::tally::Tally;

/// Measures a cell. The tally holds what was measured also when the target is lost on the way.
pub(crate) async fn measure(
    work: &RecordWork,
    target: &mut TargetFiles,
    random: &mut Random,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), PassEnd> {
    let name = format!("data-{}", work.file_size);
    if work.test != Test::Write {
        target.ensure(&name, work.file_size, context).await?;
    }
    let sample = work.sample.as_nanos() as u64;
    let begin = context.clock.now();
    let mut first = true;
    while first || (tally.busy_ns < sample && context.clock.now() - begin < sample * u64::from(MOST_WALL)) {
        if work.test == Test::Write {
            let mut file = target.create("new", work.file_size, context).await?;
            let result = one_pass(work, target, &mut file, random, context, tally).await;
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
    match (work.test, file.file) {
        (Test::Read, Some(handle)) => {
            let drop = MetaOp::DropCache { file: handle };
            match context.deadline.call(target.session.as_mut(), drop).await {
                Err(error) if error.class != ErrorClass::Unsupported => return Err(error.into()),
                _ => {}
            }
        }
        (Test::Reread, _) if first => {
            one_pass(work, target, file, random, context, &mut Tally::default()).await?;
        }
        _ => {}
    }
    one_pass(work, target, file, random, context, tally).await
}

async fn one_pass(
    work: &RecordWork,
    target: &mut TargetFiles,
    file: &mut FileState,
    random: &mut Random,
    context: &mut PassContext<'_>,
    tally: &mut Tally,
) -> Result<(), PassEnd> {
    let Some(handle) = file.file else { return Ok(()) };
    let order = Order::new(work.test.pattern(), work.file_size / u64::from(work.record_size), random);
    let write = work.test.writes().then(|| file.next_generation());
    let session = target.session.as_mut();
    let (record_size, depth) = (work.record_size, work.queue_depth);
    Pass { context, session, file, handle, record_size, depth, write }.run(order, tally).await
}
