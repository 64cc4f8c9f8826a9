//! A session with what its operations need.

use sharebench_model::{FileRef, MetaOp, MetaYield, OpError, OpenHow, SessionOp};
use sharebench_target::Session;

use crate::data::context::PassContext;

/// A session with the context of its operations, and the operations that most tests need.
pub(crate) struct Connected<'s, 'c> {
    pub session: &'s mut dyn Session,
    pub context: &'s mut PassContext<'c>,
}

impl<'s, 'c> Connected<'s, 'c> {
    pub fn new(session: &'s mut dyn Session, context: &'s mut PassContext<'c>) -> Self {
        Self { session, context }
    }

    /// Performs an operation within the deadline.
    pub async fn call(&mut self, op: impl Into<SessionOp>) -> Result<MetaYield, OpError> {
        self.context.deadline.call(&mut *self.session, op).await
    }

    /// Performs an operation that opens a file.
    pub async fn call_open(&mut self, op: impl Into<SessionOp>) -> Result<FileRef, OpError> {
        self.call(op).await.and_then(MetaYield::into_opened).map(|(file, _)| file)
    }

    /// Opens a file; its size is that of the reply.
    pub async fn open(&mut self, path: impl Into<String>, how: OpenHow) -> Result<(FileRef, u64), OpError> {
        self.call(MetaOp::open(path, how)).await.and_then(MetaYield::into_opened)
    }

    pub async fn close(&mut self, file: FileRef) -> Result<(), OpError> {
        self.call(MetaOp::Close { file }).await.map(drop)
    }

    pub async fn create_empty(&mut self, path: impl Into<String>) -> Result<(), OpError> {
        let (file, _) = self.open(path, OpenHow::CreateNew).await?;
        self.close(file).await
    }

    pub async fn remove(&mut self, path: impl Into<String>) -> Result<(), OpError> {
        self.call(MetaOp::Remove { path: path.into() }).await.map(drop)
    }
}
