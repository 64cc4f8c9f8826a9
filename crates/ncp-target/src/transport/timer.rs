//! A timer that is seldom set: most waits end before it, and the next one only moves its end.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::time::{Instant, Sleep};

/// Ready at an instant that moves on from wait to wait.
#[derive(Debug)]
pub(crate) struct Timer {
    sleep: Pin<Box<Sleep>>,
}

impl Timer {
    pub(crate) fn new() -> Self {
        Self { sleep: Box::pin(tokio::time::sleep_until(Instant::now())) }
    }

    /// Ready from `deadline` on.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        // Set earlier than needed it wakes once in vain, which costs less than to set it for each request.
        if self.sleep.deadline() > deadline || self.sleep.is_elapsed() {
            self.sleep.as_mut().reset(deadline);
        }
        loop {
            ready!(self.sleep.as_mut().poll(cx));
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(deadline);
        }
    }
}
