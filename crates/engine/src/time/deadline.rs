//! Deadlines that cost nothing while replies arrive: a timer is set only when a session has nothing to return.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_model::{ErrorClass, MetaYield, OpError, OpStep, Reply, SessionOp};
use sharebench_target::{LocalBoxFuture, Session};

use crate::time::clock::Clock;
use crate::time::sleep::Sleep;

/// The deadline of each wait of a session, one wait after the other. One timer serves them all, because arming a
/// timer for each operation would cost more than many operations do.
pub(crate) struct Deadline {
    clock: Clock,
    limit: Duration,
    sleep: Option<Sleep>,
}

impl Deadline {
    /// Makes a deadline that allows each wait to last `limit`.
    pub fn new(clock: &Clock, limit: Duration) -> Self {
        Self { clock: clock.clone(), limit, sleep: None }
    }

    /// The longest time that a wait may take.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Makes a deadline with the same limit and a timer of its own, for another session.
    pub fn another(&self) -> Self {
        Self::new(&self.clock, self.limit)
    }

    /// Waits for at least one reply; none within the limit is a timeout.
    pub async fn replies(
        &mut self,
        session: &mut dyn Session,
        replies: &mut Vec<Reply>,
    ) -> Result<(), OpError> {
        let mut waiting = None;
        poll_fn(|cx| match session.poll_replies(cx, replies) {
            Poll::Ready(()) => Poll::Ready(Ok(())),
            Poll::Pending => self.poll_expired(cx, &mut waiting),
        })
        .await
    }

    /// Performs a metadata operation within the limit.
    pub async fn call(
        &mut self,
        session: &mut dyn Session,
        op: impl Into<SessionOp>,
    ) -> Result<MetaYield, OpError> {
        self.within(session.call(op)).await?.result
    }

    /// Reads a file by one request within the limit ([`WholeFiles::read_file`](sharebench_target::WholeFiles::read_file)).
    pub async fn read_file(
        &mut self,
        session: &mut dyn Session,
        path: &str,
        len: u32,
    ) -> Result<u32, OpError> {
        self.within(session.read_file(path, len)).await?.result
    }

    /// Waits for `work` within the limit.
    pub async fn within<T>(&mut self, mut work: LocalBoxFuture<'_, T>) -> Result<T, OpError> {
        let mut waiting = None;
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Ok(done)),
            Poll::Pending => match self.poll_expired(cx, &mut waiting) {
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                _ => Poll::Pending,
            },
        })
        .await
    }

    /// Arms the timer lazily: one timer serves many waits, and is reset only when it fires early.
    fn poll_expired(&mut self, cx: &mut Context<'_>, waiting: &mut Option<u64>) -> Poll<Result<(), OpError>> {
        // Computed at the first pending poll only: while replies arrive, no clock is read here.
        let end = *waiting.get_or_insert_with(|| self.clock.now() + self.limit.as_nanos() as u64);
        let sleep = self.sleep.get_or_insert_with(|| self.clock.sleep_coarse(end));
        while Pin::new(&mut *sleep).poll(cx).is_ready() {
            if self.clock.now() >= end {
                let detail = format!("no reply within {:?}", self.limit);
                self.sleep = None;
                return Poll::Ready(Err(OpError::new(ErrorClass::Timeout, OpStep::Reply, detail)));
            }
            sleep.reset(end);
        }
        Poll::Pending
    }
}
