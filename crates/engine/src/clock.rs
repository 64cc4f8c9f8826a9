//! The engine's one clock: every instant of a run is read here.

use std::time::Instant;

/// Nanoseconds since the clock was made, never going back, untouched by changes of the wall clock.
#[derive(Debug, Clone)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// Nanoseconds since the start.
    pub fn now(&self) -> u64 {
        // 2^64 ns are 584 years.
        self.origin.elapsed().as_nanos() as u64
    }

    /// The instant of tokio's timers that corresponds to `nanos`.
    pub fn instant(&self, nanos: u64) -> tokio::time::Instant {
        tokio::time::Instant::from_std(self.origin + std::time::Duration::from_nanos(nanos))
    }
}

/// CPU time of the calling thread, user and kernel.
pub(crate) fn thread_cpu() -> sharebench_model::CpuTime {
    // SAFETY: getrusage writes the whole struct it is given; zeroed is a valid rusage.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    let nanos = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    sharebench_model::CpuTime { user_ns: nanos(usage.ru_utime), kernel_ns: nanos(usage.ru_stime) }
}

/// Milliseconds since 1970, for labels only.
pub(crate) fn unix_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}
