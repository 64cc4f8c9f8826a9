//! A target that records the idle times of each session, to measure the think time that the users executed.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use sharebench_engine::Clock;
use sharebench_model::{DataOp, MetaOp, MetaReply, Reply, Slot, TargetFacts, WireCount};
use sharebench_target::{Capabilities, ConnectError, LocalBoxFuture, Session, SessionSpec, Target};

/// End and length of a pause between a reply and the next request of a session.
type Pause = (u64, u64);

/// A target that forwards every call and records the pauses.
pub(super) struct InstrumentedTarget<T> {
    inner: T,
    clock: Clock,
    pauses: Arc<Mutex<Vec<Pause>>>,
}

impl<T> InstrumentedTarget<T> {
    pub fn new(inner: T) -> Self {
        Self { inner, clock: Clock::start(), pauses: Arc::default() }
    }

    /// Returns the mean of the pauses that ended in the last `window_ns`, in nanoseconds, if there were any.
    pub fn mean_pause_ns(&self, window_ns: u64) -> Option<f64> {
        let pauses = self.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        let last = pauses.iter().map(|(at, _)| *at).max()?;
        let within = || pauses.iter().filter(|(at, _)| last - at <= window_ns);
        Some(within().map(|(_, pause)| *pause as f64).sum::<f64>() / within().count() as f64)
    }
}

impl<T: Target> Target for InstrumentedTarget<T> {
    fn url(&self) -> String {
        self.inner.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        Box::pin(async move {
            let inner = self.inner.connect(spec).await?;
            let clock = self.clock.clone();
            let pauses = Arc::clone(&self.pauses);
            Ok(Box::new(InstrumentedSession { inner, clock, pauses, answered: None }) as Box<dyn Session>)
        })
    }
}

struct InstrumentedSession {
    inner: Box<dyn Session>,
    clock: Clock,
    pauses: Arc<Mutex<Vec<Pause>>>,
    /// Instant of the last reply to a read, if no request followed.
    answered: Option<u64>,
}

impl Session for InstrumentedSession {
    fn facts(&self) -> TargetFacts {
        self.inner.facts()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        // Only users read; the session of the engine writes.
        if let (DataOp::Read { .. }, Some(answered)) = (op, self.answered.take()) {
            let now = self.clock.now();
            self.pauses.lock().unwrap_or_else(PoisonError::into_inner).push((now, now - answered));
        }
        self.inner.submit(slot, op);
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let polled = self.inner.poll_replies(cx, replies);
        if polled.is_ready() {
            self.answered = Some(self.clock.now());
        }
        polled
    }

    fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply> {
        self.inner.call(op)
    }

    fn wire(&self) -> WireCount {
        self.inner.wire()
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        self.inner.close()
    }
}
