//! Which metadata tests a target supports: tried once in the directory of the run, because servers and file systems
//! differ within one protocol.

use sharebench_model::{MetaOp, OpError};
use sharebench_plan::{MetadataGroup, MetadataTest, ResolvedPlan, Work};
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::metadata::directory_set::create_empty;
use crate::metadata::{caching_operations, lock_operations, notify_operations, server_side};

/// The tests that need locks of byte ranges.
const WITH_LOCKS: [MetadataTest; 3] =
    [MetadataTest::Lock, MetadataTest::LockNeighbours, MetadataTest::LockContended];

/// The tests of locks of the plan that the target does not support, each with the reason.
async fn without_locks(
    wanted: impl Fn(MetadataTest) -> bool,
    directory: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<Vec<(MetadataTest, OpError)>, OpError> {
    let mut found = Vec::new();
    let with_locks: Vec<_> = WITH_LOCKS.into_iter().filter(|test| wanted(*test)).collect();
    if let Some(first) = with_locks.first()
        && let Some(error) = lock_operations::trial(*first, directory, session, context).await?
    {
        found.extend(with_locks.into_iter().map(|test| (test, error.clone())));
    }
    for test in [MetadataTest::ShareConflict, MetadataTest::Semaphore] {
        if wanted(test)
            && let Some(error) = lock_operations::trial(test, directory, session, context).await?
        {
            found.push((test, error));
        }
    }
    Ok(found)
}

/// The tests of the plan that the target does not support, each with the server's reason.
pub(crate) async fn unsupported(
    plan: &ResolvedPlan,
    directory: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<Vec<(MetadataTest, OpError)>, OpError> {
    let wanted = |test: MetadataTest| {
        plan.works().any(|work| matches!(work, Work::Metadata(work) if work.test == test))
    };
    let mut found = without_locks(wanted, directory, session, context).await?;
    if wanted(MetadataTest::Notify)
        && let Some(error) = notify_operations::trial(directory, session, context).await?
    {
        found.push((MetadataTest::Notify, error));
    }
    for test in MetadataTest::of_group(MetadataGroup::Locks).into_iter().filter(|test| test.is_of_caching()) {
        if wanted(test)
            && let Some(error) = caching_operations::trial(test, directory, session, context).await?
        {
            found.push((test, error));
        }
    }
    for test in [MetadataTest::ServerCopy, MetadataTest::Clone, MetadataTest::PunchHole] {
        if wanted(test)
            && let Some(error) = server_side::trial(test, directory, session, context).await?
        {
            found.push((test, error));
        }
    }
    let path = format!("{directory}/probe");
    let to = format!("{directory}/link");
    let trials = [
        (MetadataTest::Link, MetaOp::Link { from: path.clone(), to: to.clone() }),
        (MetadataTest::SetAttributes, MetaOp::SetModified { path: path.clone(), seconds: 1_000_000_000 }),
    ];
    let trials: Vec<_> = trials.into_iter().filter(|(test, _)| wanted(*test)).collect();
    if trials.is_empty() {
        return Ok(found);
    }
    create_empty(session, path.clone(), context).await?;
    for (test, op) in trials {
        match context.deadline.call(session, op).await {
            Ok(_) if test == MetadataTest::Link => {
                context.deadline.call(session, MetaOp::Remove { path: to.clone() }).await?;
            }
            Ok(_) => {}
            Err(error) if error.class.ends_connection() => return Err(error),
            Err(error) => found.push((test, error)),
        }
    }
    context.deadline.call(session, MetaOp::Remove { path }).await?;
    Ok(found)
}
