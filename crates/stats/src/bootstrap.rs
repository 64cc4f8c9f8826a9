//! Total work: the ratio of sums over pairs, with a bias-corrected and accelerated bootstrap interval.
//!
//! Source: Efron, JASA 82 (1987) 171; Efron and Tibshirani: An Introduction to the Bootstrap, 14.3.

use crate::{Estimate, Interval, Rng, normal_cdf, normal_quantile};

/// What one system did in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Bytes moved (or anything else that is counted).
    pub amount: f64,
    /// Seconds it took (or any unit, the same on both sides).
    pub time: f64,
}

/// Fewest pairs that are worth resampling.
const MIN_PAIRS: usize = 6;

/// ln of (sum of amounts / sum of times) of the first over the same of the second, resampling whole
/// pairs `resamples` times. None when a sum is not positive.
pub fn total_work_log_ratio(
    pairs: &[(Work, Work)],
    level: f64,
    resamples: usize,
    seed: u64,
) -> Option<Estimate> {
    let value = statistic(pairs.iter());
    if !value.is_finite() {
        return None;
    }
    let interval = (pairs.len() >= MIN_PAIRS).then(|| bca(pairs, value, level, resamples, seed)).flatten();
    Some(Estimate { value, interval, n: pairs.len() })
}

fn statistic<'a>(pairs: impl Iterator<Item = &'a (Work, Work)>) -> f64 {
    let (mut a, mut b) = (Work { amount: 0.0, time: 0.0 }, Work { amount: 0.0, time: 0.0 });
    for (one, other) in pairs {
        a.amount += one.amount;
        a.time += one.time;
        b.amount += other.amount;
        b.time += other.time;
    }
    (a.amount / a.time / (b.amount / b.time)).ln()
}

fn bca(pairs: &[(Work, Work)], value: f64, level: f64, resamples: usize, seed: u64) -> Option<Interval> {
    let mut rng = Rng::new(seed);
    let mut drawn: Vec<f64> = (0..resamples)
        .map(|_| statistic((0..pairs.len()).map(|_| &pairs[rng.below(pairs.len())])))
        .filter(|x| x.is_finite())
        .collect();
    drawn.sort_unstable_by(f64::total_cmp);
    let below = drawn.partition_point(|x| *x < value) as f64 + drawn.partition_point(|x| *x <= value) as f64;
    let bias = normal_quantile((below / 2.0 / drawn.len() as f64).clamp(1e-6, 1.0 - 1e-6));
    let acceleration = acceleration(pairs);
    let bound = |tail: f64| {
        let z = bias + normal_quantile(tail);
        let share = normal_cdf(bias + z / (1.0 - acceleration * z));
        let index = (share * (drawn.len() as f64 + 1.0)).round().clamp(1.0, drawn.len() as f64);
        drawn.get(index as usize - 1).copied()
    };
    let tail = (1.0 - level) / 2.0;
    Some(Interval::new(bound(tail)?, bound(1.0 - tail)?))
}

/// Skewness of the jackknife values, Efron & Tibshirani (14.15).
fn acceleration(pairs: &[(Work, Work)]) -> f64 {
    let left_out: Vec<f64> = (0..pairs.len())
        .map(|skip| statistic(pairs.iter().enumerate().filter(|(i, _)| *i != skip).map(|(_, pair)| pair)))
        .collect();
    let mean = left_out.iter().sum::<f64>() / left_out.len() as f64;
    let (mut squares, mut cubes) = (0.0, 0.0);
    for x in left_out {
        squares += (mean - x).powi(2);
        cubes += (mean - x).powi(3);
    }
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}
