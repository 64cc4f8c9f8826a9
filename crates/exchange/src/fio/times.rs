//! fio's completion times as histograms.

use sharebench_model::Histogram;

use super::output::{Direction, Times};
use crate::quantiles::from_quantiles;

/// All times in one histogram; none where several must be merged and one has percentiles only.
pub(super) fn merged(sides: &[&Direction]) -> Option<Histogram> {
    let counted: Vec<&Times> = sides.iter().map(|side| &side.clat_ns).filter(|times| times.n > 0).collect();
    if let [only] = counted.as_slice() {
        return Some(from_bins(only).unwrap_or_else(|| from_percentiles(only)));
    }
    let mut total = Histogram::new();
    for times in counted {
        total.merge(&from_bins(times)?);
    }
    Some(total)
}

/// Every count where fio put it; none without bins, or when they do not add up.
fn from_bins(times: &Times) -> Option<Histogram> {
    let mut histogram = Histogram::new();
    for (nanos, count) in &times.bins {
        histogram.record_n(nanos.parse().ok()?, *count);
    }
    (histogram.len() == times.n && times.n > 0).then_some(histogram)
}

/// A histogram with these percentiles.
fn from_percentiles(times: &Times) -> Histogram {
    let known = times.percentile.iter();
    let known = known.filter_map(|(percent, nanos)| Some((percent.parse::<f64>().ok()? / 100.0, *nanos)));
    let mut known: Vec<(f64, u64)> = known.filter(|(quantile, _)| (0.0..=1.0).contains(quantile)).collect();
    known.sort_by(|one, other| one.0.total_cmp(&other.0));
    if known.is_empty() { Histogram::new() } else { from_quantiles(times.n, &known, times.max) }
}
