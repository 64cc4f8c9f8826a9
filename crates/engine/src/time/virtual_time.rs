//! Virtual time: a discrete-event executor for one thread, which runs identically in every repetition.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::time::clock::ClockError;

/// The instant of a timer and its number in the order of setting. Timers fire in the order of their keys: by instant,
/// and for one instant in the order in which they were set.
pub(crate) type TimerKey = (u64, u64);

/// Time that advances only when no task can run.
///
/// Wakers must be able to cross threads, so that the state needs locks and atomics, although only one thread uses it.
#[derive(Debug, Default)]
pub(crate) struct VirtualTime {
    now: AtomicU64,
    timers: Mutex<Timers>,
    unix_ms: u64,
    wall_steps: Mutex<Vec<(u64, i64)>>,
}

#[derive(Debug, Default)]
struct Timers {
    waiting: BTreeMap<TimerKey, Waker>,
    set: u64,
}

impl VirtualTime {
    pub fn new(unix_ms: u64) -> Self {
        Self { unix_ms, ..Self::default() }
    }

    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    pub fn spend(&self, nanos: u64) {
        self.now.fetch_add(nanos, Ordering::Relaxed);
    }

    pub fn step_wall(&self, at_ns: u64, by_ms: i64) {
        lock(&self.wall_steps).push((at_ns, by_ms));
    }

    /// The wall clock's time: the origin, the virtual time since then, and the steps reached so far.
    pub fn unix_ms(&self) -> u64 {
        let now = self.now();
        let steps = lock(&self.wall_steps);
        let met = steps.iter().filter(|(at, _)| *at <= now).map(|(_, by)| by);
        met.fold(self.unix_ms + now / 1_000_000, |shown, by| shown.saturating_add_signed(*by))
    }

    /// Wakes `waker` when `instant` is reached.
    pub fn set_timer(&self, instant: u64, waker: Waker) -> TimerKey {
        let mut timers = lock(&self.timers);
        timers.set += 1;
        let key = (instant, timers.set);
        timers.waiting.insert(key, waker);
        key
    }

    /// Replaces the waker of a timer. A timer that has fired is not set again.
    pub fn replace_waker(&self, key: TimerKey, waker: &Waker) {
        if let Some(known) = lock(&self.timers).waiting.get_mut(&key) {
            known.clone_from(waker);
        }
    }

    pub fn cancel(&self, key: TimerKey) {
        lock(&self.timers).waiting.remove(&key);
    }

    /// Polls `future` while it is woken, then lets time jump to the next timer, until the future is ready.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, ClockError> {
        let mut future = pin!(future);
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = Waker::from(woken.clone());
        let mut cx = Context::from_waker(&waker);
        loop {
            while woken.0.swap(false, Ordering::Relaxed) {
                if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                    return Ok(output);
                }
            }
            // Nothing can run, so time may jump. The key orders by instant and then by order of setting, which
            // makes every repetition identical.
            let next = lock(&self.timers).waiting.pop_first();
            let Some(((instant, _), waker)) = next else {
                return Err(ClockError::Deadlock { at_ns: self.now() });
            };
            // `fetch_max`, because `spend` may have moved time beyond this timer: it then fires late, as it
            // would on a busy thread.
            self.now.fetch_max(instant, Ordering::Relaxed);
            waker.wake();
        }
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use futures_util::stream::{FuturesUnordered, StreamExt};

    use crate::time::clock::Clock;
    use crate::time::clock::ClockError;

    #[test]
    fn sleepers_wake_in_the_order_of_their_instants_and_then_of_their_setting() {
        let clock = Clock::virtual_at(0);
        let log = RefCell::new(Vec::new());
        let sleeper = |name: u32, instant: u64| {
            let clock = clock.clone();
            let log = &log;
            async move {
                clock.sleep_precise(instant).await;
                log.borrow_mut().push((name, clock.now()));
            }
        };
        let hour = 3_600_000_000_000;
        let sleepers = [(0, hour), (1, 5), (2, 7), (3, 5), (4, 0)];
        let done = clock.block_on(async {
            let mut all: FuturesUnordered<_> =
                sleepers.iter().map(|(name, instant)| sleeper(*name, *instant)).collect();
            while all.next().await.is_some() {}
        });
        assert_eq!(done, Ok(()));
        assert_eq!(log.into_inner(), [(4, 0), (1, 5), (3, 5), (2, 7), (0, hour)]);
    }

    #[test]
    fn a_wait_that_nothing_can_end_is_an_error_and_not_a_hang() {
        let clock = Clock::virtual_at(0);
        let end = clock.block_on(async {
            clock.sleep_precise(42).await;
            std::future::pending::<()>().await;
        });
        assert_eq!(end, Err(ClockError::Deadlock { at_ns: 42 }));
    }

    #[test]
    fn a_cancelled_sleep_leaves_no_timer() {
        let clock = Clock::virtual_at(0);
        let end = clock.block_on(async {
            let mut late = clock.sleep_precise(1_000);
            futures_util::future::select(&mut late, clock.sleep_precise(10)).await;
            drop(late);
            std::future::pending::<()>().await;
        });
        assert_eq!(end, Err(ClockError::Deadlock { at_ns: 10 }), "the timer at 1000 is gone");
    }

    #[test]
    fn time_spent_makes_timers_late_and_the_wall_clock_runs_and_steps() {
        const MS: u64 = 1_000_000;
        let clock = Clock::virtual_at(5_000).with_wall_step(100 * MS, -4_000);
        let shown = clock.block_on(async {
            clock.sleep_precise(10 * MS).await;
            let before = clock.unix_ms();
            clock.spend(300 * MS);
            clock.sleep_precise(200 * MS).await;
            (before, clock.unix_ms(), clock.now())
        });
        assert_eq!(shown, Ok((5_010, 1_310, 310 * MS)));
    }
}
