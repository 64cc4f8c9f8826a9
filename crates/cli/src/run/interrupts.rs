//! Signals that ask a run to end: Ctrl-C, the system's or a launcher's SIGTERM, and a terminal that is gone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::exit::Failure;

/// Counts of SIGINT and SIGHUP, and of SIGTERM.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    interrupted: Arc<AtomicUsize>,
    terminated: Arc<AtomicUsize>,
}

impl Interrupts {
    /// Counts from now on, anew; SIGHUP not where somebody has it ignored, as `nohup` does.
    pub fn catch() -> Result<Self, Failure> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        static COUNTS: OnceLock<Interrupts> = OnceLock::new();
        let first = COUNTS.get().is_none();
        let counts = COUNTS.get_or_init(Self::default).clone();
        let hangup = (!is_ignored(SIGHUP)).then_some((SIGHUP, &counts.interrupted));
        let signals = [(SIGINT, &counts.interrupted), (SIGTERM, &counts.terminated)];
        for (signal, count) in signals.into_iter().chain(hangup) {
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

/// True when whoever started us wants the signal ignored.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: sigaction only writes the action it is given, for which zeroed is valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
