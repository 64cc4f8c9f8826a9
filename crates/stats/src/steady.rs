//! docs/measure/measurement-rules.md R5: whether a load has reached steady state, and from when on. "Never" is a valid result.
//!
//! Source: change points as in Barrett et al.: Virtual machine warmup blows hot and cold, OOPSLA 2017;
//! trend by Theil (1950) and Sen, J. Amer. Statist. Assoc. 63 (1968) 1379.

use crate::changes::change_points;
use crate::{median, median_or_zero};

/// Seconds per block.
const BLOCK: usize = 5;
/// Shortest segment, in blocks.
const SHORTEST: usize = 3;
/// Fewest blocks of the steady part, and its least share of the run.
const MIN_LEVEL: (usize, f64) = (6, 0.4);
/// Neighbouring levels that differ by less than this share are one.
const SAME: f64 = 0.03;
/// Largest relative trend over the whole steady part.
const TREND: f64 = 0.05;
/// A change within this many standard deviations is noise: it is the largest of all candidate changes.
const CHANCE: f64 = 3.0;
/// Lower bound of the noise: differences below it make no segment.
const FLOOR: f64 = 0.005;

/// Shortest window that can be judged, in seconds.
pub const SHORTEST_JUDGED: usize = BLOCK * MIN_LEVEL.0;

/// The verdict on the steady state of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SteadyState {
    /// Steady state was reached.
    From {
        /// From this second on.
        second: usize,
        /// Share by which the level changed from then to the end.
        drift: f64,
    },
    /// Steady state was not reached; the caller measures twice as long, and reports no mean after three attempts.
    Not(Unsteady),
}

/// Why a run has not reached steady state, or why that is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unsteady {
    /// Fewer than [`SHORTEST_JUDGED`] seconds.
    TooShort,
    /// No throughput for most of a block of five seconds in which the load would have made some.
    Gap {
        /// First second of the longest time without throughput.
        from: usize,
        /// The second after it.
        to: usize,
    },
    /// Throughput is so low that most seconds of some blocks are empty: there is no level to judge.
    Sparse,
    /// The last level lasts for too short a time.
    RecentChange {
        /// From this second on.
        second: usize,
        /// Share of the run.
        share: f64,
    },
    /// The last level still drifts.
    Drift {
        /// Second in which it begins.
        second: usize,
        /// Share by which it changed from then to the end (negative: slower and slower).
        drift: f64,
    },
    /// Noise explains a change of this size, or hides the drift that is allowed.
    Noise {
        /// Estimated share of the change.
        change: f64,
        /// Standard deviation of that figure, of its logarithm.
        error: f64,
        /// Seconds after which the error of a trend would be half of what is allowed to drift.
        seconds: f64,
    },
}

/// Judges throughput per second (one value per second of the measured window).
///
/// Statistics cannot detect a change that is still to come: to see a cache that fills later, a load must move more bytes
/// than the cache holds.
pub fn steady_state(rates: &[f64]) -> SteadyState {
    let blocks: Vec<f64> = rates.chunks_exact(BLOCK).filter_map(log_median).collect();
    if rates.len() < SHORTEST_JUDGED {
        return SteadyState::Not(Unsteady::TooShort);
    }
    if blocks.len() < rates.len() / BLOCK {
        return SteadyState::Not(gap(rates));
    }
    let noise = noise(&blocks);
    let penalty = 4.5 * (blocks.len() as f64).ln() * noise * noise;
    let starts = change_points(&blocks, penalty, SHORTEST);
    let start = last_level(&blocks, &starts);
    let level = &blocks[start..];
    let second = start * BLOCK;
    // Few blocks say little of their own noise; their seconds say more.
    let noise = noise.max(noise_of_seconds(rates));
    let share = level.len() as f64 / blocks.len() as f64;
    if level.len() < MIN_LEVEL.0 || share < MIN_LEVEL.1 {
        let earlier = starts.iter().copied().rfind(|earlier| *earlier < start).unwrap_or(0)..start;
        let error = noise * (1.0 / level.len() as f64 + 1.0 / earlier.len() as f64).sqrt();
        let change = median_or_zero(level) - median_or_zero(&blocks[earlier]);
        return SteadyState::Not(beyond_chance(
            change,
            error,
            noise,
            Unsteady::RecentChange { second, share },
        ));
    }
    let trend = theil_sen(level) * (level.len() - 1) as f64;
    let drift = trend.exp_m1();
    let limit = TREND.ln_1p();
    // Of n values with independent noise, a fitted trend from the first to the last varies by this much.
    let error = noise * (12.0 / level.len() as f64).sqrt();
    if trend.abs() > limit {
        return SteadyState::Not(beyond_chance(trend, error, noise, Unsteady::Drift { second, drift }));
    }
    if error > limit {
        SteadyState::Not(lost_in(noise, trend, error))
    } else {
        SteadyState::From { second, drift }
    }
}

/// `found`, unless a change of this size is no more than noise makes.
fn beyond_chance(change: f64, error: f64, noise: f64, found: Unsteady) -> Unsteady {
    if change.abs() > CHANCE * error { found } else { lost_in(noise, change, error) }
}

fn lost_in(noise: f64, change: f64, error: f64) -> Unsteady {
    let seconds = 12.0 * (2.0 * noise / TREND.ln_1p()).powi(2) * BLOCK as f64;
    Unsteady::Noise { change: change.exp_m1(), error, seconds }
}

/// A time without throughput, among seconds of which at least half have some; or a load without a level.
fn gap(rates: &[f64]) -> Unsteady {
    let mut longest = 0..0;
    let mut empty = 0;
    for (second, rate) in rates.iter().enumerate() {
        empty = if *rate > 0.0 { 0 } else { empty + 1 };
        if empty > longest.len() {
            longest = second + 1 - empty..second + 1;
        }
    }
    let busy = rates.iter().filter(|rate| **rate > 0.0).count();
    if 2 * busy >= rates.len() - longest.len() && longest.len() > BLOCK / 2 {
        Unsteady::Gap { from: longest.start, to: longest.end }
    } else {
        Unsteady::Sparse
    }
}

/// Median of the logarithms; none when nothing moved for half of the block.
fn log_median(block: &[f64]) -> Option<f64> {
    let mut logs: Vec<f64> = block.iter().map(|rate| rate.ln()).collect();
    median(&mut logs).filter(|log| log.is_finite())
}

/// Standard deviation of a block, from differences of neighbours: levels and trends hardly touch it.
fn noise(blocks: &[f64]) -> f64 {
    difference_noise(blocks).max(FLOOR)
}

/// The same of the median of a block of independent seconds, which is 1.25 times as wide as their mean.
fn noise_of_seconds(rates: &[f64]) -> f64 {
    let logs: Vec<f64> = rates.iter().filter(|rate| **rate > 0.0).map(|rate| rate.ln()).collect();
    difference_noise(&logs) * (std::f64::consts::FRAC_PI_2 / BLOCK as f64).sqrt()
}

fn difference_noise(values: &[f64]) -> f64 {
    let differences: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let middle = median_or_zero(&differences);
    let deviations: Vec<f64> = differences.iter().map(|d| (d - middle).abs()).collect();
    1.4826 * median_or_zero(&deviations) / std::f64::consts::SQRT_2
}

/// Where the last level begins, segments of nearly the same level joined backwards.
fn last_level(blocks: &[f64], starts: &[usize]) -> usize {
    let level = |from: usize, to: usize| median_or_zero(&blocks[from..to]);
    let mut begin = starts.last().copied().unwrap_or(0);
    for pair in starts.windows(2).rev() {
        if (level(pair[0], pair[1]) - level(begin, blocks.len())).abs() >= SAME.ln_1p() {
            break;
        }
        begin = pair[0];
    }
    begin
}

/// Median of the slopes between every two values, per step.
fn theil_sen(values: &[f64]) -> f64 {
    let mut slopes = Vec::with_capacity(values.len() * values.len() / 2);
    for (i, a) in values.iter().enumerate() {
        slopes.extend(values[i + 1..].iter().zip(1..).map(|(b, steps)| (b - a) / f64::from(steps)));
    }
    median(&mut slopes).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;

    #[test]
    fn a_level_a_step_and_a_drift() {
        let steady = |second: usize| SteadyState::From { second, drift: 0.0 };
        assert_eq!(steady_state(&[100.0; 60]), steady(0));
        let step: Vec<f64> = [160.0; 40].into_iter().chain([100.0; 80]).collect();
        assert_eq!(steady_state(&step), steady(40));
        let drift: Vec<f64> = (0..120).map(|second| 100.0 * (-0.002 * f64::from(second)).exp()).collect();
        let found = steady_state(&drift);
        let unsteady =
            |found| matches!(found, SteadyState::Not(Unsteady::RecentChange { .. } | Unsteady::Drift { .. }));
        assert!(unsteady(found), "{found:?}");
        let late: Vec<f64> = [160.0; 90].into_iter().chain([100.0; 30]).collect();
        let found = SteadyState::Not(Unsteady::RecentChange { second: 90, share: 0.25 });
        assert_eq!(steady_state(&late), found);
        assert_eq!(steady_state(&[100.0; 29]), SteadyState::Not(Unsteady::TooShort));
        let mut stalled = [100.0; 60];
        stalled[10..14].fill(0.0);
        assert_eq!(steady_state(&stalled), SteadyState::Not(Unsteady::Gap { from: 10, to: 14 }));
        stalled[20..].fill(0.0);
        assert_eq!(steady_state(&stalled), SteadyState::Not(Unsteady::Gap { from: 20, to: 60 }));
    }

    /// A handful of requests in each second says little of a trend: that is no drift.
    #[test]
    fn noise_is_not_called_a_drift_and_a_sparse_load_has_no_level() {
        let mut random = Random::new(5, 0);
        let mut judged = |mean: f64| {
            let mut left = random.exponential();
            let mut second = || {
                let mut count = 0.0;
                while left < 1.0 {
                    (count, left) = (count + 1.0, left + random.exponential() / mean);
                }
                left -= 1.0;
                count
            };
            steady_state(&(0..60).map(|_| second()).collect::<Vec<f64>>())
        };
        let few: Vec<SteadyState> = (0..200).map(|_| judged(6.0)).collect();
        let drifting = few.iter().filter(|found| matches!(found, SteadyState::Not(Unsteady::Drift { .. })));
        let noisy = few.iter().filter(|found| matches!(found, SteadyState::Not(Unsteady::Noise { .. })));
        let drifting = drifting.count();
        let noisy = noisy.count();
        assert!(drifting <= 10 && noisy >= 150, "{drifting} drifts, {noisy} too noisy, of 200");
        assert_eq!(judged(0.5), SteadyState::Not(Unsteady::Sparse));
    }
}
