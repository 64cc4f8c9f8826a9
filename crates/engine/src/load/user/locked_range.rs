//! Steps of transactions that wait for other users: locks of ranges, and opens that deny a file.

use std::time::Duration;

use sharebench_model::{ErrorClass, FileRef, MetaYield, OpError, SessionOp};
use sharebench_plan::LockRange;

use crate::load::user::virtual_user::VirtualUser;
use crate::record::operation_kind::OperationKind;

/// Time between two requests for what another user has, where the target rejects a request instead of keeping it. It is that
/// of the sweeps of locks (docs/measure/locks.md).
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_micros(100);

/// A range that a transaction has locked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LockedRange {
    pub offset: u64,
    pub bytes: u64,
}

impl VirtualUser<'_> {
    /// Locks a range of an open file, once no other user has locked it.
    pub(crate) async fn lock_range(
        &mut self,
        file: FileRef,
        range: LockRange,
    ) -> Result<LockedRange, OpError> {
        let locked = LockedRange { offset: range.offset(self.number), bytes: LockRange::BYTES };
        let LockedRange { offset, bytes } = locked;
        self.meta_when_free(SessionOp::Lock { file, offset, bytes, wait: true }).await?;
        Ok(locked)
    }

    /// Performs an operation that another user may be in the way of, and repeats it for as long as the target rejects it as busy.
    /// It is timed and counted as one operation.
    ///
    /// A stop does not end the wait: whoever is in the way finishes its transaction, which ends it.
    ///
    /// # Errors
    /// It failed in another way, or was rejected for the timeout of an operation.
    pub(crate) async fn meta_when_free(&mut self, op: impl Into<SessionOp>) -> Result<MetaYield, OpError> {
        let op = op.into();
        let kind = OperationKind::from_op(&op);
        let clock = self.thread.clock;
        let started = clock.now();
        let end = started.saturating_add(self.thread.timeout.as_nanos() as u64);
        let result = loop {
            let result = self.call(op.clone()).await;
            let now = clock.now();
            match result {
                Err(error) if error.class == ErrorClass::Busy && now < end => {
                    clock.sleep_precise(now + RETRY_INTERVAL.as_nanos() as u64).await;
                }
                result => break result,
            }
        };
        self.count(kind, started, result.as_ref().err(), 0);
        result
    }

    /// Pauses within a transaction, and answers requests of the server meanwhile. A stop, or the end of the user's last window, ends it.
    pub(crate) async fn pause(&mut self, time: Duration) {
        let clock = self.thread.clock;
        let end = clock.now().saturating_add(time.as_nanos() as u64);
        let interval = self.thread.poll_interval();
        while !self.is_over() {
            let now = clock.now();
            if end.saturating_sub(now) <= 2 * interval {
                clock.sleep_precise(end).await;
                return;
            }
            self.sleep_with_keepalive(now + interval).await;
        }
    }
}
