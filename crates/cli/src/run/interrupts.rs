//! Signals that stop a run: SIGINT (Ctrl-C), SIGTERM of the system or a launcher, and SIGHUP of a closed terminal.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::exit::Failure;

/// Counters of the signals of this process.
///
/// The signal handlers only add to the counters, so they work while everything else hangs. They are registered once per
/// process; [`Interrupts::catch`] resets the counters for a new run.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    interrupted: Arc<AtomicUsize>,
    terminated: Arc<AtomicUsize>,
}

impl Interrupts {
    /// Counts signals from now on. An ignored SIGHUP stays ignored, as `nohup` requires.
    pub fn catch() -> Result<Self, Failure> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        static COUNTS: OnceLock<Interrupts> = OnceLock::new();
        let first = COUNTS.get().is_none();
        let counts = COUNTS.get_or_init(Self::default).clone();
        // A process started by `nohup` ignores SIGHUP, and has to keep doing so.
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

    /// Counts a key of the live view as an interrupt.
    pub fn press(&self) {
        self.interrupted.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of signals and keys so far.
    pub fn count(&self) -> usize {
        self.interrupted.load(Ordering::Relaxed) + self.terminated.load(Ordering::Relaxed)
    }

    /// True after a SIGTERM, which launchers send to the remaining ranks of a failed run.
    pub fn by_system(&self) -> bool {
        self.terminated.load(Ordering::Relaxed) > 0
    }
}

/// True if the parent process had the signal ignored.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: sigaction only writes the action it is given, for which zeroed is valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
