//! Files that a transaction opens with a request for the right to cache them, and the return of that right.

use std::time::Duration;

use sharebench_model::{CacheRight, FileRef, MetaYield, OpError, SessionOp};

use crate::load::user::virtual_user::VirtualUser;
use crate::record::operation_kind::OperationKind;

impl VirtualUser<'_> {
    /// Opens a file with a request for the right to cache it; true if the server has granted one.
    ///
    /// Whether it grants one depends on who else has the file open. So an open without a right is no failure, but an operation of
    /// another kind: the share of the granted ones and the times of both are known.
    pub(crate) async fn open_to_cache(&mut self, op: SessionOp) -> Result<(FileRef, bool), OpError> {
        let requested = OperationKind::of(&op);
        let started = self.thread.clock.now();
        let opened = self.call(op).await.and_then(MetaYield::into_right);
        let is_granted = !matches!(opened, Ok((_, CacheRight::None)));
        let kind = if is_granted { requested } else { OperationKind::OpenNotGranted };
        self.count(kind, started, opened.as_ref().err(), 0);
        opened.map(|(file, _)| (file, is_granted))
    }

    /// Pauses within a transaction that holds the right of a file. When the server takes the right back, the user gives it back at
    /// once and pauses for the rest of the time; true in that case.
    ///
    /// The return is no operation of the table: another user waits for it, and its open is what is measured. Its requests count on
    /// the wire.
    ///
    /// # Errors
    /// The session was lost, or the server has rejected the return.
    pub(crate) async fn pause_holding(&mut self, time: Duration, file: FileRef) -> Result<bool, OpError> {
        let clock = self.thread.clock;
        let end = clock.now().saturating_add(time.as_nanos() as u64);
        let interval = self.thread.poll_interval();
        loop {
            let now = clock.now();
            if now >= end || self.is_over() {
                return Ok(false);
            }
            // The stop signal is read between two waits.
            let until = end.min(now + interval);
            let session = self.session_mut()?;
            // Only the wait is abandoned at its end. The return is a request, which is awaited whatever time it takes.
            let recalled = tokio::select! {
                biased;
                recalled = session.call(SessionOp::AwaitRecall { file }) => Some(recalled.result),
                () = clock.sleep_precise(until) => None,
            };
            if let Some(recalled) = recalled {
                recalled?;
                self.call(SessionOp::GiveBack { file }).await?;
                self.pause(Duration::from_nanos(end.saturating_sub(clock.now()))).await;
                return Ok(true);
            }
        }
    }
}
