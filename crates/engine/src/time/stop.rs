//! The only way into a running engine: a request to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a run to stop after the operation under way; clones share the request.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    /// Asks to stop.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once asked.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
