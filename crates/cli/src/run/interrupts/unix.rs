//! Signals of Unix.

use std::io::{self, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::time::{ClockId, clock_gettime};

use super::State;
use crate::exit;

/// Counts SIGINT, SIGTERM and SIGHUP from now on, each with a byte to `wake`. An ignored SIGHUP stays ignored, as
/// `nohup` requires.
pub(super) fn register(state: &Arc<State>, wake: PipeWriter) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let writer = OwnedFd::from(wake);
    // A process started by `nohup` ignores SIGHUP, and has to keep doing so.
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        let state = Arc::clone(state);
        let wake = writer.as_raw_fd();
        // SAFETY: atomics, clock_gettime(2) and write(2) are async-signal-safe.
        unsafe {
            signal_hook::low_level::register(signal, move || {
                state.terminated.fetch_or(signal == SIGTERM, Ordering::Relaxed);
                state.add(monotonic_ms());
                write_byte(wake);
            })
        }?;
    }
    // The handlers use the descriptor until the process ends.
    std::mem::forget(writer);
    Ok(())
}

pub(super) fn monotonic_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000 + now.tv_nsec.cast_unsigned() / 1_000_000
}

/// Ends the process at once.
pub(super) fn exit_stopped() -> ! {
    // SAFETY: no memory is involved. Exit handlers could wait for the thread that hangs.
    unsafe { libc::_exit(i32::from(exit::STOPPED)) }
}

fn write_byte(fd: RawFd) {
    // SAFETY: one byte of a live array. A full pipe has woken the thread already, so the result does not matter; errno
    // is saved by signal-hook.
    unsafe { libc::write(fd, [0_u8].as_ptr().cast(), 1) };
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
