//! Requests to stop: Ctrl-C, and the system's or a launcher's SIGTERM.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::exit::Failure;

/// Counts of SIGINT and SIGTERM.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    interrupted: Arc<AtomicUsize>,
    terminated: Arc<AtomicUsize>,
}

impl Interrupts {
    /// Counts from now on, anew.
    pub fn catch() -> Result<Self, Failure> {
        static COUNTS: OnceLock<Interrupts> = OnceLock::new();
        let first = COUNTS.get().is_none();
        let counts = COUNTS.get_or_init(Self::default).clone();
        let signals = [
            (signal_hook::consts::SIGINT, &counts.interrupted),
            (signal_hook::consts::SIGTERM, &counts.terminated),
        ];
        for (signal, count) in signals {
            count.store(0, Ordering::Relaxed);
            if first {
                let count = Arc::clone(count);
                // SAFETY: adding to an atomic is async-signal-safe.
                unsafe {
                    signal_hook::low_level::register(signal, move || {
                        count.fetch_add(1, Ordering::Relaxed);
                    })
                }?;
            }
        }
        Ok(counts)
    }

    /// One more, by a key of the live view.
    pub fn press(&self) {
        self.interrupted.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn count(&self) -> usize {
        self.interrupted.load(Ordering::Relaxed) + self.terminated.load(Ordering::Relaxed)
    }

    /// True once there was a SIGTERM, as launchers send it to what is left of a run.
    pub fn by_system(&self) -> bool {
        self.terminated.load(Ordering::Relaxed) > 0
    }
}
