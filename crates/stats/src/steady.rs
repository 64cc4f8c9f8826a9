//! R5: whether a load has settled, and from when on. "Never" is a legal answer.
//!
//! Source: change points as in Barrett et al.: Virtual machine warmup blows hot and cold, OOPSLA 2017;
//! trend by Theil (1950) and Sen, J. Amer. Statist. Assoc. 63 (1968) 1379.

use crate::{change_points, median};

/// Seconds per block.
const BLOCK: usize = 5;
/// Shortest segment, in blocks.
const SHORTEST: usize = 3;
/// Fewest blocks of the steady part, and its least share of the run.
const LEAST: (usize, f64) = (6, 0.4);
/// Neighbouring levels that differ by less than this share are one.
const SAME: f64 = 0.03;
/// Most trend over the whole steady part.
const TREND: f64 = 0.05;
/// Least noise that is believed: differences below it are not worth a segment.
const FLOOR: f64 = 0.005;

/// Whether a run has settled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SteadyState {
    /// It has, from this second on.
    From(usize),
    /// It has not; measure twice as long, and after three times say so instead of a mean.
    Not(Unsteady),
}

/// Why a run has not settled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unsteady {
    /// Fewer than 30 seconds, or a second without any throughput in the middle of a block.
    TooShort,
    /// The last level has been held for this share of the run only.
    RecentChange(f64),
    /// The last level still drifts by this share over its length (negative: slower and slower).
    Drift(f64),
}

/// Judges throughput per second (anything positive, one value per second of the measured window).
///
/// No early stop can see a change that is still to come: a cache that fills later is seen by moving more
/// bytes than it holds, not by statistics.
pub fn steady_state(rates: &[f64]) -> SteadyState {
    let blocks: Vec<f64> = rates.chunks_exact(BLOCK).filter_map(log_median).collect();
    if blocks.len() < LEAST.0 || blocks.len() < rates.len() / BLOCK {
        return SteadyState::Not(Unsteady::TooShort);
    }
    let noise = noise(&blocks);
    let penalty = 4.5 * (blocks.len() as f64).ln() * noise * noise;
    let start = last_level(&blocks, &change_points(&blocks, penalty, SHORTEST));
    let level = &blocks[start..];
    let share = level.len() as f64 / blocks.len() as f64;
    if level.len() < LEAST.0 || share < LEAST.1 {
        return SteadyState::Not(Unsteady::RecentChange(share));
    }
    let drift = theil_sen(level) * (level.len() - 1) as f64;
    if drift.abs() > TREND.ln_1p() {
        return SteadyState::Not(Unsteady::Drift(drift.exp_m1()));
    }
    SteadyState::From(start * BLOCK)
}

/// Median of the logarithms; none when nothing moved for half of the block.
fn log_median(block: &[f64]) -> Option<f64> {
    let mut logs: Vec<f64> = block.iter().map(|rate| rate.ln()).collect();
    logs.sort_unstable_by(f64::total_cmp);
    median(&logs).filter(|log| log.is_finite())
}

/// Standard deviation of a block, from differences of neighbours: levels and trends hardly touch it.
fn noise(blocks: &[f64]) -> f64 {
    let mut differences: Vec<f64> = blocks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let centre = median(&differences).unwrap_or(0.0);
    let mut deviations: Vec<f64> = differences.iter().map(|d| (d - centre).abs()).collect();
    deviations.sort_unstable_by(f64::total_cmp);
    (1.4826 * median(&deviations).unwrap_or(0.0) / std::f64::consts::SQRT_2).max(FLOOR)
}

/// Where the last level begins, segments of nearly the same level joined backwards.
fn last_level(blocks: &[f64], starts: &[usize]) -> usize {
    let level = |from: usize, to: usize| {
        let mut part = blocks[from..to].to_vec();
        part.sort_unstable_by(f64::total_cmp);
        median(&part).unwrap_or(0.0)
    };
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
    slopes.sort_unstable_by(f64::total_cmp);
    median(&slopes).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_a_step_and_a_drift() {
        let steady = |from: usize| SteadyState::From(from);
        assert_eq!(steady_state(&[100.0; 60]), steady(0));
        let step: Vec<f64> = [160.0; 40].into_iter().chain([100.0; 80]).collect();
        assert_eq!(steady_state(&step), steady(40));
        let drift: Vec<f64> = (0..120).map(|second| 100.0 * (-0.002 * f64::from(second)).exp()).collect();
        assert!(matches!(steady_state(&drift), SteadyState::Not(_)), "{:?}", steady_state(&drift));
        assert_eq!(steady_state(&[100.0; 29]), SteadyState::Not(Unsteady::TooShort));
        let mut stalled = [100.0; 60];
        stalled[10..14].fill(0.0);
        assert_eq!(steady_state(&stalled), SteadyState::Not(Unsteady::TooShort));
    }
}
