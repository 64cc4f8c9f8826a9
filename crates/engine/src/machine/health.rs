//! The hiccup meter: one cheap thread that records how this machine disturbed the measurement.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use sharebench_model::Histogram;

use crate::machine::counters::Counters;
use crate::system::{no_descriptors, precise_timers};
use crate::time::clock::Clock;

/// The meter's sleep, as in jHiccup (Gil Tene).
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// A wake-up that is this late is a stall; a smaller lateness belongs to the timer.
const STALL_NS: u64 = 1_000_000;
/// Naps between two readings of the kernel's counters.
const NAPS_PER_READING: u32 = 100;
/// Counters tick too coarsely to be read over less than this.
const MIN_SPAN_NS: u64 = 1_000_000_000;
/// Stalls and readings kept at most: an hour of readings.
const KEPT: usize = 36_000;

/// The readings over a span of time. A value that could not be read is none, and checks report it as "not known",
/// never as valid.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Health {
    /// Length of the span in nanoseconds.
    pub span_ns: u64,
    /// Longest stall that touched the span.
    pub worst_stall_ns: u64,
    /// All stalls of the span together.
    pub stalled_ns: u64,
    /// Median lateness of a timer of 1 ms, over the whole run so far; none before the first one.
    pub overshoot_ns: Option<u64>,
    /// Share of the processors' time that the hypervisor gave to others, over a second at least.
    pub steal: Option<f64>,
    /// Share of the time in which some task waited for a processor (PSI), over a second at least.
    pub pressure: Option<f64>,
}

/// A thread that repeatedly sleeps 1 ms and records each wake-up that came too late.
///
/// ```
/// use sharebench_engine::{Clock, HealthMeter};
/// let clock = Clock::start();
/// let meter = HealthMeter::start(&clock)?;
/// std::thread::sleep(std::time::Duration::from_millis(5));
/// let health = meter.read(0, clock.now());
/// assert!(health.stalled_ns <= health.span_ns);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct HealthMeter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    stop: AtomicBool,
    last_wake: AtomicU64,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// (end, length) of each stall, in nanoseconds.
    stalls: VecDeque<(u64, u64)>,
    readings: VecDeque<(u64, Counters)>,
    overshoot: Histogram,
}

impl Seen {
    fn note(&mut self, reading: (u64, Counters)) {
        self.readings.push_back(reading);
        if self.readings.len() > KEPT {
            self.readings.pop_front();
        }
    }
}

impl HealthMeter {
    /// Starts the thread; it reads `clock` and ends when the meter is dropped.
    pub fn start(clock: &Clock) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            clock: clock.clone(),
            stop: AtomicBool::new(false),
            last_wake: AtomicU64::new(clock.now()),
            seen: Mutex::default(),
        });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("hiccups".into()).spawn(move || theirs.sample())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Reads what was recorded between two instants of the clock.
    pub fn read(&self, from: u64, to: u64) -> Health {
        let now = self.shared.clock.now();
        let last_wake = self.shared.last_wake.load(Ordering::Acquire);
        let mut seen = self.shared.seen();
        // The thread records a stall only when it is over, so one that is still in progress is added here.
        let in_progress = (now, now.saturating_sub(last_wake + POLL_INTERVAL.as_nanos() as u64));
        let stalls = seen.stalls.iter().copied().chain((in_progress.1 >= STALL_NS).then_some(in_progress));
        let mut worst_stall_ns = 0;
        let mut stalled_ns = 0;
        for (end, length) in stalls {
            let inside = end.min(to).saturating_sub((end - length).max(from));
            stalled_ns += inside;
            worst_stall_ns = worst_stall_ns.max(if inside > 0 { length } else { 0 });
        }
        let overshoot_ns = (!seen.overshoot.is_empty()).then(|| seen.overshoot.quantile(0.5));
        let latest = (now, Counters::read());
        seen.note(latest.clone());
        let begin = from.min(to.saturating_sub(MIN_SPAN_NS));
        let first = seen.readings.iter().rev().find(|(at, _)| *at <= begin).or(seen.readings.front());
        let (steal, pressure) = first.map_or((None, None), |(at, counters)| {
            // At the start of a run no reading is old enough; half of the span still averages over 50 ticks of
            // 10 ms.
            let whole = now - at >= MIN_SPAN_NS / 2;
            let shares = latest.1.since(counters, now - at);
            if whole { shares } else { (None, None) }
        });
        Health { span_ns: to.saturating_sub(from), worst_stall_ns, stalled_ns, overshoot_ns, steal, pressure }
    }
}

impl Drop for HealthMeter {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It holds nothing that a panic could have broken.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sample(&self) {
        precise_timers();
        // A shared table is charged to the other user.
        no_descriptors();
        let mut before = self.clock.now();
        let mut naps = 0;
        while !self.stop.load(Ordering::Relaxed) {
            if naps % NAPS_PER_READING == 0 {
                // Ten readings per second cost little CPU time (docs/design/checks-and-tests.md) and let any
                // later span begin near one of them.
                let reading = (before, Counters::read());
                self.seen().note(reading);
            }
            naps += 1;
            std::thread::sleep(POLL_INTERVAL);
            // From wake-up to wake-up: time lost between two naps is a stall too.
            let now = self.clock.now();
            let late = (now - before).saturating_sub(POLL_INTERVAL.as_nanos() as u64);
            before = now;
            let mut seen = self.seen();
            // Every lateness is recorded, because the median of all shows the timer's own precision.
            seen.overshoot.record(late);
            if late >= STALL_NS {
                seen.stalls.push_back((now, late));
                if seen.stalls.len() > KEPT {
                    seen.stalls.pop_front();
                }
            }
            self.last_wake.store(now, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(stalls: &[(u64, u64)]) -> HealthMeter {
        let clock = Clock::start();
        let shared = Arc::new(Shared {
            last_wake: AtomicU64::new(u64::MAX / 2),
            clock,
            stop: AtomicBool::new(true),
            seen: Mutex::default(),
        });
        shared.seen().stalls.extend(stalls);
        HealthMeter { shared, thread: None }
    }

    #[test]
    fn stalls_count_as_far_as_they_lie_in_the_span() {
        let meter = meter(&[(100, 50), (210, 20), (400, 30)]);
        let read = |from, to| {
            let health = meter.read(from, to);
            (health.worst_stall_ns, health.stalled_ns)
        };
        assert_eq!(read(60, 205), (50, 40 + 15));
        assert_eq!(read(0, 1000), (50, 100));
        assert_eq!(read(101, 190), (0, 0));
        assert_eq!(read(380, 390), (30, 10));
    }

    #[test]
    fn a_short_life_says_nothing_of_steal_and_pressure() {
        let health = meter(&[]).read(0, 10);
        assert_eq!((health.steal, health.pressure, health.overshoot_ns), (None, None, None));
    }
}
