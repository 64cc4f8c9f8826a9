//! A timer that is rarely reset: most waits end before it expires.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// A timer whose deadline moves from wait to wait, so that a wait does not allocate a new one.
#[derive(Debug)]
pub(crate) struct Timer {
    sleep: Pin<Box<Sleep>>,
}

impl Timer {
    pub(crate) fn new() -> Self {
        Self { sleep: Box::pin(tokio::time::sleep(Duration::ZERO)) }
    }

    /// Ready once `deadline` has passed.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        // An early wake-up costs less than resetting the timer for each request.
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
