//! Break points along one axis: where the level of a profile changes, with an interval of the position.
//!
//! Source: segments of constant level on the mean profile (Killick, Fearnhead, Eckley 2012, see [`change_points`]);
//! the places' interval by resampling whole sweeps (Efron and Tibshirani: An Introduction to the Bootstrap, 8).

use sharebench_model::Random;

use crate::regions::{NEGLIGIBLE, SMALLEST_SWEEPS};
use crate::winsorise::winsorised;
use crate::{Estimate, change_points, hodges_lehmann};

/// Penalty of a segment, in `ln(positions)` times the variance of a mean.
const PENALTY: f64 = 4.5;
/// Lower bound of the standard deviation of a position's mean.
const FLOOR: f64 = 1e-3;
/// Resamples of the sweeps.
const RESAMPLES: usize = 200;

/// A change of level between two neighbouring positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Break {
    /// First position of the new level.
    pub at: usize,
    /// Positions between which it lies at 95 %.
    pub between: (usize, usize),
    /// Positions of the level before it, end excluded at `at`.
    pub from: usize,
    /// First position after the new level.
    pub to: usize,
    /// Mean of the level before, over sweeps.
    pub before: Estimate,
    /// Mean of the new level.
    pub after: Estimate,
    /// The new level less the one before, paired by sweep.
    pub change: Estimate,
}

/// Where the level of `profiles` changes: one list of values (log ratios, or logs of rates) per sweep, a value
/// per position. Levels that differ by less than 2 % are one. Empty with fewer than six sweeps or two positions.
///
/// An effect common to a whole sweep moves no break. The intervals hold at `level` for all the breaks together.
pub fn break_points(profiles: &[Vec<f64>], level: f64, seed: u64) -> Vec<Break> {
    let n = profiles.len();
    let k = profiles.first().map_or(0, Vec::len);
    let whole = profiles.iter().all(|p| p.len() == k && p.iter().all(|x| x.is_finite()));
    if n < SMALLEST_SWEEPS || k < 2 || !whole {
        return Vec::new();
    }
    let held = winsorised(profiles, &vec![1.0; n], &vec![true; k]);
    let everyone: Vec<usize> = (0..n).collect();
    let penalty = PENALTY * (k as f64).ln() * noise(&held).max(FLOOR * FLOOR);
    let mean = mean_profile(&held, &everyone);
    let starts = merged(&mean, change_points(&mean, penalty, 1));
    let mut random = Random::new(seed, 11);
    let resampled: Vec<Vec<usize>> = (0..if starts.len() > 1 { RESAMPLES } else { 0 })
        .map(|_| {
            let drawn: Vec<usize> = (0..n).map(|_| random.below(n as u64) as usize).collect();
            change_points(&mean_profile(&held, &drawn), penalty, 1)
        })
        .collect();
    // Bonferroni over the breaks, so that the intervals hold for all of them at once.
    let together = 1.0 - (1.0 - level) / (starts.len().max(2) - 1) as f64;
    let of = |window: &[usize]| {
        let from = window[0];
        let at = window[1];
        let to = window[2];
        let level_of = |from: usize, to: usize| -> Vec<f64> {
            profiles.iter().map(|p| p[from..to].iter().sum::<f64>() / (to - from) as f64).collect()
        };
        let before = level_of(from, at);
        let after = level_of(at, to);
        let change: Vec<f64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
        Some(Break {
            at,
            between: between(at, &resampled),
            from,
            to,
            before: hodges_lehmann(&before, together)?,
            after: hodges_lehmann(&after, together)?,
            change: hodges_lehmann(&change, together)?,
        })
    };
    let ends: Vec<usize> = starts.iter().copied().chain([k]).collect();
    ends.windows(3).filter_map(of).collect()
}

fn mean_profile(profiles: &[Vec<f64>], drawn: &[usize]) -> Vec<f64> {
    let k = profiles[0].len();
    (0..k).map(|j| drawn.iter().map(|s| profiles[*s][j]).sum::<f64>() / drawn.len() as f64).collect()
}

/// Typical variance of a position's mean, without effects common to whole sweeps.
fn noise(profiles: &[Vec<f64>]) -> f64 {
    let n = profiles.len() as f64;
    let k = profiles[0].len() as f64;
    let everyone: Vec<usize> = (0..profiles.len()).collect();
    let mean = mean_profile(profiles, &everyone);
    let middle = mean.iter().sum::<f64>() / k;
    // What shifts a whole sweep moves no break, so it is removed before the noise is measured.
    let shocks: Vec<f64> = profiles.iter().map(|p| p.iter().sum::<f64>() / k - middle).collect();
    let variance = |j: usize| {
        let squares = profiles.iter().zip(&shocks).map(|(p, shock)| (p[j] - shock - mean[j]).powi(2));
        squares.sum::<f64>() / (n - 1.0) * k / (k - 1.0)
    };
    (0..profiles[0].len()).map(variance).sum::<f64>() / k / n
}

/// The starts of levels without those that change the level by less than 2 %, smallest change first.
fn merged(mean: &[f64], mut starts: Vec<usize>) -> Vec<usize> {
    loop {
        let ends: Vec<usize> = starts.iter().copied().chain([mean.len()]).collect();
        let level = |from: usize, to: usize| mean[from..to].iter().sum::<f64>() / (to - from) as f64;
        let change = |w: &[usize]| (level(w[1], w[2]) - level(w[0], w[1])).abs();
        let smallest = ends.windows(3).map(change).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        match smallest {
            Some((index, change)) if change < NEGLIGIBLE => {
                // The smallest change first: removing it may bring its neighbours above the limit.
                starts.remove(index + 1);
            }
            _ => return starts,
        }
    }
}

/// The middle 95 % of the breaks nearest to `at` over resampled sweeps.
fn between(at: usize, resampled: &[Vec<usize>]) -> (usize, usize) {
    let nearest = |starts: &Vec<usize>| starts.iter().skip(1).copied().min_by_key(|start| start.abs_diff(at));
    let mut places: Vec<usize> = resampled.iter().filter_map(nearest).collect();
    places.sort_unstable();
    let tail = places.len() / 40;
    match (places.get(tail), places.iter().rev().nth(tail)) {
        (Some(low), Some(high)) => ((*low).min(at), (*high).max(at)),
        _ => (at, at),
    }
}
