//! Histograms from the few quantiles that a source tells.

use sharebench_model::Histogram;

/// A histogram of `n` times with these (quantile, nanoseconds), in growing order, and this largest time.
///
/// Its quantiles are the told ones where they are told and the next larger told one between: no quantile is too
/// small, and the mean is an upper bound.
pub(crate) fn from_quantiles(n: u64, told: &[(f64, u64)], max: u64) -> Histogram {
    let mut histogram = Histogram::new();
    let mut counted = 0;
    for (quantile, nanos) in told {
        let until = ((n as f64 * quantile).ceil() as u64).min(n);
        histogram.record_n(*nanos, until.saturating_sub(counted));
        counted = counted.max(until);
    }
    histogram.record_n(max, n - counted);
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_quantiles_come_back() {
        let told = [(0.01, 100), (0.5, 2_000), (0.95, 5_000), (0.99, 33_000)];
        for n in [1, 3, 1000] {
            assert_eq!(from_quantiles(n, &told, 90_000).len(), n);
        }
        let histogram = from_quantiles(1000, &told, 90_000);
        for (quantile, nanos) in told {
            let found = histogram.quantile(quantile);
            assert!(found.abs_diff(nanos) * 1000 <= nanos, "{quantile}: {found}");
        }
        assert!(histogram.max().abs_diff(90_000) <= 90);
    }
}
