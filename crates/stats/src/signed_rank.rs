//! Wilcoxon's signed-rank statistic and the Hodges-Lehmann estimate that inverts it.
//!
//! Source: Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3rd ed., 3.1-3.3; Hodges and
//! Lehmann, Annals of Mathematical Statistics 34 (1963) 598.

use crate::normal::{normal_cdf, normal_quantile};
use crate::order_statistic::tail_rank;
use crate::{Estimate, Interval, median};

/// Fewest pairs for which a two-sided 95 % interval exists: 2/2^6 = 3.1 %, but 2/2^5 = 6.3 %.
pub const SMALLEST_SAMPLE_95: usize = 6;

/// Above this the exact null distribution is replaced by its normal limit.
const EXACT_UP_TO: usize = 200;

/// The level of the widest exact interval that `n` pairs allow: 1 - 2/2^n.
pub fn attainable_level(n: usize) -> f64 {
    if n == 0 { 0.0 } else { 1.0 - (1.0 - n as f64).exp2() }
}

/// P(W = w) for w = 0.. under the null, where each of `weights` is added with probability one half.
fn null_distribution(weights: impl Iterator<Item = usize>) -> Vec<f64> {
    let mut probability = vec![1.0];
    for weight in weights {
        let mut next = vec![0.0; probability.len() + weight];
        for (w, p) in probability.iter().enumerate() {
            next[w] += p / 2.0;
            next[w + weight] += p / 2.0;
        }
        probability = next;
    }
    probability
}

/// P(W >= w) for `n` untied observations under the null hypothesis of symmetry about zero.
pub fn upper_tail(n: usize, w: usize) -> f64 {
    null_distribution(1..=n).iter().skip(w).sum()
}

/// Largest `k` for which the Walsh averages ranked `k` and `M+1-k` enclose the centre at `level`.
fn interval_rank(n: usize, level: f64) -> Option<usize> {
    let tail = (1.0 - level) / 2.0;
    // The exact distribution takes time in proportion to the cube of n.
    if n > EXACT_UP_TO {
        let m = n as f64 * (n as f64 + 1.0) / 2.0;
        let n = n as f64;
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        return Some((m / 2.0 - normal_quantile(1.0 - tail) * deviation).floor().max(1.0) as usize);
    }
    tail_rank(&null_distribution(1..=n), tail)
}

/// The Hodges-Lehmann estimate of the centre: the median of all averages of two observations, with the
/// exact signed-rank interval at `level` where `differences` are enough for one.
///
/// None for an empty sample or one that is not finite.
pub fn hodges_lehmann(differences: &[f64], level: f64) -> Option<Estimate> {
    if differences.is_empty() || differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    let n = differences.len();
    let mut walsh = Vec::with_capacity(n * (n + 1) / 2);
    // i <= j, so every observation is also averaged with itself (docs/measure/measurement-rules.md R1).
    for (i, a) in differences.iter().enumerate() {
        walsh.extend(differences[i..].iter().map(|b| f64::midpoint(*a, *b)));
    }
    let value = median(&mut walsh)?;
    let interval =
        interval_rank(n, level).map(|k| Interval { low: walsh[k - 1], high: walsh[walsh.len() - k] });
    Some(Estimate { value, interval, n })
}

/// The Hodges-Lehmann estimate alone, of at least one finite value: selects the middle instead of sorting.
pub(crate) fn hodges_lehmann_value(differences: &[f64]) -> f64 {
    let mut walsh = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (i, a) in differences.iter().enumerate() {
        walsh.extend(differences[i..].iter().map(|b| f64::midpoint(*a, *b)));
    }
    let middle = walsh.len() / 2;
    let even = walsh.len().is_multiple_of(2);
    let (below, upper, _) = walsh.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if even { f64::midpoint(below.iter().copied().fold(f64::NEG_INFINITY, f64::max), upper) } else { upper }
}

/// Two-sided p-value of the signed-rank test for a centre of zero, exact for the ties at hand.
///
/// Zeros are dropped and tied ranks averaged (Hollander & Wolfe, 3.1); without any
/// non-zero difference it is 1.
pub fn signed_rank_p_value(differences: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    sorted.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let doubled = doubled_ranks(&sorted);
    let positive: usize = sorted.iter().zip(&doubled).filter(|(d, _)| **d > 0.0).map(|(_, r)| r).sum();
    let total: usize = doubled.iter().sum();
    let extreme = positive.max(total - positive);
    if sorted.len() > EXACT_UP_TO {
        let deviation = (doubled.iter().map(|r| (r * r) as f64).sum::<f64>() / 4.0).sqrt();
        return (2.0 * normal_cdf((total as f64 / 2.0 - extreme as f64) / deviation)).min(1.0);
    }
    let tail: f64 = null_distribution(doubled.into_iter()).iter().skip(extreme).sum();
    (2.0 * tail).min(1.0)
}

/// Twice the mid-rank of each absolute value, so that ranks stay whole numbers.
fn doubled_ranks(sorted: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    for ties in sorted.chunk_by(|a, b| a.abs().total_cmp(&b.abs()).is_eq()) {
        let first = ranks.len() + 1;
        ranks.extend(std::iter::repeat_n(2 * first + ties.len() - 1, ties.len()));
    }
    ranks
}
