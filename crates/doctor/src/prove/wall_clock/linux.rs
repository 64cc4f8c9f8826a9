//! The wall clock of Linux.

use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};

use super::HOUR_S;
use crate::prove::ProveError;

/// The wall clock set back by an hour; dropping it sets the clock forward again.
pub(crate) struct SteppedClock {
    /// Measured change of the clock in seconds.
    pub(crate) moved_s: i64,
}

impl SteppedClock {
    pub(crate) fn set_back() -> Result<Self, ProveError> {
        let before = clock_gettime(ClockId::Realtime).tv_sec;
        step(-HOUR_S).map_err(|error| ProveError::Missing(format!("the clock cannot be set: {error}")))?;
        Ok(Self { moved_s: before - clock_gettime(ClockId::Realtime).tv_sec })
    }
}

impl Drop for SteppedClock {
    fn drop(&mut self) {
        // Setting the clock succeeded before; a failure in `drop` cannot be reported.
        let _ = step(HOUR_S);
    }
}

fn step(seconds: i64) -> rustix::io::Result<()> {
    let now = clock_gettime(ClockId::Realtime);
    clock_settime(ClockId::Realtime, Timespec { tv_sec: now.tv_sec + seconds, ..now })
}
