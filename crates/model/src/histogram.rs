//! Latency histogram: nanoseconds at three significant digits, mergeable, stored as HdrHistogram V2.

use std::sync::{Arc, LazyLock};

use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Deserializer as SerdeDeserializer, Serialize, Serializer as SerdeSerializer};

use crate::resting::{Cell, HistogramArchive, Resting};

/// Largest recordable time: one hour. Longer ones are recorded as one hour.
pub const MAX_NANOS: u64 = 3_600_000_000_000;

/// An empty histogram as bytes.
static EMPTY: LazyLock<Vec<u8>> = LazyLock::new(|| encoded(&counted(None)));

/// Why bytes cannot be decoded as a histogram.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a usable HdrHistogram V2 blob: {0}")]
pub struct HistogramError(String);

/// Times in nanoseconds, each within 0.1 % of the truth, from 1 ns to one hour.
///
/// A histogram takes two words where nothing was recorded. One that can record needs an array, whose size depends on the
/// largest time and not on the number of recordings. One that was decoded and not changed takes its stored bytes, which
/// copies share; [`archived_v2`](Self::archived_v2) leaves them where they were read from, so that a run of 100,000 steps fits
/// into memory.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    state: State,
}

#[derive(Debug, Clone, Default)]
enum State {
    #[default]
    Empty,
    /// As decoded.
    Resting(Arc<Resting>),
    Counting(Box<hdrhistogram::Histogram<u64>>),
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one time. Zero counts as 1 ns, more than an hour as an hour.
    pub fn record(&mut self, nanos: u64) {
        self.record_n(nanos, 1);
    }

    /// Adds one time `count` times.
    pub fn record_n(&mut self, nanos: u64, count: u64) {
        // Auto-resizing within one hour cannot fail.
        let _ = self.count().record_n(nanos.clamp(1, MAX_NANOS), count);
    }

    fn count(&mut self) -> &mut hdrhistogram::Histogram<u64> {
        if !matches!(self.state, State::Counting(_)) {
            self.state = State::Counting(Box::new(counted(self.resting())));
        }
        match &mut self.state {
            State::Counting(counting) => counting,
            State::Empty | State::Resting(_) => unreachable!("the state was set above"),
        }
    }

    fn counting(&self) -> Option<&hdrhistogram::Histogram<u64>> {
        match &self.state {
            State::Counting(counting) => Some(counting),
            State::Empty | State::Resting(_) => None,
        }
    }

    fn resting(&self) -> Option<&Resting> {
        match &self.state {
            State::Resting(resting) => Some(resting),
            State::Empty | State::Counting(_) => None,
        }
    }

    /// Copies of several histograms that have their bytes. Those that one archive keeps are read from it in one call.
    #[must_use]
    pub fn fetched<'h>(all: impl IntoIterator<Item = &'h Self>) -> Vec<Self> {
        let mut fetched: Vec<Self> = all.into_iter().cloned().collect();
        let mut places: Vec<usize> =
            (0..fetched.len()).filter(|place| fetched[*place].archive().is_some()).collect();
        while let Some((archive, _)) = places.first().and_then(|first| fetched[*first].archive()) {
            let archive = Arc::clone(archive);
            let is_here = |place: &usize| {
                fetched[*place].archive().is_some_and(|(other, _)| Arc::ptr_eq(other, &archive))
            };
            let (here, elsewhere): (Vec<usize>, Vec<usize>) = places.into_iter().partition(is_here);
            let keys: Vec<u64> = here.iter().filter_map(|place| Some(fetched[*place].archive()?.1)).collect();
            for (place, bytes) in here.into_iter().zip(archive.read(&keys)) {
                let resting = fetched[place].resting().zip(bytes);
                if let Some(resting) = resting.map(|(resting, bytes)| resting.with_bytes(bytes)) {
                    fetched[place].state = State::Resting(Arc::new(resting));
                }
            }
            places = elsewhere;
        }
        fetched
    }

    fn archive(&self) -> Option<(&Arc<dyn HistogramArchive>, u64)> {
        self.resting()?.archive()
    }

    /// Adds all of another histogram's recordings, exactly.
    pub fn merge(&mut self, other: &Self) {
        match &other.state {
            State::Empty => {}
            // Both sides auto-resize and share their precision, so this cannot fail.
            State::Counting(other) => {
                let _ = self.count().add(&**other);
            }
            State::Resting(_) if self.is_empty() => self.clone_from(other),
            State::Resting(other) => {
                other.cells().for_each(|cell| self.record_n(cell.lowest, cell.count));
            }
        }
    }

    /// All recordings of several histograms.
    pub fn merged<'h>(parts: impl IntoIterator<Item = &'h Self>) -> Self {
        let parts: Vec<&Self> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        match &parts[..] {
            [] => Self::new(),
            [only] => Self::fetched([*only]).pop().unwrap_or_default(),
            several if several.iter().all(|part| part.resting().is_some()) => {
                let merged = Resting::merged(several.iter().filter_map(|part| part.resting()));
                Self { state: State::Resting(Arc::new(merged)) }
            }
            several => {
                let mut total = Self::new();
                for part in several {
                    total.merge(part);
                }
                total
            }
        }
    }

    /// Adds those of another histogram's recordings that are longer than `nanos`.
    pub fn merge_above(&mut self, other: &Self, nanos: u64) {
        other.for_each(|cell| {
            if cell.highest > nanos {
                self.record_n(cell.highest, cell.count);
            }
        });
    }

    fn for_each(&self, what: impl FnMut(Cell)) {
        match &self.state {
            State::Empty => {}
            State::Resting(resting) => resting.cells().for_each(what),
            State::Counting(counting) => counted_cells(counting).for_each(what),
        }
    }

    /// How many times were recorded.
    pub fn len(&self) -> u64 {
        match &self.state {
            State::Empty => 0,
            State::Resting(resting) => resting.len(),
            State::Counting(counting) => counting.len(),
        }
    }

    /// True when nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Mean in nanoseconds; 0 when empty.
    pub fn mean(&self) -> f64 {
        let Some(counting) = self.counting() else {
            let Some(resting) = self.resting() else { return 0.0 };
            let sum: f64 = resting.cells().map(|cell| cell.middle() as f64 * cell.count as f64).sum();
            return sum / resting.len().max(1) as f64;
        };
        // Only the values between the extremes; the library's own iterator walks up to them from zero.
        let mut value = counting.min();
        let mut sum = 0.0;
        let mut left = counting.len();
        while left > 0 {
            let count = counting.count_at(value);
            sum += counting.median_equivalent(value) as f64 * count as f64;
            left = left.saturating_sub(count);
            value = counting.next_non_equivalent(value);
        }
        sum / counting.len().max(1) as f64
    }

    /// Largest time in nanoseconds, to within 0.1 %; 0 when empty.
    pub fn max(&self) -> u64 {
        match &self.state {
            State::Empty => 0,
            State::Resting(resting) => resting.highest(),
            State::Counting(counting) => counting.max(),
        }
    }

    /// The time below which `quantile` (0..=1) of the recordings lie, in nanoseconds; 0 when empty.
    pub fn quantile(&self, quantile: f64) -> u64 {
        if let Some(counting) = self.counting() {
            return counting.value_at_quantile(quantile);
        }
        let Some(resting) = self.resting() else { return 0 };
        // Rounded up to whole recordings, and at least the first, as the library does.
        let wanted = ((quantile.min(1.0) * self.len() as f64).ceil() as u64).max(1);
        let mut below = 0;
        let found = resting.cells().find(|cell| {
            below += cell.count;
            below >= wanted
        });
        found.map_or(0, |cell| if quantile > 0.0 { cell.highest } else { cell.lowest })
    }

    /// The share of the recordings above `nanos`, 0..=1, to within the histogram's precision; 0 when empty.
    pub fn share_above(&self, nanos: u64) -> f64 {
        let mut above = 0;
        self.for_each(|cell| {
            if cell.middle() > nanos {
                above += cell.count;
            }
        });
        above as f64 / self.len().max(1) as f64
    }

    /// (nanoseconds, cumulative share) along the distribution, for percentile plots.
    pub fn percentiles(&self, ticks_per_half: u32) -> Vec<(u64, f64)> {
        let along = |counting: &hdrhistogram::Histogram<u64>| {
            counting.iter_quantiles(ticks_per_half).map(|v| (v.value_iterated_to(), v.quantile())).collect()
        };
        self.counting().map_or_else(|| along(&counted(self.resting())), along)
    }

    /// The standard HdrHistogram V2 encoding.
    pub fn to_v2(&self) -> Vec<u8> {
        match &self.state {
            State::Empty => EMPTY.clone(),
            State::Resting(resting) => resting.bytes().into_owned(),
            State::Counting(counting) => encoded(counting),
        }
    }

    /// As [`Self::from_v2`], but without the bytes, which `archive` has under `key`. Each use reads them again;
    /// [`fetched`](Self::fetched) serves several uses.
    pub fn archived_v2(
        bytes: &[u8],
        archive: &Arc<dyn HistogramArchive>,
        key: u64,
    ) -> Result<Self, HistogramError> {
        if *bytes == **EMPTY {
            return Ok(Self::new());
        }
        match Resting::archived(bytes, archive, key) {
            Some(resting) if resting.len() == 0 => Ok(Self::new()),
            Some(resting) => Ok(Self { state: State::Resting(Arc::new(resting)) }),
            // Other forms of the format are rare, and they are kept as the library decodes them.
            None => Self::from_v2(bytes),
        }
    }

    /// Reads [`Self::to_v2`]'s bytes.
    pub fn from_v2(bytes: &[u8]) -> Result<Self, HistogramError> {
        // The library decodes other forms and reports what is wrong with invalid bytes.
        if let Some(resting) = Resting::from_bytes(bytes) {
            let is_plain = resting.len() == 0 && *bytes == **EMPTY;
            let state = if is_plain { State::Empty } else { State::Resting(Arc::new(resting)) };
            return Ok(Self { state });
        }
        let mut histogram = Deserializer::new()
            .deserialize::<u64, _>(&mut std::io::Cursor::new(bytes))
            .map_err(|error| HistogramError(format!("{error:?}")))?;
        if histogram.sigfig() != 3 {
            return Err(HistogramError(format!("{} significant digits instead of 3", histogram.sigfig())));
        }
        histogram.auto(true);
        Ok(Self { state: State::Counting(Box::new(histogram)) })
    }
}

fn counted_cells(counting: &hdrhistogram::Histogram<u64>) -> impl Iterator<Item = Cell> {
    counting.iter_recorded().map(|recorded| {
        let highest = recorded.value_iterated_to();
        let lowest = counting.lowest_equivalent(highest);
        Cell { lowest, highest, count: recorded.count_at_value() }
    })
}

fn encoded(counting: &hdrhistogram::Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing to a Vec cannot fail.
    let _ = V2Serializer::new().serialize(counting, &mut bytes);
    bytes
}

/// The same histogram in the form that can record.
#[expect(clippy::expect_used, reason = "three digits and an hour are within the documented range")]
fn counted(resting: Option<&Resting>) -> hdrhistogram::Histogram<u64> {
    let highest = resting.map_or(0, Resting::highest);
    let mut counting = hdrhistogram::Histogram::new_with_max(highest.max(2), 3).expect("valid bounds");
    counting.auto(true);
    for cell in resting.into_iter().flat_map(Resting::cells) {
        // The array of counts reaches to the highest value.
        let _ = counting.record_n(cell.lowest, cell.count);
    }
    counting
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        let cells = |histogram: &Self| {
            let mut cells = Vec::new();
            histogram.for_each(|cell| cells.push(cell));
            cells
        };
        self.len() == other.len() && cells(self) == cells(other)
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
        let mut one = Histogram::new();
        let mut left = Histogram::new();
        let mut right = Histogram::new();
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
        assert!((histogram.mean() / histogram.count().mean() - 1.0).abs() < 1e-12, "the library's own");
    }

    #[test]
    fn only_what_is_longer_is_added() {
        let mut one = Histogram::new();
        let mut other = Histogram::new();
        one.record_n(2_000_000, 3);
        for nanos in [1_000, 2_000_000, 5_000_000, 5_000_000, 70_000_000] {
            other.record(nanos);
        }
        one.merge_above(&other, one.max());
        assert_eq!((one.len(), one.quantile(0.5) / 10_000, one.max() / 100_000), (6, 200, 700));
    }

    #[test]
    fn what_was_read_answers_as_what_was_recorded() {
        let mut random = crate::Random::new(1, 1);
        for size in [0u32, 1, 2, 7, 100, 5_000] {
            let mut recorded = Histogram::new();
            for _ in 0..size {
                let nanos = (20.0 * random.unit()).exp2() as u64 * (1 + random.below(1 << 12));
                recorded.record_n(nanos, 1 + random.below(3));
            }
            let read = Histogram::from_v2(&recorded.to_v2()).unwrap();
            assert!(read.counting().is_none());
            assert_eq!((&read, read.len(), read.max()), (&recorded, recorded.len(), recorded.max()));
            assert!((read.mean() - recorded.mean()).abs() <= 1e-12 * recorded.mean());
            assert_eq!((read.to_v2(), read.percentiles(5)), (recorded.to_v2(), recorded.percentiles(5)));
            for quantile in (0..=1_000).map(|n| f64::from(n) / 1_000.0) {
                assert_eq!(read.quantile(quantile), recorded.quantile(quantile), "{quantile} of {size}");
            }
            let sums = [(&read, &recorded), (&recorded, &read), (&read, &read)].map(|(one, other)| {
                let mut sum = one.clone();
                sum.merge(other);
                let mut above = Histogram::new();
                above.merge_above(other, other.quantile(0.5));
                (sum, above)
            });
            assert!(sums.windows(2).all(|two| two[0] == two[1]));
            let merged = Histogram::merged([&read, &Histogram::new(), &read, &read]);
            let mut counted = recorded.clone();
            (0..2).for_each(|_| counted.merge(&recorded));
            assert_eq!((&merged, merged.len(), merged.max()), (&counted, counted.len(), counted.max()));
            assert_eq!(merged.mean().to_bits(), counted.mean().to_bits());
            assert_eq!(Histogram::from_v2(&merged.to_v2()).unwrap(), counted);
            for quantile in (0..=1_000).map(|n| f64::from(n) / 1_000.0) {
                assert_eq!(merged.quantile(quantile), counted.quantile(quantile), "{quantile} of {size}");
            }
        }
    }

    /// Keeps one histogram under several keys, and counts the calls.
    #[derive(Debug)]
    struct Archive(Vec<u8>, std::sync::atomic::AtomicU32);

    impl HistogramArchive for Archive {
        fn read(&self, keys: &[u64]) -> Vec<Option<Vec<u8>>> {
            self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            keys.iter().map(|key| (*key < 8).then(|| self.0.clone())).collect()
        }
    }

    #[test]
    fn an_archived_histogram_answers_as_before_and_reads_its_bytes_again() {
        let mut recorded = Histogram::new();
        (1..500u64).for_each(|nanos| recorded.record(nanos * nanos));
        let bytes = recorded.to_v2();
        let archive = Arc::new(Archive(bytes.clone(), 0.into()));
        let kept: Arc<dyn HistogramArchive> = Arc::clone(&archive) as _;
        let reads = || archive.1.load(std::sync::atomic::Ordering::Relaxed);
        let of = |key: u64| Histogram::archived_v2(&bytes, &kept, key).unwrap();
        let read = of(7);
        assert_eq!((read.len(), read.max(), reads()), (recorded.len(), recorded.max(), 0));
        assert_eq!(
            (&read, read.quantile(0.9), read.to_v2()),
            (&recorded, recorded.quantile(0.9), bytes.clone())
        );
        let empty = Histogram::archived_v2(&Histogram::new().to_v2(), &kept, 7).unwrap();
        assert_eq!((empty.len(), empty.to_v2()), (0, Histogram::new().to_v2()));
        let lost = of(8);
        assert_eq!((lost.quantile(0.5), Histogram::fetched([&lost])[0].len()), (0, recorded.len()));
        let before = reads();
        let other: Arc<dyn HistogramArchive> = Arc::new(Archive(bytes.clone(), 0.into()));
        let elsewhere = Histogram::archived_v2(&bytes, &other, 2).unwrap();
        let fetched = Histogram::fetched([&read, &recorded, &elsewhere, &of(5), &empty]);
        assert_eq!(reads(), before + 1, "those of one archive are read in one call");
        assert_eq!(fetched[..4], [(); 4].map(|()| recorded.clone()));
        assert_eq!((fetched[4].len(), reads()), (0, before + 1), "what was fetched is not read again");
    }

    #[test]
    fn times_of_the_first_bucket_stay_as_they_are_stored() {
        // The header of such a histogram names a smaller time than it holds.
        let mut recorded = Histogram::new();
        (40..50).for_each(|nanos| recorded.record(nanos));
        let read = Histogram::from_v2(&recorded.to_v2()).unwrap();
        assert!(read.counting().is_none());
        assert_eq!((&read, read.max()), (&recorded, 49));
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
