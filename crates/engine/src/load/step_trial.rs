//! Whether a target has what the transactions of a load need from it besides files: tried once, before the data set is laid out.

use sharebench_model::{MetaOp, MetaYield, OpError, OpenHow};
use sharebench_plan::{LockRange, Operation, Workload};
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::metadata::directory_set::create_empty;

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
    let find = |is_wanted: fn(&Operation) -> bool| all.clone().find(|(_, operation)| is_wanted(operation));
    let locks = find(|operation| matches!(operation, Operation::Lock(_)));
    let denies = find(|operation| matches!(operation, Operation::OpenDenying));
    for (transaction, operation) in locks.into_iter().chain(denies) {
        create_empty(session, path.to_owned(), context).await?;
        let tried = match operation {
            Operation::OpenDenying => open_denying(path, session, context).await,
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

async fn open_denying(
    path: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let open = MetaOp::OpenDenying { path: path.to_owned() };
    let (file, _) = context.deadline.call(session, open).await.and_then(MetaYield::into_opened)?;
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
