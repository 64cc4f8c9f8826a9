//! Turns of the targets of one cell: each works for a slice of time, then the next one does.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use sharebench_model::Random;

/// Fewest operations of a slice, per operation in flight. The end of a slice waits for what is in flight, with fewer
/// and fewer of it: over 50 times the depth that costs about 1 % of the slice on any target.
pub(crate) const OPERATIONS_PER_SLICE: u64 = 50;

/// The signal of whoever has the turn that its slice is over.
///
/// The targets of a cell are measured by one future each. [`alternate`] polls only the one that has the turn, until it
/// ends its slice: nothing of the others runs meanwhile, and all of their sessions and files stay open.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    // Only one thread uses them; atomics let contexts cross threads all the same.
    over: AtomicBool,
    abandoned: AtomicBool,
}

impl Turns {
    /// Ends the parts of all targets at their next turn, because one of them has failed.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }
}

/// One target's part in the turns: when its slice is over, and how long it has waited for the others.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    slice_ns: u64,
    least_operations: u64,
    /// Busy time and operations of the cell when the slice began.
    began: (u64, u64),
    waited_ns: u64,
}

impl<'a> Turn<'a> {
    /// A part in `turns` with slices of `slice` of busy time, and of at least [`OPERATIONS_PER_SLICE`] operations times
    /// `depth`.
    pub fn new(turns: &'a Turns, slice: Duration, depth: u32) -> Self {
        Self {
            turns,
            slice_ns: slice.as_nanos() as u64,
            least_operations: OPERATIONS_PER_SLICE * u64::from(depth),
            began: (0, 0),
            waited_ns: 0,
        }
    }

    /// True when the slice has lasted long enough, with the busy time and the operations of the cell so far.
    #[inline]
    pub fn is_over(&self, busy_ns: u64, operations: u64) -> bool {
        let (busy_before, operations_before) = self.began;
        busy_ns.saturating_sub(busy_before) >= self.slice_ns
            && operations.saturating_sub(operations_before) >= self.least_operations
    }

    /// Lets the others have their turns; false if one of them has failed meanwhile, so that the cell has no result. `now`
    /// reads the clock; the cell has got to `busy_ns` and `operations`.
    pub async fn wait(&mut self, now: impl Fn() -> u64, busy_ns: u64, operations: u64) -> bool {
        let left = now();
        let mut waits = false;
        poll_fn(|_| {
            if waits {
                // Polled again: it has the turn.
                return Poll::Ready(());
            }
            waits = true;
            self.turns.over.store(true, Ordering::Relaxed);
            Poll::Pending
        })
        .await;
        self.waited_ns += now() - left;
        self.began = (busy_ns, operations);
        !self.turns.abandoned.load(Ordering::Relaxed)
    }

    /// Time in which others had the turn.
    pub fn waited_ns(&self) -> u64 {
        self.waited_ns
    }
}

/// What one target of a cell does, for [`alternate`].
pub(crate) type Part<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Drives `parts` to their ends, one slice of each at a time, in an order that is drawn anew for each set of slices, so
/// that neither first nor second place goes with a target. Whoever has ended takes no further turn.
pub(crate) async fn alternate<T>(mut parts: Vec<Part<'_, T>>, turns: &Turns, mut random: Random) -> Vec<T> {
    let mut results: Vec<Option<T>> = parts.iter().map(|_| None).collect();
    loop {
        let mut order: Vec<usize> = (0..parts.len()).filter(|part| results[*part].is_none()).collect();
        if order.is_empty() {
            return results.into_iter().flatten().collect();
        }
        random.shuffle(&mut order);
        for part in order {
            turns.over.store(false, Ordering::Relaxed);
            results[part] = poll_fn(|cx| match parts[part].as_mut().poll(cx) {
                Poll::Ready(result) => Poll::Ready(Some(result)),
                Poll::Pending if turns.over.load(Ordering::Relaxed) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            })
            .await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::time::clock::Clock;

    /// Works in operations of `cost` until its busy time is 100 ms, and notes whose slice each one falls into.
    async fn work(name: usize, cost: u64, clock: &Clock, turns: &Turns, log: &Mutex<Vec<usize>>) -> u64 {
        let mut turn = Turn::new(turns, Duration::from_millis(10), 1);
        let mut busy_ns = 0;
        let mut operations = 0;
        let mut continues = turn.wait(|| clock.now(), 0, 0).await;
        while continues && busy_ns < 100_000_000 {
            clock.sleep_precise(clock.now() + cost).await;
            log.lock().unwrap().push(name);
            busy_ns += cost;
            operations += 1;
            if turn.is_over(busy_ns, operations) {
                continues = turn.wait(|| clock.now(), busy_ns, operations).await;
            }
        }
        turn.waited_ns()
    }

    #[test]
    fn slices_alternate_in_random_order_and_nobody_runs_in_anothers_turn() {
        let clock = Clock::virtual_at(0);
        let log = Mutex::new(Vec::new());
        let turns = Turns::default();
        let parts: Vec<Part<'_, u64>> = vec![
            Box::pin(work(0, 100_000, &clock, &turns, &log)),
            // 50 operations of it last 50 ms: two slices.
            Box::pin(work(1, 1_000_000, &clock, &turns, &log)),
        ];
        let waited = clock.block_on(alternate(parts, &turns, Random::new(3, 0))).unwrap();
        // Each has waited for as long as the other worked until its own end.
        assert!(waited[0] <= 100_000_000 && waited[1] <= 100_000_000, "{waited:?}");
        assert_eq!(clock.now(), 200_000_000);
        let mut slices: Vec<(usize, usize)> = Vec::new();
        for name in log.into_inner().unwrap() {
            match slices.last_mut() {
                Some((last, count)) if *last == name => *count += 1,
                _ => slices.push((name, 1)),
            }
        }
        println!("{slices:?}");
        let of =
            |name| slices.iter().filter(move |slice| slice.0 == name).map(|slice| slice.1).sum::<usize>();
        assert_eq!((of(0), of(1)), (1000, 100));
        assert!(slices.iter().all(|(name, count)| if *name == 0 {
            count % 100 == 0
        } else {
            count % 50 == 0
        }));
        assert!(slices.len() >= 3, "{slices:?}");
    }
    #[test]
    fn a_failed_part_ends_the_others_at_their_next_turn() {
        let clock = Clock::virtual_at(0);
        let log = Mutex::new(Vec::new());
        let turns = Turns::default();
        let parts: Vec<Part<'_, u64>> = vec![
            Box::pin(work(0, 100_000, &clock, &turns, &log)),
            Box::pin(async {
                clock.sleep_precise(clock.now() + 25_000_000).await;
                turns.abandon();
                0
            }),
        ];
        clock.block_on(alternate(parts, &turns, Random::new(3, 0))).unwrap();
        assert_eq!(log.into_inner().unwrap().len(), 0, "the first part had not begun");
        assert_eq!(clock.now(), 25_000_000);
    }
}
