//! Total work: the ratio of sums over pairs, with a bias-corrected and accelerated bootstrap interval.
//!
//! Source: Efron, JASA 82 (1987) 171; Efron and Tibshirani: An Introduction to the Bootstrap, 14.3.

use sharebench_model::Random;

use crate::{Estimate, Interval, normal_cdf, normal_quantile};

/// What one system did in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Bytes moved (or anything else that is counted).
    pub amount: f64,
    /// Seconds it took (or any unit, the same on both sides).
    pub time: f64,
}

/// Fewest pairs for resampling.
const MIN_PAIRS: usize = 6;

/// ln of (sum of amounts / sum of times) of the first over the same of the second, resampling whole
/// pairs `resamples` times. None when a sum is not positive.
pub fn total_work_log_ratio(
    pairs: &[(Work, Work)],
    level: f64,
    resamples: usize,
    seed: u64,
) -> Option<Estimate> {
    let ratio = Sums::of(pairs.iter()).ratio();
    if !ratio.ln().is_finite() {
        return None;
    }
    let interval = (pairs.len() >= MIN_PAIRS).then(|| bca(pairs, ratio, level, resamples, seed)).flatten();
    Some(Estimate { value: ratio.ln(), interval, n: pairs.len() })
}

/// Work of many pairs.
#[derive(Clone, Copy)]
struct Sums {
    a: Work,
    b: Work,
}

impl Sums {
    fn of<'a>(pairs: impl Iterator<Item = &'a (Work, Work)>) -> Self {
        let none = Work { amount: 0.0, time: 0.0 };
        pairs.fold(Self { a: none, b: none }, |sums, pair| sums.with(pair, 1.0))
    }

    /// One pair more, or less when `sign` is -1.
    fn with(self, (a, b): &(Work, Work), sign: f64) -> Self {
        let add = |sum: Work, work: &Work| Work {
            amount: sum.amount + sign * work.amount,
            time: sum.time + sign * work.time,
        };
        Self { a: add(self.a, a), b: add(self.b, b) }
    }

    fn ratio(self) -> f64 {
        self.a.amount / self.a.time / (self.b.amount / self.b.time)
    }
}

/// Works on ratios and takes the logarithm of the two bounds only: it keeps the order.
fn bca(pairs: &[(Work, Work)], ratio: f64, level: f64, resamples: usize, seed: u64) -> Option<Interval> {
    let mut random = Random::new(seed, 0);
    let n = pairs.len();
    let mut drawn: Vec<f64> = (0..resamples)
        .map(|_| Sums::of((0..n).map(|_| &pairs[random.below(n as u64) as usize])).ratio())
        // A resample may draw only pairs without work; its ratio has no logarithm.
        .filter(|x| *x > 0.0 && x.is_finite())
        .collect();
    if drawn.is_empty() {
        return None;
    }
    // Half of those that are equal count as below.
    let halves: usize = drawn.iter().map(|x| usize::from(*x < ratio) + usize::from(*x <= ratio)).sum();
    let share = halves as f64 / 2.0 / drawn.len() as f64;
    // Clamped, because all resamples may lie on one side and the quantile of 0 or 1 is infinite.
    let bias = normal_quantile(share.clamp(1e-6, 1.0 - 1e-6));
    let acceleration = acceleration(pairs);
    let mut bound = |tail: f64| {
        let z = bias + normal_quantile(tail);
        let share = normal_cdf(bias + z / (1.0 - acceleration * z));
        let index = (share * (drawn.len() as f64 + 1.0)).round().clamp(1.0, drawn.len() as f64);
        // Two order statistics are wanted, not the whole order.
        *drawn.select_nth_unstable_by((index as usize).max(1) - 1, f64::total_cmp).1
    };
    let tail = (1.0 - level) / 2.0;
    Some(Interval::new(bound(tail).ln(), bound(1.0 - tail).ln()))
}

/// Skewness of the jackknife values, Efron & Tibshirani (14.15).
fn acceleration(pairs: &[(Work, Work)]) -> f64 {
    let all = Sums::of(pairs.iter());
    let left_out: Vec<f64> = pairs.iter().map(|pair| all.with(pair, -1.0).ratio().ln()).collect();
    let mean = left_out.iter().sum::<f64>() / left_out.len() as f64;
    let mut squares = 0.0;
    let mut cubes = 0.0;
    for x in left_out {
        squares += (mean - x).powi(2);
        cubes += (mean - x).powi(3);
    }
    let acceleration = cubes / (6.0 * squares.powf(1.5));
    // Equal pairs have no spread: 0 / 0. The interval is then the bias-corrected one.
    if acceleration.is_finite() { acceleration } else { 0.0 }
}
