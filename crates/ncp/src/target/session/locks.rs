//! Locks of byte ranges, semaphores, and opens that deny a file to others (docs/protocols/ncp.md 3.2 and 3.3).

use std::time::Duration;

use sharebench_model::{ErrorClass, FileRef, MetaYield, OpError, OpStep};
use sharebench_target::{CallResult, Locks, Semaphores};

use crate::client::{Access, File, Lock, LockRange};
use crate::target::session::NcpSession;
use crate::target::session::files::OpenFile;
use crate::wire::dos::access;

/// How long a server waits for a lock by one call. The caller requests it again, so that a server that cannot grant it holds
/// no call for long.
const PATIENCE: Duration = Duration::from_secs(1);

impl NcpSession {
    /// The handle of a file on the first connection.
    pub(super) fn first_handle(&self, file: FileRef) -> Result<File, OpError> {
        self.files.get(file)?.handles.first().copied().ok_or_else(OpError::no_session)
    }
}

impl Locks for NcpSession {
    /// Logs and locks a range exclusively (0x1A, or 87/69 for large files). With `wait` the server waits for [`PATIENCE`].
    async fn lock(&mut self, file: FileRef, start: u64, length: u64, wait: bool) -> CallResult {
        let range = LockRange { start, length };
        let handle = self.first_handle(file)?;
        let patience = if wait { PATIENCE } else { Duration::ZERO };
        let locked =
            self.call_client(async |client| client.lock(handle, range, Lock::Exclusive, patience).await);
        if locked.await? {
            return Ok(MetaYield::Done);
        }
        Err(OpError::new(
            ErrorClass::Busy,
            OpStep::Request("lock"),
            "another connection has locked the range",
        ))
    }

    /// Releases exactly one range (0x1E, or 87/71 for large files).
    async fn unlock(&mut self, file: FileRef, start: u64, length: u64) -> CallResult {
        let handle = self.first_handle(file)?;
        self.done(async |client| client.unlock(handle, LockRange { start, length }).await).await
    }

    /// Opens a file with both deny bits. The connections of a session would deny it to each other.
    async fn open_denying(&mut self, path: &str) -> CallResult {
        if self.connections.len() > 1 {
            let detail = "NCP over several connections has no open that denies a file to others";
            return Err(OpError::unsupported(detail));
        }
        let path = self.path(path)?;
        let denied = access::DENY_READ | access::DENY_WRITE;
        let opened =
            self.call_client(async |client| client.open_denying(&path, Access::ReadWrite, denied).await);
        let (handle, info) = opened.await?;
        let file = self.files.open(OpenFile { handles: vec![handle], through: false, writable: true })?;
        Ok(MetaYield::Opened { file, size: info.size.into() })
    }
}

impl Semaphores for NcpSession {
    /// Opens a semaphore (0x20/0) with the value 1 if it is new.
    async fn open_semaphore(&mut self, name: &str) -> CallResult {
        if self.semaphore.is_some() {
            let detail = "the session has a semaphore open already";
            return Err(OpError::new(ErrorClass::Busy, OpStep::Submit, detail));
        }
        let opened = self.call_client(async |client| client.open_semaphore(name.as_bytes(), 1).await);
        self.semaphore = Some(opened.await?.0);
        Ok(MetaYield::Done)
    }

    /// Decrements the semaphore (0x20/2), for which the server waits for [`PATIENCE`].
    async fn wait_semaphore(&mut self) -> CallResult {
        let semaphore = self.semaphore.ok_or_else(OpError::no_open_semaphore)?;
        let taken = self.call_client(async |client| client.wait_on_semaphore(semaphore, PATIENCE).await);
        if taken.await? {
            return Ok(MetaYield::Done);
        }
        Err(OpError::new(
            ErrorClass::Busy,
            OpStep::Request("semaphore"),
            "other connections have taken the semaphore",
        ))
    }

    async fn signal_semaphore(&mut self) -> CallResult {
        let semaphore = self.semaphore.ok_or_else(OpError::no_open_semaphore)?;
        self.done(async |client| client.signal_semaphore(semaphore).await).await
    }

    async fn close_semaphore(&mut self) -> CallResult {
        let semaphore = self.semaphore.take().ok_or_else(OpError::no_open_semaphore)?;
        self.done(async |client| client.close_semaphore(semaphore).await).await
    }
}
