//! Signals that ask a run to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::exit::Failure;

/// Counts SIGINT, SIGTERM and SIGHUP from now on; the last one not where somebody has it ignored, as `nohup` does.
pub fn catch_interrupts() -> Result<Arc<AtomicUsize>, Failure> {
    static COUNT: std::sync::OnceLock<Arc<AtomicUsize>> = std::sync::OnceLock::new();
    let first = COUNT.get().is_none();
    let count = Arc::clone(COUNT.get_or_init(Arc::default));
    count.store(0, Ordering::Relaxed);
    if first {
        let hangup = (!is_ignored(signal_hook::consts::SIGHUP)).then_some(signal_hook::consts::SIGHUP);
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM].into_iter().chain(hangup) {
            let count = Arc::clone(&count);
            // SAFETY: adding to an atomic is async-signal-safe.
            unsafe {
                signal_hook::low_level::register(signal, move || {
                    count.fetch_add(1, Ordering::Relaxed);
                })
            }?;
        }
    }
    Ok(count)
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
