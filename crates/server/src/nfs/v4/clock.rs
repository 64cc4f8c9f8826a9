//! The clock of leases, which tests move by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time since the start of the server. Every lease, grace period and recall is measured by it.
#[derive(Debug, Clone)]
pub(in crate::nfs) enum LeaseClock {
    /// The machine's monotonic clock.
    Real(Instant),
    /// Milliseconds that a test sets.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests move the clock"))]
    Manual(Arc<AtomicU64>),
}

impl LeaseClock {
    /// The machine's clock, from now on.
    pub(in crate::nfs) fn real() -> Self {
        Self::Real(Instant::now())
    }

    /// Milliseconds since the start of the server.
    pub(super) fn now_ms(&self) -> u64 {
        match self {
            Self::Real(start) => milliseconds(start.elapsed()),
            Self::Manual(now_ms) => now_ms.load(Ordering::Relaxed),
        }
    }
}

/// A duration in milliseconds.
pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
