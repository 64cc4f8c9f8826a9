//! Whether a target has what the transactions of a load need from it besides files: tried once, before the data set is laid out.

use sharebench_model::{MetaOp, MetaYield, OpError, OpenHow};
use sharebench_plan::{LockRange, Operation, Workload};
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::metadata::directory_set::create_empty;
use crate::metadata::lock_operations::{semaphore_name, trial_of_semaphore};
use crate::metadata::notify_operations;

/// Tries each operation that servers and protocols may lack on a new file at `path`, which is removed again.
///
/// # Errors
/// The target rejects one of them. The error names the operation and the transaction. Loads have no cells that could be
/// skipped: every transaction would fail.
pub(crate) async fn try_operations(
    workload: &Workload,
    path: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let all = workload.transactions.iter().flat_map(|t| t.operations.iter().map(move |step| (t, step)));
    let is_tried: [fn(&Operation) -> bool; 6] = [
        |operation| matches!(operation, Operation::Lock(_)),
        |operation| matches!(operation, Operation::OpenDenying),
        |operation| matches!(operation, Operation::OpenLeased),
        |operation| matches!(operation, Operation::OpenDelegated),
        |operation| matches!(operation, Operation::Watch),
        |operation| matches!(operation, Operation::Wait),
    ];
    let found = is_tried.into_iter().filter_map(|is_one| all.clone().find(|(_, step)| is_one(step)));
    for (transaction, operation) in found {
        create_empty(session, path.to_owned(), context).await?;
        let opened = path.to_owned();
        let tried = match operation {
            Operation::OpenDenying => {
                open_and_close(MetaOp::OpenDenying { path: opened }, session, context).await
            }
            Operation::OpenLeased => {
                open_and_close(MetaOp::OpenLeased { path: opened }, session, context).await
            }
            Operation::OpenDelegated => {
                open_and_close(MetaOp::OpenDelegated { path: opened }, session, context).await
            }
            Operation::Watch => {
                let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                notify_operations::trial(directory, session, context).await?.map_or(Ok(()), Err)
            }
            Operation::Wait => {
                trial_of_semaphore(&semaphore_name(path), session, context).await?.map_or(Ok(()), Err)
            }
            _ => lock_and_unlock(path, session, context).await,
        };
        if let Err(error) = tried {
            if !error.class.ends_connection() {
                // The error of the operation is the one to report.
                let _ = context.deadline.call(session, MetaOp::Remove { path: path.to_owned() }).await;
            }
            let detail = format!("'{operation}' of the transaction '{}': {}", transaction.name, error.detail);
            return Err(OpError { detail, ..error });
        }
        context.deadline.call(session, MetaOp::Remove { path: path.to_owned() }).await?;
    }
    Ok(())
}

/// Opens a file in a way that the target may not know, and closes it. What it grants with a right to cache depends on the server
/// and is counted during the load.
async fn open_and_close(
    op: MetaOp,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let file = match context.deadline.call(session, op).await? {
        MetaYield::OpenedToCache { file, .. } => file,
        opened => opened.into_opened()?.0,
    };
    context.deadline.call(session, MetaOp::Close { file }).await.map(drop)
}

async fn lock_and_unlock(
    path: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let open = MetaOp::open(path, OpenHow::ReadWrite);
    let (file, _) = context.deadline.call(session, open).await.and_then(MetaYield::into_opened)?;
    let offset = LockRange::Shared.offset(0);
    let bytes = LockRange::BYTES;
    let locked = context.deadline.call(session, MetaOp::Lock { file, offset, bytes, wait: false }).await;
    let unlocked = match locked {
        Ok(_) => context.deadline.call(session, MetaOp::Unlock { file, offset, bytes }).await,
        failed => failed,
    };
    let closed = context.deadline.call(session, MetaOp::Close { file }).await;
    unlocked.and(closed).map(drop)
}
