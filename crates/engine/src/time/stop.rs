//! The only way into a running engine: a request to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests a run to stop after the current operation; clones share the request.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    /// Requests the stop.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once asked.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
