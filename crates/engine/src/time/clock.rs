//! The engine's one clock, real or virtual. Every instant of a run is read from it, and every wait goes through it.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sharebench_model::CpuTime;

use crate::system;
use crate::time::sleep::Sleep;
use crate::time::virtual_time::VirtualTime;

/// A monotonic clock in nanoseconds since it was made; changes of the wall clock do not affect it.
///
/// A virtual clock stops while any task can run and then jumps to the next timer, so that a run of hours takes
/// seconds and is identical to the nanosecond in every repetition.
#[derive(Debug, Clone)]
pub struct Clock(ClockKind);

#[derive(Debug, Clone)]
enum ClockKind {
    Real(Instant),
    Virtual(Arc<VirtualTime>),
}

/// The reason why a clock could not drive a run to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// The system provides no event queue or timer for the runtime.
    #[error("cannot start the runtime: {0}")]
    Runtime(String),
    /// Virtual time only: everything waits and no timer is set, so nothing would ever happen again.
    #[error("deadlock in virtual time at {at_ns} ns: everything waits, and no timer is set")]
    Deadlock {
        /// The instant of the last event.
        at_ns: u64,
    },
}

impl Clock {
    /// A real clock that starts now.
    pub fn start() -> Self {
        Self(ClockKind::Real(Instant::now()))
    }

    /// A real clock that shows `nanos` now. A rank sets its clock by the leader's in this way. On a machine that has
    /// run for a shorter time it shows less.
    pub fn showing(nanos: u64) -> Self {
        let now = Instant::now();
        // `Instant` cannot represent times before its own origin, which is the machine's start on Linux.
        Self(ClockKind::Real(now.checked_sub(Duration::from_nanos(nanos)).unwrap_or(now)))
    }

    /// A virtual clock at its origin, where the wall clock shows `unix_ms`. Clones share their time.
    pub fn virtual_at(unix_ms: u64) -> Self {
        Self(ClockKind::Virtual(Arc::new(VirtualTime::new(unix_ms))))
    }

    /// Steps the wall clock of a virtual clock by `by_ms` when `at_ns` is reached, as an administrator or a time
    /// service might. Labels follow the step, measured times must not. A real clock is not changed.
    #[must_use]
    pub fn with_wall_step(self, at_ns: u64, by_ms: i64) -> Self {
        if let ClockKind::Virtual(time) = &self.0 {
            time.step_wall(at_ns, by_ms);
        }
        self
    }

    /// Nanoseconds since the start.
    pub fn now(&self) -> u64 {
        match &self.0 {
            // 2^64 ns are 584 years.
            ClockKind::Real(origin) => origin.elapsed().as_nanos() as u64,
            ClockKind::Virtual(time) => time.now(),
        }
    }

    /// Waits until [`Self::now`] has reached `instant`, as exactly as the system allows: in real time the wait ends
    /// some microseconds late on a quiet machine (docs/design/clock-and-recording.md), in virtual time exactly.
    pub fn sleep_precise(&self, instant: u64) -> Sleep {
        Sleep::exact(self.clone(), instant)
    }

    /// Waits as [`Self::sleep_precise`] does where a millisecond does not matter. This is cheaper in real time, and
    /// equal in virtual time.
    pub fn sleep_coarse(&self, instant: u64) -> Sleep {
        Sleep::coarse(self.clone(), instant)
    }

    /// Keeps the calling thread busy for `nanos`, as a computation of that length would: in virtual time
    /// nothing else happens meanwhile, and timers that fell due come late.
    pub fn spend(&self, nanos: u64) {
        match &self.0 {
            ClockKind::Real(_) => {
                let end = self.now() + nanos;
                while self.now() < end {
                    // A sleep would let other tasks of the thread run, which a busy generator does not.
                    std::hint::spin_loop();
                }
            }
            ClockKind::Virtual(time) => time.spend(nanos),
        }
    }

    /// Drives `future` to its end on the calling thread.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, ClockError> {
        match &self.0 {
            ClockKind::Real(_) => {
                // One thread: users on one runtime record into the same histograms without a lock.
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|error| ClockError::Runtime(error.to_string()))?;
                Ok(runtime.block_on(future))
            }
            ClockKind::Virtual(time) => time.block_on(future),
        }
    }

    /// True when time is virtual: one executor drives all users, and nothing costs CPU time.
    pub fn is_virtual(&self) -> bool {
        matches!(self.0, ClockKind::Virtual(_))
    }

    /// The virtual time of the clock, if it is virtual.
    pub(crate) fn virtual_time(&self) -> Option<&VirtualTime> {
        match &self.0 {
            ClockKind::Real(_) => None,
            ClockKind::Virtual(time) => Some(time),
        }
    }

    /// CPU time of the calling thread, user and kernel; nothing in virtual time.
    pub(crate) fn thread_cpu(&self) -> CpuTime {
        if self.is_virtual() { CpuTime::default() } else { system::thread_cpu() }
    }

    /// Milliseconds since 1970, for labels only: no measured time is taken from it.
    pub(crate) fn unix_ms(&self) -> u64 {
        match &self.0 {
            ClockKind::Real(_) => std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |since| since.as_millis() as u64),
            ClockKind::Virtual(time) => time.unix_ms(),
        }
    }
}
