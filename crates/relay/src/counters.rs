//! What a relay has forwarded.

use std::sync::atomic::{AtomicU64, Ordering};

/// Sums of a relay since its start. Bytes count when they are passed on, so that bytes which still wait are not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RelayCounters {
    /// Connections that were accepted.
    pub connections: u64,
    /// Connections that the target did not accept.
    pub failed: u64,
    /// Bytes passed on to the target.
    pub to_target: u64,
    /// Bytes passed on to clients.
    pub to_clients: u64,
}

/// The counters as the relay's thread writes them.
#[derive(Debug, Default)]
pub(crate) struct SharedCounters {
    pub(crate) connections: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Bytes by direction: to the target, and to clients.
    pub(crate) bytes: [AtomicU64; 2],
}

impl SharedCounters {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only the thread of a relay counts"))]
    pub(crate) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> RelayCounters {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RelayCounters {
            connections: of(&self.connections),
            failed: of(&self.failed),
            to_target: of(&self.bytes[0]),
            to_clients: of(&self.bytes[1]),
        }
    }
}
