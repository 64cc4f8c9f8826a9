//! Histograms from the few quantiles that a source reports.

use sharebench_model::Histogram;

/// A histogram of `n` times with these (quantile, nanoseconds), in growing order, and this largest time.
///
/// A quantile that the source reports comes back; one between two of them is the larger one. So no quantile is too small,
/// and the mean is an upper bound.
pub(crate) fn from_quantiles(n: u64, reported: &[(f64, u64)], max: u64) -> Histogram {
    let mut histogram = Histogram::new();
    let mut counted = 0;
    for (quantile, nanos) in reported {
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
    fn reported_quantiles_come_back() {
        let reported = [(0.01, 100), (0.5, 2_000), (0.95, 5_000), (0.99, 33_000)];
        for n in [1, 3, 1000] {
            assert_eq!(from_quantiles(n, &reported, 90_000).len(), n);
        }
        let histogram = from_quantiles(1000, &reported, 90_000);
        for (quantile, nanos) in reported {
            let found = histogram.quantile(quantile);
            assert!(found.abs_diff(nanos) * 1000 <= nanos, "{quantile}: {found}");
        }
        assert!(histogram.max().abs_diff(90_000) <= 90);
    }
}
