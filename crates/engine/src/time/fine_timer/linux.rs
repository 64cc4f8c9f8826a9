//! Timers finer than tokio's ticks: one timerfd per thread for all of its waits, watched by the runtime together with its
//! sockets.
//!
//! The kernel fires it from its high-resolution timers, to which timer slack does not apply, and the thread stays
//! free for replies meanwhile; a spinning wait would take the processor from the very server that is measured. A wait
//! that is shorter than setting the timer takes yields to everything else on the thread instead. One timer is set for
//! the earliest wait and wakes every wait that is due or nearly due, so that a denser schedule costs fewer wake-ups
//! per wait.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use rustix::time::{ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::unconstrained;

use super::NEAR_NS;

const SECOND: u64 = 1_000_000_000;

thread_local! {
    static QUEUE: RefCell<Queue> = const { RefCell::new(Queue::new()) };
}

/// One wait with a resolution of nanoseconds.
#[derive(Debug)]
pub(crate) struct FineTimer(Key);

/// The end of a wait in nanoseconds of `CLOCK_MONOTONIC`, and a number that distinguishes waits with the same end.
type Key = (u64, u64);

impl FineTimer {
    /// Fires `nanos` from now; must be called inside a tokio runtime that stays on this thread.
    pub fn after(nanos: u64) -> io::Result<Self> {
        QUEUE.with_borrow_mut(|queue| queue.add(now().saturating_add(nanos))).map(Self)
    }

    /// True once it has fired, at most [`NEAR_NS`] early.
    pub fn poll_fired(&self, cx: &Context<'_>) -> bool {
        QUEUE.with_borrow_mut(|queue| match queue.waits.get_mut(&self.0) {
            Some(waiting) => {
                waiting.clone_from(cx.waker());
                false
            }
            None => true,
        })
    }
}

impl Drop for FineTimer {
    fn drop(&mut self) {
        // A thread that is ending has no queue any more. The waker goes when the queue is free again.
        let _ = QUEUE.try_with(|queue| queue.try_borrow_mut().map(|mut queue| queue.remove(self.0)));
    }
}

/// The waits of a thread.
#[derive(Debug)]
struct Queue {
    waits: BTreeMap<Key, Waker>,
    number: u64,
    /// The instant for which the timer is set; the largest value while it is not set.
    set: u64,
    /// The timer while a wait exists. A runtime may end before the thread does, so the timer is not kept registered.
    watched: Option<AsyncFd<OwnedFd>>,
    spare: Option<OwnedFd>,
}

impl Queue {
    const fn new() -> Self {
        Self { waits: BTreeMap::new(), number: 0, set: u64::MAX, watched: None, spare: None }
    }

    fn add(&mut self, until: u64) -> io::Result<Key> {
        if self.watched.is_none() {
            let timer = match self.spare.take() {
                Some(timer) => timer,
                None => rustix::time::timerfd_create(
                    TimerfdClockId::Monotonic,
                    TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
                )?,
            };
            // SAFETY: an `OwnedFd` is open and the same until it is dropped, and it stays inside of the `AsyncFd`
            // until `into_inner`.
            self.watched = Some(unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) }?);
            self.set = u64::MAX;
            self.listen();
        }
        // Only an earlier wait costs a system call; later ones are found when the timer fires.
        if until < self.set {
            self.set_for(until)?;
        }
        self.number += 1;
        let key = (until, self.number);
        self.waits.insert(key, Waker::noop().clone());
        Ok(key)
    }

    fn remove(&mut self, key: Key) -> Option<Waker> {
        let waker = self.waits.remove(&key);
        if self.waits.is_empty() {
            // The descriptor is kept for the next wait but leaves the runtime, which may end before the thread
            // does.
            self.spare = self.watched.take().map(AsyncFd::into_inner);
        }
        waker
    }

    /// Setting it also clears the effect of an earlier setting.
    fn set_for(&mut self, until: u64) -> io::Result<()> {
        let Some(timer) = &self.watched else { return Ok(()) };
        let it_value =
            Timespec { tv_sec: (until / SECOND).cast_signed(), tv_nsec: (until % SECOND).cast_signed() };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = Itimerspec { it_interval, it_value };
        rustix::time::timerfd_settime(timer.get_ref(), TimerfdTimerFlags::ABSTIME, &setting)?;
        self.set = until;
        Ok(())
    }

    /// Registers the alarm with the runtime: it is called when the timer fires, from now on.
    fn listen(&self) {
        let Some(timer) = &self.watched else { return };
        let alarm = Waker::from(Arc::new(Alarm));
        let mut cx = Context::from_waker(&alarm);
        // The task that is being polled does not pay for this from its cooperative budget.
        let listening = pin!(unconstrained(poll_fn(|cx| {
            // Polling until it is pending leaves the alarm's waker registered. The value is never read: setting
            // the timer again clears it.
            while let Poll::Ready(Ok(mut fired)) = timer.poll_read_ready(cx) {
                fired.clear_ready();
            }
            Poll::Ready(())
        })));
        let _ = listening.poll(&mut cx);
    }

    /// Removes every wait that is due or nearly due, and sets the timer for the next one.
    fn fire(&mut self) -> Vec<Waker> {
        self.listen();
        // Waits that are nearly due are woken as well, because setting the timer for them would take longer
        // than they last.
        let later = self.waits.split_off(&(now() + NEAR_NS + 1, 0));
        let mut due: Vec<Waker> = std::mem::replace(&mut self.waits, later).into_values().collect();
        self.set = u64::MAX;
        if let Some(((until, _), _)) = self.waits.first_key_value()
            && self.set_for(*until).is_err()
        {
            // Without a timer every wait is woken; each reads the clock and waits in another way.
            due.extend(std::mem::take(&mut self.waits).into_values());
        }
        due
    }
}

/// Called by the runtime, on the thread that waits.
struct Alarm;

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        let due = QUEUE.try_with(|queue| queue.try_borrow_mut().map(|mut queue| queue.fire()));
        due.into_iter().flatten().flatten().for_each(Waker::wake);
    }
}

fn now() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * SECOND + now.tv_nsec.cast_unsigned()
}
