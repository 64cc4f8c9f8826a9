//! The single operations of the test of notifications, and whether a target supports it.

use sharebench_model::{FileRef, MetaOp, MetaYield, OpError};
use sharebench_target::Session;

use crate::data::context::PassContext;
use crate::metadata::lock_operations::close;

pub(crate) async fn open_directory(
    path: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<FileRef, OpError> {
    let opened = context.deadline.call(session, MetaOp::OpenDirectory { path: path.to_owned() }).await;
    opened.and_then(MetaYield::into_opened).map(|(file, _)| file)
}

/// Has the server report the next change; it has accepted that when this returns.
pub(crate) async fn watch(
    file: FileRef,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    context.deadline.call(session, MetaOp::Watch { file }).await.map(drop)
}

/// Has the server watch the directory of the run, and cancels that; returns why the target rejects it.
pub(crate) async fn trial(
    directory: &str,
    session: &mut dyn Session,
    context: &mut PassContext<'_>,
) -> Result<Option<OpError>, OpError> {
    let tried = match open_directory(directory, session, context).await {
        Ok(file) => {
            let tried = watch(file, session, context).await;
            tried.and(close(file, session, context).await)
        }
        Err(error) => Err(error),
    };
    match tried {
        Err(error) if error.class.ends_connection() => Err(error),
        tried => Ok(tried.err()),
    }
}
