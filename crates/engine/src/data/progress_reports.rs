//! Reports of how far the filling or the removal of large directories is.

use std::cell::Cell;

use sharebench_model::RunEvent;

/// Minimum nanoseconds between two reports.
const INTERVAL_NS: u64 = 500_000_000;

/// Sends how far unmeasured work on a target is, at most twice a second. Work of less than half a second reports nothing.
pub(crate) struct ProgressReports<'a> {
    send: &'a dyn Fn(RunEvent),
    target: Cell<u32>,
    last_ns: Cell<u64>,
}

impl<'a> ProgressReports<'a> {
    /// Reports to `send`, for the first target.
    pub fn new(send: &'a dyn Fn(RunEvent)) -> Self {
        Self { send, target: Cell::new(0), last_ns: Cell::new(0) }
    }

    /// Work on the target of this index begins `now_ns`, by the clock of the run.
    pub fn begin(&self, target: u32, now_ns: u64) {
        self.target.set(target);
        self.last_ns.set(now_ns);
    }

    /// Sends the event for the index of the target, if the last report was long enough ago.
    pub fn report(&self, now_ns: u64, event: impl FnOnce(u32) -> RunEvent) {
        if now_ns.saturating_sub(self.last_ns.get()) >= INTERVAL_NS {
            self.last_ns.set(now_ns);
            (self.send)(event(self.target.get()));
        }
    }
}
