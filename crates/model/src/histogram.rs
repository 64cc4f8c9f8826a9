//! Latency histogram: nanoseconds at three significant digits, mergeable, stored as HdrHistogram V2.

use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Deserializer as SerdeDeserializer, Serialize, Serializer as SerdeSerializer};

/// Largest recordable time: one hour. Longer ones are recorded as one hour.
pub const MAX_NANOS: u64 = 3_600_000_000_000;

/// Why bytes are no histogram.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a usable HdrHistogram V2 blob: {0}")]
pub struct HistogramError(String);

/// Times in nanoseconds, each within 0.1 % of the truth, from 1 ns to one hour.
///
/// Memory is bounded by the largest time met, never by the number of recordings.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    ///
    /// # Panics
    /// Never: three digits are within the library's limits.
    pub fn new() -> Self {
        #[expect(clippy::expect_used, reason = "constant argument within the documented range")]
        Self(hdrhistogram::Histogram::new(3).expect("3 significant digits are valid"))
    }

    /// Adds one time. Zero counts as 1 ns, more than an hour as an hour.
    pub fn record(&mut self, nanos: u64) {
        self.record_n(nanos, 1);
    }

    /// Adds one time `count` times.
    pub fn record_n(&mut self, nanos: u64, count: u64) {
        // Auto-resizing within one hour cannot fail.
        let _ = self.0.record_n(nanos.clamp(1, MAX_NANOS), count);
    }

    /// Adds all of another histogram's recordings, exactly.
    pub fn merge(&mut self, other: &Self) {
        // Both sides auto-resize and share their precision, so this cannot fail.
        let _ = self.0.add(&other.0);
    }

    /// Adds those of another histogram's recordings that are longer than `nanos`.
    pub fn merge_above(&mut self, other: &Self, nanos: u64) {
        for recorded in other.0.iter_recorded().filter(|recorded| recorded.value_iterated_to() > nanos) {
            self.record_n(recorded.value_iterated_to(), recorded.count_at_value());
        }
    }

    /// How many times were recorded.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// True when nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Mean in nanoseconds; 0 when empty.
    pub fn mean(&self) -> f64 {
        // Only the values between the extremes; the library's own iterator walks up to them from zero.
        let (mut value, mut sum) = (self.0.min(), 0.0);
        let mut left = self.0.len();
        while left > 0 {
            let count = self.0.count_at(value);
            sum += self.0.median_equivalent(value) as f64 * count as f64;
            left = left.saturating_sub(count);
            value = self.0.next_non_equivalent(value);
        }
        sum / self.0.len().max(1) as f64
    }

    /// Largest time in nanoseconds, to within 0.1 %; 0 when empty.
    pub fn max(&self) -> u64 {
        self.0.max()
    }

    /// The time below which `quantile` (0..=1) of the recordings lie, in nanoseconds; 0 when empty.
    pub fn quantile(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }

    /// (nanoseconds, cumulative share) along the distribution, for percentile plots.
    pub fn percentiles(&self, ticks_per_half: u32) -> Vec<(u64, f64)> {
        self.0.iter_quantiles(ticks_per_half).map(|v| (v.value_iterated_to(), v.quantile())).collect()
    }

    /// The standard HdrHistogram V2 encoding.
    pub fn to_v2(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Writing to a Vec cannot fail.
        let _ = V2Serializer::new().serialize(&self.0, &mut bytes);
        bytes
    }

    /// Reads [`Self::to_v2`]'s bytes.
    pub fn from_v2(bytes: &[u8]) -> Result<Self, HistogramError> {
        let mut histogram = Deserializer::new()
            .deserialize::<u64, _>(&mut std::io::Cursor::new(bytes))
            .map_err(|error| HistogramError(format!("{error:?}")))?;
        if histogram.sigfig() != 3 {
            return Err(HistogramError(format!("{} significant digits instead of 3", histogram.sigfig())));
        }
        histogram.auto(true);
        Ok(Self(histogram))
    }
}

impl Serialize for Histogram {
    fn serialize<S: SerdeSerializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_v2())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: SerdeDeserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        Self::from_v2(&bytes).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_equals_one_recorder() {
        let (mut one, mut left, mut right) = (Histogram::new(), Histogram::new(), Histogram::new());
        for i in 0..10_000u64 {
            let nanos = i * i * 37;
            one.record(nanos);
            if i % 3 == 0 { left.record(nanos) } else { right.record(nanos) }
        }
        left.merge(&right);
        assert_eq!(left, one);
    }

    #[test]
    fn the_mean_is_within_a_thousandth_of_the_truth() {
        assert!(Histogram::new().mean().abs() < f64::MIN_POSITIVE);
        let mut histogram = Histogram::new();
        let times: Vec<u64> = (1..2_000u64).map(|i| i * i * i).chain([0, MAX_NANOS]).collect();
        for nanos in &times {
            histogram.record(*nanos);
        }
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        assert!((histogram.mean() / mean - 1.0).abs() < 0.001, "{} {mean}", histogram.mean());
        assert!((histogram.mean() / histogram.0.mean() - 1.0).abs() < 1e-12, "the library's own");
    }

    #[test]
    fn only_what_is_longer_is_added() {
        let (mut one, mut other) = (Histogram::new(), Histogram::new());
        one.record_n(2_000_000, 3);
        for nanos in [1_000, 2_000_000, 5_000_000, 5_000_000, 70_000_000] {
            other.record(nanos);
        }
        one.merge_above(&other, one.max());
        assert_eq!((one.len(), one.quantile(0.5) / 10_000, one.max() / 100_000), (6, 200, 700));
    }

    #[test]
    fn v2_round_trip_keeps_every_count() {
        let mut histogram = Histogram::new();
        for nanos in [1, 1_000, 123_456, MAX_NANOS, u64::MAX] {
            histogram.record(nanos);
        }
        assert_eq!(Histogram::from_v2(&histogram.to_v2()).unwrap(), histogram);
    }

    #[test]
    fn a_broken_blob_is_an_error() {
        assert!(Histogram::from_v2(b"nonsense").is_err());
    }
}
