//! The operations that are timed, and their samples.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use sharebench_stats::{Estimate, bootstrap_intervals, median};

/// Confidence level of every interval of a diagnosis.
pub(crate) const LEVEL: f64 = 0.95;
/// Resamples of each bootstrap.
pub(crate) const RESAMPLES: usize = 400;
/// Seed of each bootstrap, so that the same samples have the same intervals.
pub(crate) const SEED: u64 = 23;

/// Small reads of [`Operation::Burst`], where the session has as many slots.
pub(crate) const BURST: u32 = 8;
/// Bytes of a small operation.
pub(crate) const SMALL_BYTES: u32 = 4 << 10;
/// Bytes of a large operation.
pub(crate) const LARGE_BYTES: u32 = 1 << 20;

/// A timed operation. One is in flight at a time, except for those of [`Operation::Burst`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// The empty request of the protocol.
    Empty,
    /// Read of 4 KiB that this session has not read before.
    SmallRead,
    /// The same read once more.
    SmallReadAgain,
    /// Read of 1 MiB that this session has not read before, in as few requests as the server permits, one after another.
    LargeRead,
    /// The same read once more.
    LargeReadAgain,
    /// Read of 4 KiB that follows the one before it in a file of its own, which this session has not read before.
    NextRead,
    /// Several small reads in flight together, of data that was read before.
    Burst,
    /// Write of 4 KiB that may stay in the server's cache.
    UnstableWrite,
    /// Write of 4 KiB to stable storage.
    StableWrite,
    /// Opening a file.
    Open,
    /// Creating an empty file.
    Create,
    /// Opening a name that does not exist, in a directory with few entries.
    MissingName,
    /// Opening a name that does not exist, in the listed directory.
    MissingInLarge,
    /// Opening a file, reading its 4 KiB, and closing it.
    OpenReadClose,
    /// Listing of a directory.
    Listing,
}

impl Operation {
    /// The operations whose time a diagnosis divides into parts.
    pub const TYPICAL: [Self; 5] =
        [Self::SmallRead, Self::LargeRead, Self::StableWrite, Self::OpenReadClose, Self::Listing];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty request",
            Self::SmallRead => "4 KiB read",
            Self::SmallReadAgain => "4 KiB read again",
            Self::LargeRead => "1 MiB read",
            Self::LargeReadAgain => "1 MiB read again",
            Self::NextRead => "next 4 KiB read",
            Self::Burst => "reads in flight together",
            Self::UnstableWrite => "4 KiB write",
            Self::StableWrite => "4 KiB sync write",
            Self::Open => "open",
            Self::Create => "create",
            Self::MissingName => "open of no file",
            Self::MissingInLarge => "open of no file among many",
            Self::OpenReadClose => "open, read, close",
            Self::Listing => "listing",
        }
    }
}

impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// One execution of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// Time from the first request to the last reply, nanoseconds.
    pub elapsed_ns: f64,
    /// CPU time of the client's thread in it, user and kernel, nanoseconds.
    pub cpu_ns: f64,
    /// Time in it for which the client's thread was ready and had no CPU, nanoseconds.
    pub starved_ns: f64,
    /// Time in it for which the reply was at this machine and not yet seen by the client, nanoseconds; 0 where the kernel does
    /// not report when data arrived.
    pub unseen_ns: f64,
    /// Requests on the wire; system calls of a local path.
    pub requests: u32,
}

impl Sample {
    /// Time for which the client waited: for a CPU, or at least so long that the reply was there and the client neither saw it
    /// nor used its CPU, nanoseconds.
    pub fn waiting_ns(&self) -> f64 {
        self.starved_ns.max(self.unseen_ns - self.cpu_ns)
    }
}

/// The samples of all operations, in the order of measuring.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series(BTreeMap<Operation, Vec<Sample>>);

impl Series {
    /// Adds a sample.
    pub fn add(&mut self, operation: Operation, sample: Sample) {
        self.0.entry(operation).or_default().push(sample);
    }

    /// The samples of an operation; none if it was not measured.
    pub fn samples(&self, operation: Operation) -> &[Sample] {
        self.0.get(&operation).map_or(&[], |samples| samples)
    }

    /// One figure of each sample of an operation.
    pub fn figures(&self, operation: Operation, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples(operation).iter().map(figure).collect()
    }

    /// Times of an operation, nanoseconds.
    pub fn elapsed(&self, operation: Operation) -> Vec<f64> {
        self.figures(operation, |sample| sample.elapsed_ns)
    }

    /// Median time of an operation, nanoseconds; none if it was not measured.
    pub fn typical_ns(&self, operation: Operation) -> Option<f64> {
        median(&mut self.elapsed(operation))
    }

    /// A quantile of the times of an operation without what the client waited for its CPU, nanoseconds; none without samples.
    pub fn quantile_ns(&self, operation: Operation, share: f64) -> Option<f64> {
        let mut times = self.figures(operation, |sample| sample.elapsed_ns - sample.waiting_ns().max(0.0));
        times.sort_by(f64::total_cmp);
        let index = (share * times.len().checked_sub(1)? as f64).round() as usize;
        times.get(index).copied()
    }

    /// Median number of requests of an operation; 0 if it was not measured.
    pub fn requests(&self, operation: Operation) -> f64 {
        median(&mut self.figures(operation, |sample| f64::from(sample.requests))).unwrap_or(0.0)
    }

    /// Median time of `one` minus `times` the median time of `other`, nanoseconds, with its interval. None if one of them
    /// was not measured.
    pub fn difference(&self, one: Operation, times: f64, other: Operation) -> Option<Estimate> {
        let statistic = |drawn: &mut [Vec<f64>]| {
            let [a, b] = [0, 1].map(|index| median(&mut drawn[index]).unwrap_or(f64::NAN));
            [a - times * b]
        };
        let samples = [self.elapsed(one), self.elapsed(other)];
        let [value] = statistic(&mut samples.clone());
        let intervals = bootstrap_intervals(&[&samples[0], &samples[1]], LEVEL, RESAMPLES, SEED, statistic);
        let n = samples[0].len().min(samples[1].len());
        value.is_finite().then_some(Estimate { value, interval: intervals.map(|[interval]| interval), n })
    }

    /// The operations that were measured, each with its median time in nanoseconds and the number of samples.
    pub fn medians(&self) -> impl Iterator<Item = (Operation, f64, usize)> + '_ {
        let all = self.0.iter();
        all.filter_map(|(operation, samples)| Some((*operation, self.typical_ns(*operation)?, samples.len())))
    }

    /// Mean time of an operation in which the client was ready and had no CPU, nanoseconds.
    pub fn starved_ns(&self, operation: Operation) -> f64 {
        let samples = self.samples(operation);
        samples.iter().map(|sample| sample.starved_ns).sum::<f64>() / samples.len().max(1) as f64
    }

    /// Shares of the client's thread of the time of an operation: with a CPU, and waiting for one.
    pub fn client_shares(&self, operation: Operation) -> (f64, f64) {
        let sum = |figure: fn(&Sample) -> f64| self.samples(operation).iter().map(figure).sum::<f64>();
        let elapsed = sum(|sample| sample.elapsed_ns);
        if elapsed > 0.0 {
            (sum(|sample| sample.cpu_ns) / elapsed, sum(|sample| sample.starved_ns) / elapsed)
        } else {
            (0.0, 0.0)
        }
    }
}
