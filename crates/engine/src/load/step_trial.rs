//! Whether a target has what the transactions of a load need from it besides files: tried once, before the data set is laid out.

use sharebench_model::{MetaYield, OpError, OpenHow, SessionOp};
use sharebench_plan::{LockRange, Operation, Workload};

use crate::metadata::connected::Connected;
use crate::metadata::lock_operations::{semaphore_name, try_semaphore};
use crate::metadata::notify_operations::try_watch;

/// Tries each operation that servers and protocols may lack on a new file at `path`, which is removed again.
///
/// # Errors
/// The target rejects one of them. The error names the operation and the transaction. Loads have no cells that could be
/// skipped: every transaction would fail.
pub(crate) async fn try_operations(
    workload: &Workload,
    path: &str,
    at: &mut Connected<'_, '_>,
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
        at.create_empty(path).await?;
        let opened = path.to_owned();
        let tried = match operation {
            Operation::OpenDenying => open_and_close(SessionOp::OpenDenying { path: opened }, at).await,
            Operation::OpenLeased => open_and_close(SessionOp::OpenLeased { path: opened }, at).await,
            Operation::OpenDelegated => open_and_close(SessionOp::OpenDelegated { path: opened }, at).await,
            Operation::Watch => {
                let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                try_watch(directory, at).await?.map_or(Ok(()), Err)
            }
            Operation::Wait => try_semaphore(&semaphore_name(path), at).await?.map_or(Ok(()), Err),
            _ => lock_and_unlock(path, at).await,
        };
        if let Err(error) = tried {
            if !error.class.ends_connection() {
                // The error of the operation is the one to report.
                let _ = at.remove(path).await;
            }
            let detail = format!("'{operation}' of the transaction '{}': {}", transaction.name, error.detail);
            return Err(OpError { detail, ..error });
        }
        at.remove(path).await?;
    }
    Ok(())
}

/// Opens a file in a way that the target may not know, and closes it. What it grants with a right to cache depends on the server
/// and is counted during the load.
async fn open_and_close(op: impl Into<SessionOp>, at: &mut Connected<'_, '_>) -> Result<(), OpError> {
    let file = match at.call(op).await? {
        MetaYield::OpenedToCache { file, .. } => file,
        opened => opened.into_opened()?.0,
    };
    at.close(file).await
}

async fn lock_and_unlock(path: &str, at: &mut Connected<'_, '_>) -> Result<(), OpError> {
    let (file, _) = at.open(path, OpenHow::ReadWrite).await?;
    let offset = LockRange::Shared.offset(0);
    let bytes = LockRange::BYTES;
    let unlocked = match at.call(SessionOp::Lock { file, offset, bytes, wait: false }).await {
        Ok(_) => at.call(SessionOp::Unlock { file, offset, bytes }).await,
        failed => failed,
    };
    unlocked.map(drop).and(at.close(file).await)
}
