//! The resolution of the engine's clock and the cost of reading it.

use sharebench_stats::upper_median;

use crate::time::clock::Clock;

/// Resolution and cost of the clock, measured at the start of a run. Self-checks and intervals use them: a time below
/// 200 steps of the clock is too short (docs/measure/measurement-rules.md 1.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockFacts {
    /// Smallest step between two readings, nanoseconds; at least 1.
    pub resolution_ns: u64,
    /// Cost of one reading, nanoseconds.
    pub cost_ns: u64,
}

/// Readings of one batch, and batches; together about a millisecond.
const BATCH: u64 = 200;
const BATCHES: usize = 50;

impl ClockFacts {
    /// Reads the clock some thousand times.
    pub fn measure(clock: &Clock) -> Self {
        let mut resolution_ns = u64::MAX;
        let mut costs = Vec::with_capacity(BATCHES);
        for _ in 0..BATCHES {
            let first = clock.now();
            let mut last = first;
            for _ in 0..BATCH {
                let now = clock.now();
                if now > last {
                    // The smallest step that was seen: larger ones include the cost of reading, or an
                    // interruption.
                    resolution_ns = resolution_ns.min(now - last);
                }
                last = now;
            }
            costs.push((last - first) / BATCH);
        }
        if resolution_ns == u64::MAX {
            // A clock that does not advance while it is read: its resolution is unknown.
            resolution_ns = 1;
        }
        // The median, because a batch that was interrupted says nothing about the cost.
        Self { resolution_ns, cost_ns: upper_median(&mut costs).unwrap_or(0) }
    }
}
