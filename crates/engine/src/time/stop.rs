//! The request to stop, which is the only input of a running engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests a run to stop after the current operation. Clones share the request, so that signal handlers, the live
/// view and the engine hold one each.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    /// Requests the stop. A second request changes nothing.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once a stop was requested.
    pub fn is_stopped(&self) -> bool {
        // Relaxed: the flag guards no other data, and the measured path reads it for each operation.
        self.0.load(Ordering::Relaxed)
    }
}
