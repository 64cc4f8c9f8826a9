//! The samples of a system over time: repetitions of cells, and intervals of loads.

use std::collections::HashMap;

use sharebench_model::{Coordinates, StepResult, Timeline};
use sharebench_stats::{TimedSample, median_or_zero};

use crate::judge::step_extents::StepExtents;

/// Intervals of a load are joined until one has this many transactions in the median ...
const TRANSACTIONS: f64 = 8.0;
/// ... but at most this number of intervals.
const MAX_JOINED: usize = 20;

/// A sample with the step that it belongs to.
pub(super) struct StepSample<'a> {
    pub(super) step: &'a StepResult,
    pub(super) sample: TimedSample,
}

/// The samples of `steps`, which are those of one system in the order of time. Times are seconds since `origin_ms`;
/// `extents` are those of the steps of all systems of the run.
pub(super) fn samples<'a>(
    steps: &[&'a StepResult],
    origin_ms: u64,
    extents: &StepExtents<'_>,
) -> Vec<StepSample<'a>> {
    let mut cells: HashMap<&Coordinates, usize> = HashMap::new();
    let mut found = Vec::with_capacity(steps.len());
    for step in steps {
        let next = cells.len();
        let cell = *cells.entry(&step.coordinates).or_insert(next);
        let timeline = &step.measure.load.timeline;
        if timeline.each_ns > 0 && timeline.transactions.len() > 1 {
            let start = if step.measure.load.window_unix_ms > 0 {
                step.measure.load.window_unix_ms
            } else {
                step.started_unix_ms
            };
            let intervals = intervals(timeline, step.measure.window_ns, seconds(start, origin_ms), cell);
            found.extend(intervals.into_iter().map(|sample| StepSample { step, sample }));
        } else if step.measure.busy_ns > 0 || step.measure.window_ns > 0 {
            found.push(StepSample { step, sample: of_step(step, origin_ms, extents, cell) });
        }
    }
    found
}

fn seconds(unix_ms: u64, origin_ms: u64) -> f64 {
    (unix_ms as f64 - origin_ms as f64) / 1e3
}

fn of_step(step: &StepResult, origin_ms: u64, extents: &StepExtents<'_>, cell: usize) -> TimedSample {
    let measure = &step.measure;
    let (from, until) = extents.between(step);
    let start_s = seconds(from, origin_ms);
    let is_rated_in_bytes = step.is_rated_in_bytes();
    TimedSample {
        start_s,
        wall_s: seconds(until, origin_ms) - start_s,
        busy_s: measure.base_ns() as f64 / 1e9,
        work: if is_rated_in_bytes { measure.bytes.total() } else { measure.operations } as f64,
        bytes: measure.bytes.total() as f64,
        longest_s: measure.service.max() as f64 / 1e9,
        cell,
    }
}

/// The intervals of the window of a load, joined until they hold enough transactions to have a rate.
fn intervals(timeline: &Timeline, window_ns: u64, start_s: f64, cell: usize) -> Vec<TimedSample> {
    let counts: Vec<f64> = timeline.transactions.iter().map(|count| *count as f64).collect();
    let middle = median_or_zero(&counts).max(counts.iter().sum::<f64>() / counts.len() as f64);
    if middle <= 0.0 {
        return Vec::new();
    }
    let joined = ((TRANSACTIONS / middle).ceil() as usize).clamp(1, MAX_JOINED);
    let has_bytes = timeline.bytes.iter().any(|bytes| *bytes > 0);
    let work = if has_bytes { &timeline.bytes } else { &timeline.transactions };
    let each_s = timeline.each_ns as f64 / 1e9 * joined as f64;
    // The window may cut the last interval short.
    let whole = window_ns.checked_div(timeline.each_ns).unwrap_or(0).min(work.len() as u64) as usize / joined;
    let sum = |list: &[u64], at: usize| -> f64 {
        list.iter().skip(at * joined).take(joined).map(|value| *value as f64).sum()
    };
    (0..whole)
        .map(|at| TimedSample {
            start_s: start_s + at as f64 * each_s,
            wall_s: each_s,
            busy_s: each_s,
            work: sum(work, at),
            bytes: sum(&timeline.bytes, at),
            longest_s: 0.0,
            cell,
        })
        .collect()
}
