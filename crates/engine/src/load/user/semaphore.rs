//! The semaphore that all users of a load share, and what becomes of its unit.

use std::sync::atomic::Ordering;

use sharebench_model::{ErrorClass, OpError, SessionOp};
use sharebench_plan::Operation;

use crate::load::user::locked_range::RETRY_INTERVAL;
use crate::load::user::virtual_user::{VirtualUser, loses_session};
use crate::metadata::lock_operations::semaphore_name;
use crate::record::operation_kind::OperationKind;

/// What a user knows of the semaphore of its session.
///
/// A server does not signal for a connection that ends, so that a user who loses its session with the unit, or with a wait whose
/// reply was lost, would block all others. Such a user retires the semaphore: all users take the next number, whose name is
/// another one, with a unit of its own. The engine knows the number ([`LoadCounters`](crate::load::user::environment::LoadCounters)).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OpenSemaphore {
    /// The number of the semaphore that is open.
    number: Option<u32>,
    /// The user has the unit, or has requested it and does not know the outcome.
    may_have_unit: bool,
}

impl VirtualUser<'_> {
    /// Opens the semaphore, if a transaction takes it. That is not measured.
    pub(crate) async fn open_semaphore(&mut self) -> Result<(), OpError> {
        let thread = self.thread;
        let mut operations = thread.work.workload.transactions.iter().flat_map(|t| &t.operations);
        if operations.any(|operation| *operation == Operation::Wait) {
            self.follow_semaphore().await?;
        }
        Ok(())
    }

    /// Closes the semaphore, which ends with the last of its users.
    pub(crate) async fn close_semaphore(&mut self) {
        if self.semaphore.number.take().is_some() {
            // The session is closed next, which closes it as well.
            let _ = self.call(SessionOp::CloseSemaphore).await;
        }
    }

    /// Takes the unit once no other user has it. It is timed and counted as one operation, with all requests.
    ///
    /// # Errors
    /// The unit was not free within the timeout of an operation (class busy), or the request failed.
    pub(crate) async fn wait_for_unit(&mut self) -> Result<(), OpError> {
        let clock = self.thread.clock;
        let started = clock.now();
        let end = started.saturating_add(self.thread.timeout.as_nanos() as u64);
        let result = loop {
            let result = self.request_unit().await;
            let now = clock.now();
            match result {
                Err(error) if error.class == ErrorClass::Busy && now < end => {
                    clock.sleep_precise(now + RETRY_INTERVAL.as_nanos() as u64).await;
                }
                result => break result,
            }
        };
        self.count(OperationKind::Wait, started, result.as_ref().err(), 0);
        result
    }

    /// Returns the unit, timed and counted.
    pub(crate) async fn signal_unit(&mut self) -> Result<(), OpError> {
        self.meta(SessionOp::SignalSemaphore).await?;
        self.semaphore.may_have_unit = false;
        Ok(())
    }

    /// Returns the unit after a failed transaction, if the user has it.
    pub(crate) async fn give_up_unit(&mut self) {
        if !self.semaphore.may_have_unit {
            return;
        }
        // The earlier failure is the one to report.
        if self.call(SessionOp::SignalSemaphore).await.is_ok() {
            self.semaphore.may_have_unit = false;
        } else {
            self.retire_semaphore();
        }
    }

    /// The session is lost, and with it the open semaphore and perhaps its unit.
    pub(crate) fn lose_semaphore(&mut self) {
        self.retire_semaphore();
        self.semaphore = OpenSemaphore::default();
    }

    /// Has all users take the next semaphore, if this user may have the unit of the current one.
    fn retire_semaphore(&mut self) {
        let OpenSemaphore { number: Some(number), may_have_unit: true } = self.semaphore else { return };
        let current = &self.thread.counters.semaphore;
        // Another user may have retired it already.
        let _ = current.compare_exchange(number, number + 1, Ordering::Relaxed, Ordering::Relaxed);
        self.semaphore.may_have_unit = false;
    }

    async fn request_unit(&mut self) -> Result<(), OpError> {
        self.follow_semaphore().await?;
        self.semaphore.may_have_unit = true;
        let result = self.call(SessionOp::WaitSemaphore).await.map(drop);
        if let Err(error) = &result {
            // An answer of the server says that the unit was not given; without one that is unknown.
            self.semaphore.may_have_unit = loses_session(error.class);
        }
        result
    }

    /// Opens the current semaphore in place of an earlier one.
    async fn follow_semaphore(&mut self) -> Result<(), OpError> {
        let current = self.thread.counters.semaphore.load(Ordering::Relaxed);
        if self.semaphore.number == Some(current) {
            return Ok(());
        }
        self.close_semaphore().await;
        let name = semaphore_name(&format!("{}/load-{current}", self.thread.directory));
        self.call(SessionOp::OpenSemaphore { name }).await?;
        self.semaphore = OpenSemaphore { number: Some(current), may_have_unit: false };
        Ok(())
    }
}
