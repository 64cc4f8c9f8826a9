//! The ratio of two systems that were not measured in pairs.

use crate::{Estimate, Interval, sample_median};

/// ln(median of `a` / median of `b`), with a cautious interval from the two medians' own intervals.
///
/// The four bounds combine at their worst, so the interval covers at least as often as `level` promises
/// under independence. It says nothing about what changed between the two series. None when a sample is
/// empty or not positive.
pub fn separate_log_ratio(a: &[f64], b: &[f64], level: f64) -> Option<Estimate> {
    // Logarithms follow.
    if a.iter().chain(b).any(|x| *x <= 0.0) {
        return None;
    }
    let one = sample_median(a, level)?;
    let other = sample_median(b, level)?;
    let interval = one
        .interval
        .zip(other.interval)
        .map(|(x, y)| Interval { low: (x.low / y.high).ln(), high: (x.high / y.low).ln() });
    Some(Estimate { value: (one.value / other.value).ln(), interval, n: one.n.min(other.n) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_combine_at_their_worst() {
        let a = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
        let b = [5.0, 5.0, 5.0, 5.0, 5.0, 6.0];
        let ratio = separate_log_ratio(&a, &b, 0.95).unwrap().map(f64::exp);
        assert!((ratio.value - 2.5).abs() < 1e-12);
        let interval = ratio.interval.unwrap();
        assert!((interval.low - 10.0 / 6.0).abs() < 1e-12 && (interval.high - 3.0).abs() < 1e-12);
        assert!(separate_log_ratio(&a[..1], &b[..1], 0.95).unwrap().interval.is_none());
        assert!(separate_log_ratio(&a, &[0.0], 0.95).is_none());
    }
}
