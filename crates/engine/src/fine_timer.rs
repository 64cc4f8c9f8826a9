//! Timers finer than tokio's ticks: a timerfd per wait, watched by the runtime beside its sockets.
//!
//! The kernel fires them from its high-resolution timers, to which timer slack does not apply, and the
//! thread stays free for replies meanwhile; a spinning wait would take the processor from the very server
//! that is measured.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Most descriptors that a thread keeps for its next waits.
const SPARE: usize = 64;
const SECOND: u64 = 1_000_000_000;

thread_local! {
    static SPARES: RefCell<Vec<OwnedFd>> = const { RefCell::new(Vec::new()) };
}

/// One wait of nanosecond grain.
#[derive(Debug)]
pub(crate) struct FineTimer(Option<AsyncFd<OwnedFd>>);

impl FineTimer {
    /// Fires `nanos` from now; must be called inside a tokio runtime.
    pub fn after(nanos: u64) -> io::Result<Self> {
        let spare = SPARES.with_borrow_mut(Vec::pop);
        let timer = match spare {
            Some(timer) => timer,
            None => rustix::time::timerfd_create(
                TimerfdClockId::Monotonic,
                TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
            )?,
        };
        // A zero would disarm it.
        let nanos = nanos.max(1);
        let it_value =
            Timespec { tv_sec: (nanos / SECOND).cast_signed(), tv_nsec: (nanos % SECOND).cast_signed() };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Setting it also clears what an earlier use left behind.
        rustix::time::timerfd_settime(
            &timer,
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval, it_value },
        )?;
        // SAFETY: an `OwnedFd` is open and the same until it is dropped, and it stays inside of the `AsyncFd`
        // until `into_inner`.
        let watched = unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) }?;
        Ok(Self(Some(watched)))
    }

    /// True once it has fired, or cannot be watched any longer.
    pub fn poll_fired(&self, cx: &mut Context<'_>) -> bool {
        self.0.as_ref().is_none_or(|timer| !matches!(timer.poll_read_ready(cx), Poll::Pending))
    }
}

impl Drop for FineTimer {
    fn drop(&mut self) {
        if let Some(timer) = self.0.take() {
            let timer = timer.into_inner();
            // A thread that is ending has no place for spares any more.
            let _ = SPARES.try_with(|spares| {
                let mut spares = spares.borrow_mut();
                if spares.len() < SPARE {
                    spares.push(timer);
                }
            });
        }
    }
}
