//! Deadlines that cost nothing while replies come: a timer is touched only when there is nothing to do.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_model::{ErrorClass, MetaOp, MetaYield, OpError, Reply};
use sharebench_target::Session;
use tokio::time::{Instant, Sleep};

/// A deadline for one wait after the other.
pub(crate) struct Deadline {
    limit: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    /// Every wait may last `limit`.
    pub fn new(limit: Duration) -> Self {
        Self { limit, sleep: None }
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
            Poll::Pending => self.poll_expired(cx, &mut waiting, "waiting for a reply"),
        })
        .await
    }

    /// Performs a metadata operation within the limit.
    pub async fn call(&mut self, session: &mut dyn Session, op: MetaOp) -> Result<MetaYield, OpError> {
        let mut waiting = None;
        let mut call = session.call(op);
        poll_fn(|cx| match call.as_mut().poll(cx) {
            Poll::Ready(reply) => Poll::Ready(reply.result),
            Poll::Pending => match self.poll_expired(cx, &mut waiting, "waiting for a reply") {
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                _ => Poll::Pending,
            },
        })
        .await
    }

    /// Arms the timer lazily: one timer serves many waits, and is reset only when it fires early.
    fn poll_expired(
        &mut self,
        cx: &mut Context<'_>,
        waiting: &mut Option<Instant>,
        step: &'static str,
    ) -> Poll<Result<(), OpError>> {
        let end = *waiting.get_or_insert_with(|| Instant::now() + self.limit);
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        while sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= end {
                let detail = format!("no reply within {:?}", self.limit);
                self.sleep = None;
                return Poll::Ready(Err(OpError::new(ErrorClass::Timeout, step, detail)));
            }
            sleep.as_mut().reset(end);
        }
        Poll::Pending
    }
}
