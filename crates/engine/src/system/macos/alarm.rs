//! An alarm that a thread waits for.

use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Rings once at the instant for which it was set last; none while it is not set.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    due: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Alarm {
    /// An alarm that is not set.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self::default())
    }

    /// Sets it to ring after `nanos`, whatever it was set to.
    pub(crate) fn set(&self, nanos: u64) -> io::Result<()> {
        let due = Instant::now() + Duration::from_nanos(nanos);
        *self.due.lock().unwrap_or_else(PoisonError::into_inner) = Some(due);
        self.changed.notify_one();
        Ok(())
    }

    /// Waits until it rings.
    pub(crate) fn wait(&self) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            due = match left {
                Some(Duration::ZERO) => break,
                Some(left) => self.changed.wait_timeout(due, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(due).unwrap_or_else(PoisonError::into_inner),
            };
        }
        *due = None;
    }
}
