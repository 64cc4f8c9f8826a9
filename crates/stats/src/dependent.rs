//! Quantiles of dependent times: requests that queue are not independent observations.
//!
//! Source: batch means of the indicator of the quantile (Seila, Management Science 28 (1982) 1019; Chen and
//! Kelton, IIE Transactions 38 (2006) 885), used as a ratio because batches hold unequal numbers (Cochran:
//! Sampling Techniques, 3rd ed., 2.11).

use crate::{Ranks, student_quantile};

/// Number of independent observations beyond a quantile that resolve it.
pub const RESOLVED_TAIL: f64 = 10.0;

/// A batch of a stream: its number of observations, and how many of them are at most the quantile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Batch {
    /// Observations.
    pub n: u64,
    /// Those at most the quantile.
    pub below: u64,
}

/// The effective sample size of a stream of dependent observations at a quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectiveSampleSize {
    /// Number of independent observations that would locate the quantile as precisely; at most the stream's own number.
    pub n: f64,
    /// Degrees of freedom of that figure.
    pub degrees_of_freedom: f64,
}

/// The effective sample size of a stream in `batches`; none with fewer than two batches that hold observations.
///
/// Batches must be longer than the correlation of the observations. Batches with exactly equal shares (for example, all
/// observations below) show no dependence, and the stream counts in full.
pub fn effective_sample_size(batches: &[Batch]) -> Option<EffectiveSampleSize> {
    // An empty batch has no share, and would count as a degree of freedom without information.
    let held: Vec<&Batch> = batches.iter().filter(|batch| batch.n > 0).collect();
    if held.len() < 2 {
        return None;
    }
    let n: u64 = held.iter().map(|batch| batch.n).sum();
    let below: u64 = held.iter().map(|batch| batch.below).sum();
    let m = held.len() as f64;
    let total = n as f64;
    let share = below as f64 / total;
    let deviation = |batch: &&Batch| (batch.below as f64 - share * batch.n as f64).powi(2);
    let variance = held.iter().map(deviation).sum::<f64>() * m / (m - 1.0) / (total * total);
    let independent = share * (1.0 - share);
    // At most the real number: negative correlation by chance must not make an interval narrower than
    // independence does.
    let n = if variance > 0.0 { (independent / variance).min(total) } else { total };
    Some(EffectiveSampleSize { n, degrees_of_freedom: m - 1.0 })
}

/// The effective sample size of several independent streams together, such as the windows of several repetitions: each
/// given by its number of observations and its own effective sample size.
pub fn pooled_sample_size(parts: &[(u64, EffectiveSampleSize)]) -> Option<EffectiveSampleSize> {
    let n: f64 = parts.iter().map(|(n, _)| *n as f64).sum();
    let spread: f64 = parts.iter().map(|(n, size)| (*n as f64).powi(2) / size.n.max(1.0)).sum();
    let degrees_of_freedom = parts.iter().map(|(_, size)| size.degrees_of_freedom).sum();
    (n > 0.0 && degrees_of_freedom > 0.0)
        .then(|| EffectiveSampleSize { n: n * n / spread, degrees_of_freedom })
}

/// True if enough observations lie beyond quantile `p` on either side to locate it.
pub fn is_resolved(p: f64, size: EffectiveSampleSize) -> bool {
    // A hair below, so that 1000 observations resolve 0.99 although 1 - 0.99 is not quite 0.01.
    size.n * p.min(1.0 - p) >= RESOLVED_TAIL * (1.0 - 1e-9)
}

/// The ranks among `n` dependent observations that enclose quantile `p` at `level`: the normal limit of
/// the binomial with the effective sample size, and Student's t because that size is estimated.
/// None if a bound would lie outside the sample.
pub fn dependent_quantile_ranks(n: u64, p: f64, size: EffectiveSampleSize, level: f64) -> Option<Ranks> {
    let tail = (1.0 - level) / 2.0;
    let reach = student_quantile(1.0 - tail, size.degrees_of_freedom) * (p * (1.0 - p) / size.n).sqrt();
    let low = (n as f64 * (p - reach)).floor();
    let high = (n as f64 * (p + reach)).ceil() + 1.0;
    (low >= 1.0 && high <= n as f64).then_some(Ranks { low: low as u64, high: high as u64 })
}

/// True when quantile `p` of the recorded times is only a lower bound, because `censored` observations
/// had not ended: more than 1 % of all, and `p` lies where they may belong.
///
/// An operation that has not ended takes at least as long as it has lasted, and may take longer than any recorded one.
/// Quantiles above the recorded share are therefore unknown.
pub fn is_lower_bound(p: f64, recorded: u64, censored: u64) -> bool {
    let share = censored as f64 / (recorded + censored).max(1) as f64;
    // 1 % is the limit above which percentiles are lower bounds (docs/measure/measurement-rules.md 1.7).
    share > 0.01 && p >= 1.0 - share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_batches_count_in_full_and_copies_count_once() {
        // Batches of 100 whose counts vary as the binomial says: variance 100 x 0.5 x 0.5 = 25.
        let counts = [45, 55, 50, 50, 44, 56, 52, 48, 55, 45];
        let batches: Vec<Batch> = counts.iter().map(|&below| Batch { n: 100, below }).collect();
        let found = effective_sample_size(&batches).unwrap();
        // Sum of squares 180 x 10/9 over 1000^2 = 0.0002: 0.25 / 0.0002 is 1250.
        assert!((found.n - 1000.0).abs() < 1e-9, "more than all is cut to all: {found:?}");
        // Each observation ten times over: the deviations are ten times as large.
        let copies: Vec<Batch> = counts.iter().map(|&b| Batch { n: 1000, below: 10 * b }).collect();
        let found = effective_sample_size(&copies).unwrap();
        assert!((found.n - 0.25 / (180.0 * 100.0 * 10.0 / 9.0 / 1e8)).abs() < 1e-6, "{found:?}");
        assert_eq!(effective_sample_size(&batches[..1]), None);
    }

    #[test]
    fn streams_that_are_all_alike_pool_to_their_sum() {
        let part = (1_000, EffectiveSampleSize { n: 250.0, degrees_of_freedom: 9.0 });
        let pooled = pooled_sample_size(&[part; 4]).unwrap();
        assert!((pooled.n - 1_000.0).abs() < 1e-9 && (pooled.degrees_of_freedom - 36.0).abs() < 1e-9);
        assert_eq!(pooled_sample_size(&[]), None);
    }

    #[test]
    fn a_tail_of_ten_independent_observations_resolves() {
        let of = |n| EffectiveSampleSize { n, degrees_of_freedom: 50.0 };
        assert!(is_resolved(0.99, of(1_000.0)) && !is_resolved(0.99, of(990.0)));
        assert!(is_resolved(0.5, of(20.0)));
        assert_eq!(dependent_quantile_ranks(1_000, 0.99, of(100.0), 0.95), None);
        let ranks = dependent_quantile_ranks(10_000, 0.5, of(10_000.0), 0.95).unwrap();
        assert!(ranks.low.abs_diff(4_900) <= 2 && ranks.high.abs_diff(5_101) <= 2, "{ranks:?}");
    }

    #[test]
    fn unfinished_operations_make_percentiles_lower_bounds() {
        // 17 of 50 users never reported, one operation each: everything above 66 % is unknown.
        assert!(is_lower_bound(0.95, 33, 17) && is_lower_bound(0.66, 33, 17) && !is_lower_bound(0.5, 33, 17));
        assert!(!is_lower_bound(0.999, 10_000, 50), "half a percent");
    }
}
