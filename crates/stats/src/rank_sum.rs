//! By how much one sample lies above another: the Hodges-Lehmann shift with Wilcoxon's exact rank-sum interval.
//!
//! Source: Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3rd ed., 4.1-4.3.

use crate::normal::normal_quantile;
use crate::order_statistic::tail_rank;
use crate::{Estimate, Interval, median};

/// Above this many pairs of values the exact null distribution is replaced by its normal limit.
const EXACT_UP_TO: usize = 2_500;

/// The median of all differences `after - before`, with its interval at `level` where both samples are large enough
/// for one (four and four for 95 %). `n` counts all values. None where a sample is empty or holds what is not finite.
pub fn shift(before: &[f64], after: &[f64], level: f64) -> Option<Estimate> {
    let mut differences: Vec<f64> = before.iter().flat_map(|b| after.iter().map(move |a| a - b)).collect();
    if differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    let value = median(&mut differences)?;
    let rank = interval_rank(before.len(), after.len(), (1.0 - level) / 2.0);
    let interval =
        rank.map(|rank| Interval { low: differences[rank - 1], high: differences[differences.len() - rank] });
    Some(Estimate { value, interval, n: before.len() + after.len() })
}

/// Largest rank whose difference and its mirror image enclose the shift, `tail` on either side.
fn interval_rank(m: usize, n: usize, tail: f64) -> Option<usize> {
    if m * n > EXACT_UP_TO {
        let pairs = (m * n) as f64;
        let all = (m + n + 1) as f64;
        let deviation = (pairs * all / 12.0).sqrt();
        let rank = pairs / 2.0 - normal_quantile(1.0 - tail) * deviation;
        return (rank >= 1.0).then_some(rank.floor() as usize);
    }
    tail_rank(&null_distribution(m, n), tail)
}

/// P(U = u) for u = 0..=mn: the coefficients of the Gaussian binomial, scaled.
fn null_distribution(m: usize, n: usize) -> Vec<f64> {
    let mut counts = vec![0.0; m * n + 1];
    counts[0] = 1.0;
    // Multiplied by (1 - q^(n+i)) and divided by (1 - q^i), for i = 1..m.
    for i in 1..=m {
        for u in (n + i..counts.len()).rev() {
            counts[u] -= counts[u - n - i];
        }
        for u in i..counts.len() {
            counts[u] += counts[u - i];
        }
    }
    let all: f64 = counts.iter().sum();
    counts.iter().map(|count| count / all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_null_distribution_is_that_of_the_tables() {
        // Three of six: 1, 1, 2, 3, 3, 3, 3, 2, 1, 1 of 20.
        let twentieths: Vec<u32> =
            null_distribution(3, 3).iter().map(|p| (p * 20.0).round() as u32).collect();
        assert_eq!(twentieths, [1, 1, 2, 3, 3, 3, 3, 2, 1, 1]);
        // Four and four: 2/70 outside the widest interval; three and four: 2/35 are too many.
        assert_eq!(interval_rank(4, 4, 0.025), Some(1));
        assert_eq!(interval_rank(3, 4, 0.025), None);
        // Hollander and Wolfe, table A.6: ten and five, the interval of 95.5 % (U_.025 = 8).
        assert_eq!(interval_rank(10, 5, 0.025), Some(9));
    }

    #[test]
    fn a_shift_is_found_with_its_interval() {
        let before = [1.0, 1.1, 0.9, 1.05, 0.95];
        let after: Vec<f64> = before.iter().map(|value| value + 0.5).collect();
        let found = shift(&before, &after, 0.95).unwrap();
        let interval = found.interval.unwrap();
        assert!((found.value - 0.5).abs() < 1e-12 && interval.low < 0.5 && interval.high > 0.5);
        assert!(interval.low > 0.3 && interval.high < 0.7, "{interval:?}");
        assert_eq!(shift(&before, &[], 0.95), None);
        assert_eq!(shift(&before, &[f64::NAN], 0.95), None);
        assert_eq!(shift(&[1.0], &[2.0], 0.95).unwrap().interval, None);
    }
}
