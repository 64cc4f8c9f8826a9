//! Medians and quantiles with intervals that assume nothing but independent observations.
//!
//! Source: David and Nagaraja: Order Statistics, 3rd ed., 7.1. The number of observations below the
//! quantile `p` is binomial, so two ranks enclose it with a known probability.

use crate::{Estimate, Interval, normal_quantile};

/// Two ranks, counted from 1, whose order statistics enclose a quantile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranks {
    /// Rank of the lower bound.
    pub low: u64,
    /// Rank of the upper bound.
    pub high: u64,
}

/// Beyond this many observations ranks come from the normal limit of the binomial.
const EXACT_UP_TO: u64 = 5_000;

/// The ranks that enclose quantile `p` (0..1) of `n` independent observations at `level`, equal tails;
/// none when `n` is too small (two-sided 95 %: 6 for the median, 72 for p95, 368 for p99).
///
/// Times of requests that queue are not independent; for them this interval is too narrow. See
/// [`crate::dependent_quantile_ranks`].
pub fn quantile_ranks(n: u64, p: f64, level: f64) -> Option<Ranks> {
    let tail = (1.0 - level) / 2.0;
    let (low, high) = if n > EXACT_UP_TO { normal_ranks(n, p, tail) } else { binomial_ranks(n, p, tail) };
    (low >= 1 && high <= n).then_some(Ranks { low, high })
}

/// Largest `low` with P(X < low) <= tail and smallest `high` with P(X >= high) <= tail.
fn binomial_ranks(n: u64, p: f64, tail: f64) -> (u64, u64) {
    let log_p = p.ln();
    let log_q = (-p).ln_1p();
    // The probability below the mean minus twelve deviations underflows a double.
    let first = (n as f64 * p - 12.0 * (n as f64 * p * (1.0 - p)).sqrt()).max(0.0) as u64;
    let log_factorial = |m: u64| libm::lgamma(m as f64 + 1.0);
    let mut log_choose = log_factorial(n) - log_factorial(first) - log_factorial(n - first);
    let mut below = 0.0;
    let mut low = first;
    let mut high = n + 1;
    for k in first..=n {
        below += f64::exp(log_choose + k as f64 * log_p + (n - k) as f64 * log_q);
        if below <= tail {
            low = k + 1;
        }
        if below >= 1.0 - tail {
            high = k + 1;
            break;
        }
        // Logarithms, because binomial coefficients of some thousand observations exceed a double.
        log_choose += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    (low, high)
}

fn normal_ranks(n: u64, p: f64, tail: f64) -> (u64, u64) {
    let reach = normal_quantile(1.0 - tail) * (n as f64 * p * (1.0 - p)).sqrt();
    ((n as f64 * p - reach).floor().max(0.0) as u64, (n as f64 * p + reach).ceil() as u64 + 1)
}

/// The largest rank in a distribution whose lower tail is at most `tail`; none if there is no such rank.
pub(crate) fn tail_rank(distribution: &[f64], tail: f64) -> Option<usize> {
    let mut below = 0.0;
    let is_within = |p: &&f64| {
        below += **p;
        below <= tail
    };
    let rank = distribution.iter().take_while(is_within).count();
    (rank > 0).then_some(rank)
}

/// The median of `values` in any order, in their unit: of an even number of values the mean of the two in the middle,
/// of no values none. Sorts `values` in place, with NaN last, and allocates nothing.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    median_of_sorted(values)
}

/// The median of logarithms or differences, where 0 means no effect; 0 without values. Sorts a copy.
pub fn median_or_zero(values: &[f64]) -> f64 {
    median(&mut values.to_vec()).unwrap_or(0.0)
}

/// The median of integers such as nanoseconds or numbers of repetitions, none without values: of an even number of
/// values the upper of the two in the middle, because their mean may be no integer. Sorts `values` in place.
pub fn upper_median<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// As [`median`], of values in ascending order.
pub fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[sorted.len() / 2 - 1], upper) })
}

/// The median of a sample with its distribution-free interval; none for an empty or not finite sample.
pub fn sample_median(sample: &[f64], level: f64) -> Option<Estimate> {
    if sample.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut sorted = sample.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let ranks = quantile_ranks(sorted.len() as u64, 0.5, level);
    let interval =
        ranks.map(|r| Interval { low: sorted[r.low as usize - 1], high: sorted[r.high as usize - 1] });
    Some(Estimate { value: median_of_sorted(&sorted)?, interval, n: sorted.len() })
}
