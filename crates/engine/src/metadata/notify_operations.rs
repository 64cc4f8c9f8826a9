//! The single operations of the test of notifications, and whether a target supports it.

use sharebench_model::{FileRef, OpError, SessionOp};

use crate::metadata::connected::Connected;
use crate::metadata::rejection::{Rejection, rejection};

pub(crate) async fn open_directory(path: &str, at: &mut Connected<'_, '_>) -> Result<FileRef, OpError> {
    at.call_open(SessionOp::OpenDirectory { path: path.to_owned() }).await
}

/// Has the server report the next change; it has accepted that when this returns.
pub(crate) async fn watch(file: FileRef, at: &mut Connected<'_, '_>) -> Result<(), OpError> {
    at.call(SessionOp::Watch { file }).await.map(drop)
}

/// Has the server watch the directory of the run, and cancels that.
pub(crate) async fn try_watch(directory: &str, at: &mut Connected<'_, '_>) -> Result<Rejection, OpError> {
    let tried = match open_directory(directory, at).await {
        Ok(file) => {
            let tried = watch(file, at).await;
            tried.and(at.close(file).await)
        }
        Err(error) => Err(error),
    };
    rejection(tried)
}
