//! Waiting for an instant of the engine's clock.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

use crate::system::TICKS_NS;
use crate::time::clock::Clock;
use crate::time::fine_timer::{FineTimer, NEAR_NS};
use crate::time::virtual_time::TimerKey;

/// A wait for an instant, made by [`Clock::sleep_precise`] and [`Clock::sleep_coarse`]. [`Self::reset`] uses it again
/// for another instant, which saves the allocation of a timer.
#[derive(Debug)]
pub struct Sleep {
    clock: Clock,
    until: u64,
    exact: bool,
    timer: Timer,
}

#[derive(Debug)]
enum Timer {
    Unset,
    Virtual(TimerKey, Waker),
    Ticking(Pin<Box<tokio::time::Sleep>>),
    Fine(FineTimer),
}

impl Sleep {
    pub(crate) fn exact(clock: Clock, until: u64) -> Self {
        Self { clock, until, exact: true, timer: Timer::Unset }
    }

    pub(crate) fn coarse(clock: Clock, until: u64) -> Self {
        Self { clock, until, exact: false, timer: Timer::Unset }
    }

    /// The instant waited for.
    pub fn instant(&self) -> u64 {
        self.until
    }

    /// Makes this future wait for another instant from now on.
    pub fn reset(&mut self, until: u64) {
        self.until = until;
        self.cancel();
        self.timer = Timer::Unset;
    }

    fn cancel(&self) {
        if let (Timer::Virtual(key, _), Some(time)) = (&self.timer, self.clock.virtual_time()) {
            time.cancel(*key);
        }
    }

    fn poll_virtual(&mut self, cx: &Context<'_>) {
        let Some(time) = self.clock.virtual_time() else { return };
        match &mut self.timer {
            Timer::Virtual(_, waker) if waker.will_wake(cx.waker()) => {}
            Timer::Virtual(key, waker) => {
                time.replace_waker(*key, cx.waker());
                waker.clone_from(cx.waker());
            }
            timer => {
                let waker = cx.waker().clone();
                *timer = Timer::Virtual(time.set_timer(self.until, waker.clone()), waker);
            }
        }
    }

    /// Polls the timer that suits the time left; true when it fired, so that the clock has to be read again.
    fn poll_real(&mut self, cx: &mut Context<'_>, left: u64) -> bool {
        // Yields to everything else on the thread and is polled again. The timer would take longer than what
        // is left (docs/design/clock-and-recording.md).
        if self.exact && left <= NEAR_NS {
            cx.waker().wake_by_ref();
            return false;
        }
        match &mut self.timer {
            Timer::Ticking(sleep) => {
                let fired = sleep.as_mut().poll(cx).is_ready();
                if fired {
                    self.timer = Timer::Unset;
                }
                fired
            }
            Timer::Fine(timer) => {
                let fired = timer.poll_fired(cx);
                if fired {
                    self.timer = Timer::Unset;
                }
                fired
            }
            Timer::Unset | Timer::Virtual(..) => {
                let fine = (self.exact && left <= TICKS_NS).then(|| FineTimer::after(left).ok()).flatten();
                // Without a fine timer (no descriptor to be had) a tick's lateness shows up as lag.
                self.timer = fine.map_or_else(|| self.ticking(left), Timer::Fine);
                true
            }
        }
    }

    fn ticking(&self, left: u64) -> Timer {
        // An exact wait ends its coarse part early; the fine timer covers the remainder.
        let left = if self.exact && left > TICKS_NS { left - TICKS_NS } else { left };
        Timer::Ticking(Box::pin(tokio::time::sleep_until(Instant::now() + Duration::from_nanos(left))))
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let now = self.clock.now();
            if now >= self.until {
                self.cancel();
                self.timer = Timer::Unset;
                return Poll::Ready(());
            }
            if self.clock.is_virtual() {
                self.poll_virtual(cx);
                return Poll::Pending;
            }
            let left = self.until - now;
            if !self.poll_real(cx, left) {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.cancel();
    }
}

#[cfg(test)]
mod tests {
    use crate::time::clock::Clock;

    #[test]
    fn a_real_sleep_never_ends_early() {
        let clock = Clock::start();
        clock
            .block_on(async {
                for nanos in [0, 1, 50_000, 700_000, 1_999_999, 2_000_001, 4_300_000] {
                    let until = clock.now() + nanos;
                    clock.sleep_precise(until).await;
                    assert!(clock.now() >= until);
                    let until = clock.now() + nanos;
                    clock.sleep_coarse(until).await;
                    assert!(clock.now() >= until);
                }
            })
            .unwrap();
    }

    #[test]
    fn many_real_sleeps_at_once_each_end_and_timers_are_used_again() {
        let clock = Clock::start();
        clock
            .block_on(async {
                for _ in 0..2 {
                    let sleeps = (0..200).map(|n| clock.sleep_precise(clock.now() + 500_000 + n * 1_000));
                    futures_util::future::join_all(sleeps).await;
                }
            })
            .unwrap();
    }
}
