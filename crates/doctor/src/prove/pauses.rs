//! The pauses of sessions between a reply and the next request: the think time that the users executed.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use sharebench_engine::Clock;
use sharebench_model::{DataOp, Reply, Slot};
use sharebench_target::{Alteration, Altered, Session, Target};

/// End and length of a pause.
type Pause = (u64, u64);

/// The pauses of all sessions of a target. Clones share them.
#[derive(Clone)]
pub(super) struct Pauses {
    clock: Clock,
    pauses: Arc<Mutex<Vec<Pause>>>,
}

impl Pauses {
    pub fn new() -> Self {
        Self { clock: Clock::start(), pauses: Arc::default() }
    }

    /// The same target, whose sessions record their pauses here.
    pub fn of_target(&self, target: Arc<dyn Target>) -> impl Target + use<> {
        Altered::of_shared(target, PausedSession { shared: self.clone(), answered: None })
    }

    /// Returns the mean of the pauses that ended in the last `window_ns`, in nanoseconds, if there were any.
    pub fn mean_ns(&self, window_ns: u64) -> Option<f64> {
        let pauses = self.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        let last = pauses.iter().map(|(at, _)| *at).max()?;
        let within = || pauses.iter().filter(|(at, _)| last - at <= window_ns);
        Some(within().map(|(_, pause)| *pause as f64).sum::<f64>() / within().count() as f64)
    }
}

#[derive(Clone)]
struct PausedSession {
    shared: Pauses,
    /// Instant of the last reply to a read, if no request followed.
    answered: Option<u64>,
}

impl Alteration for PausedSession {
    fn submit(&mut self, inner: &mut dyn Session, slot: Slot, op: DataOp) {
        // Only users read; the session of the engine writes.
        if let (DataOp::Read { .. }, Some(answered)) = (op, self.answered.take()) {
            let now = self.shared.clock.now();
            self.shared.pauses.lock().unwrap_or_else(PoisonError::into_inner).push((now, now - answered));
        }
        inner.submit(slot, op);
    }

    fn poll(&mut self, inner: &mut dyn Session, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let polled = inner.poll_replies(cx, replies);
        if polled.is_ready() {
            self.answered = Some(self.shared.clock.now());
        }
        polled
    }
}
