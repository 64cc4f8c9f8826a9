//! Measures: the results of a step, with the evidence that belongs to them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sparse::absent;
use crate::{
    ErrorClass, Evidence, Histogram, IoBytes, LoadDetail, RankShare, ServerEvidence, Sparse, TcpCounts,
    WireCount,
};

absent!(
    Evidence,
    LoadDetail,
    ServerEvidence,
    ReportedFigures,
    BTreeMap<ErrorClass, u64>,
    Vec<JobShare>,
    Vec<ResponseSampleSize>,
    Vec<RankShare>
);

/// The time by which the bytes of a measure are divided to get its throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateBase {
    /// Time with at least one operation in flight: cells, where filling and verifying buffers between
    /// operations is the generator's own work and not the target's.
    #[default]
    Busy,
    /// The whole window: user loads, where pauses belong to the load.
    Window,
    /// Nothing: an imported source reports the rate itself, in thousandths per second, of bytes or, where no
    /// bytes were transferred, of operations. The times are derived from it, rounded to nanoseconds.
    Reported {
        /// Thousandths per second.
        milli: u64,
    },
}

/// From this share of cached bytes on a cell is called served by the client's cache: below it, even a cache
/// of infinite speed makes less of a difference than the 2 % that reports call none.
pub const CLIENT_CACHED_FROM: f64 = 0.02;

/// CPU time of this process in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuTime {
    /// In user mode, nanoseconds.
    pub user_ns: u64,
    /// In the kernel, nanoseconds.
    pub kernel_ns: u64,
}

impl CpuTime {
    /// Both modes.
    pub fn total_ns(self) -> u64 {
        self.user_ns + self.kernel_ns
    }
}

/// The effective sample size of the response times at one of their quantiles: requests that queue after each
/// other are not independent (docs/measure/measurement-rules.md R5).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ResponseSampleSize {
    /// Which quantile, 0..1.
    pub quantile: f64,
    /// Number of independent times that would determine the quantile equally well.
    pub n: f64,
    /// Degrees of freedom of `n`.
    pub degrees_of_freedom: f64,
}

/// The contribution of one of several jobs to a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JobShare {
    /// Application bytes, both directions.
    pub bytes: u64,
    /// Operations completed, failed ones included.
    pub operations: u64,
    /// Number of complete passes over the file.
    pub passes: u64,
    /// Time from its first start to its last end, summed over the rounds of the cell.
    pub worked_ns: u64,
}

/// Figures that an imported source reports as one number each, without the times or counts that they come from.
///
/// A mean response time leaves the distribution unknown, so it is kept here and never recorded in a histogram, whose
/// percentiles would then repeat the mean. All fields are none for steps that this program measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReportedFigures {
    /// Mean response time (ART), nanoseconds.
    pub response_mean_ns: Option<u64>,
    /// Mean think time between the transactions of a user, nanoseconds; `Some(0)` where the source states that there is
    /// none.
    pub think_ns: Option<u64>,
    /// Bytes of one transaction, which converts a rate in bytes into one in transactions.
    pub transaction_bytes: Option<u64>,
}

/// The results of one step.
///
/// A measure holds counts and histograms, never rates: every rate, share and mean is computed from them on request, so
/// that measures of ranks and repetitions can be added without loss. Fields that a source does not report are `None` or
/// empty, never 0. What most steps lack takes one word each, because a run may have a million steps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Length of the measured window.
    pub window_ns: u64,
    /// Part of the window with at least one operation in flight.
    pub busy_ns: u64,
    /// Which of the two divides the bytes.
    pub rate_base: RateBase,
    /// Operations completed: of a load those that succeeded, of other steps failed ones too.
    pub operations: u64,
    /// Transactions completed; equals `operations` where each is one operation.
    pub transactions: u64,
    /// Bytes as the application sees them.
    pub bytes: IoBytes,
    /// Bytes whose content was checked and right.
    pub verified: u64,
    /// Wire counts, by the adapter or (for mounts, see the target's fact `wire_counter`) by
    /// the operating system; none for local paths.
    pub wire: Sparse<Option<WireCount>>,
    /// Failures by class.
    pub errors: Sparse<BTreeMap<ErrorClass, u64>>,
    /// Complete passes over a file, for steps that make passes: a small cell repeats its pass N times.
    pub passes: u64,
    /// Virtual users (of a load) or jobs (of a sweep) assigned to the step.
    pub users_assigned: u32,
    /// Users or jobs that completed at least one transaction in the window (MPS in the 1997 test).
    pub users_reported: u32,
    /// The contribution of each job, in throughput mode.
    pub shares: Sparse<Vec<JobShare>>,
    /// Operations or transactions still in flight when the window ended.
    pub censored: u64,
    /// ended - intended per transaction.
    pub response: Histogram,
    /// Effective sample sizes of the response times at the usual quantiles; empty where they were not computed.
    pub response_sample_size: Sparse<Vec<ResponseSampleSize>>,
    /// ended - started per transaction.
    pub service: Histogram,
    /// started - intended per transaction.
    pub lag: Histogram,
    /// Figures of an imported source that no histogram or count can hold.
    #[serde(default)]
    pub reported: Sparse<ReportedFigures>,
    /// CPU time of the measuring process within the window.
    pub client_cpu: CpuTime,
    /// Evidence about caches and durability.
    pub evidence: Sparse<Evidence>,
    /// The results of a load step in detail; empty for other steps.
    #[serde(default)]
    pub load: Sparse<LoadDetail>,
    /// The contribution of each rank, where several load machines measured together.
    #[serde(default)]
    pub ranks: Sparse<Vec<RankShare>>,
    /// Evidence about the server's cache and storage; empty without cache probes.
    #[serde(default)]
    pub server: Sparse<ServerEvidence>,
    /// What the kernel knows of the TCP connections of the step; none for other targets, loads and simulated distances.
    #[serde(default)]
    pub tcp: Sparse<Option<TcpCounts>>,
}

impl Measure {
    /// The time that rates are divided by.
    pub fn base_ns(&self) -> u64 {
        match self.rate_base {
            RateBase::Busy | RateBase::Reported { .. } => self.busy_ns,
            RateBase::Window => self.window_ns,
        }
    }

    /// The rate that an imported source reports, per second.
    fn reported_rate(&self) -> Option<f64> {
        match self.rate_base {
            RateBase::Reported { milli } => Some(milli as f64 / 1e3),
            RateBase::Busy | RateBase::Window => None,
        }
    }

    /// Application bytes per second; none when no time was measured.
    pub fn throughput(&self) -> Option<f64> {
        if let (Some(reported), 1..) = (self.reported_rate(), self.bytes.total()) {
            return Some(reported);
        }
        per_second(self.bytes.total(), self.base_ns())
    }

    /// True for a rate that an imported source reports: only what the source states is known of the step.
    pub fn is_reported(&self) -> bool {
        matches!(self.rate_base, RateBase::Reported { .. })
    }

    /// Operations per second; none where an imported source does not count them.
    pub fn operation_rate(&self) -> Option<f64> {
        match (self.reported_rate(), self.bytes.total()) {
            (Some(_), _) if self.operations == 0 => return None,
            (Some(reported), 0) => return Some(reported),
            (Some(reported), bytes) => return Some(reported / bytes as f64 * self.operations as f64),
            (None, _) => {}
        }
        per_second(self.operations, self.base_ns())
    }

    /// Transactions per second; none where an imported source does not count them.
    pub fn transaction_rate(&self) -> Option<f64> {
        match (self.reported_rate(), self.reported.transaction_bytes) {
            (Some(reported), Some(size)) if size > 0 && self.bytes.total() > 0 => {
                Some(reported / size as f64)
            }
            (Some(_), _) if self.transactions == 0 => None,
            (Some(_), _) if self.transactions == self.operations => self.operation_rate(),
            _ => per_second(self.transactions, self.base_ns()),
        }
    }

    /// Mean response time in nanoseconds: of the recorded times, or as an imported source reports it.
    pub fn mean_response_ns(&self) -> Option<f64> {
        let recorded = (!self.response.is_empty()).then(|| self.response.mean());
        recorded.or(self.reported.response_mean_ns.map(|nanos| nanos as f64))
    }

    /// Part of the busy time that operations took: flushes and closes that count as busy are left out.
    pub fn operations_ns(&self) -> u64 {
        self.busy_ns.saturating_sub(self.evidence.flush_ns + self.evidence.close_ns)
    }

    /// Written bytes per second until the last of them was acknowledged; none where flushes were not
    /// measured, so that [`Self::throughput`] says the same.
    pub fn acknowledged(&self) -> Option<f64> {
        self.flushed().and_then(|written| per_second(written, self.operations_ns()))
    }

    /// Written bytes per second until they were durable, the flush included; none where it was not measured.
    pub fn durable(&self) -> Option<f64> {
        let spent = self.busy_ns.saturating_sub(self.evidence.close_ns);
        self.flushed().and_then(|written| per_second(written, spent))
    }

    fn flushed(&self) -> Option<u64> {
        (self.evidence.flushes > 0 && self.bytes.written > 0).then_some(self.bytes.written)
    }

    /// Share of the application's bytes that did not cross the wire: the client's cache served or kept them
    /// (`max(0, 1 - W/B)` in each direction). None without transfers or without wire counts.
    pub fn client_cache_share(&self) -> Option<f64> {
        let application = self.bytes.total();
        (application > 0).then_some(())?;
        Some((*self.wire)?.uncrossed(self.bytes) as f64 / application as f64)
    }

    /// File bytes on the wire per application byte (W/B): above 1 the client read or wrote more than the
    /// application requested. None without transfers or without wire counts.
    pub fn wire_amplification(&self) -> Option<f64> {
        let application = self.bytes.total();
        (application > 0).then_some(())?;
        Some((*self.wire)?.payload() as f64 / application as f64)
    }

    /// Operations that were attempted. Those of a load are counted where they succeed, those of other steps in any case.
    pub fn attempted(&self) -> u64 {
        let failed = self.error_count();
        if self.load.is_empty() { self.operations.max(failed) } else { self.operations + failed }
    }

    /// All failures.
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }
}

fn per_second(count: u64, nanos: u64) -> Option<f64> {
    (nanos > 0).then(|| count as f64 * 1e9 / nanos as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_without_details_is_small() {
        // A run of 100,000 imported steps holds as many of them, and a report of it at most 1 KB per step.
        assert!(size_of::<Measure>() <= 240, "{} bytes", size_of::<Measure>());
        assert!(size_of::<crate::StepResult>() <= 280, "{} bytes", size_of::<crate::StepResult>());
    }

    #[test]
    fn a_measured_flush_separates_acknowledged_from_durable_writes() {
        let bytes = IoBytes { read: 0, written: 1_000_000 };
        let evidence = Evidence { flushes: 2, flush_ns: 500, close_ns: 250, ..Evidence::default() };
        let measure = Measure { busy_ns: 1000, bytes, evidence: evidence.into(), ..Measure::default() };
        assert_eq!(measure.operations_ns(), 250);
        assert_eq!(measure.acknowledged(), Some(4e12));
        assert_eq!(measure.durable(), Some(1e15 / 750.0));
        let plain = Measure { evidence: Sparse::default(), ..measure };
        assert_eq!((plain.acknowledged(), plain.durable()), (None, None));
    }

    fn measure(read: u64, written: u64, received: u64, sent: u64) -> Measure {
        let wire = WireCount { payload_received: received, payload_sent: sent, ..WireCount::default() };
        Measure { bytes: IoBytes { read, written }, wire: Some(wire).into(), ..Measure::default() }
    }

    #[test]
    fn what_did_not_cross_the_wire_came_from_the_client() {
        let share = |measure: Measure| measure.client_cache_share();
        assert_eq!(share(measure(1000, 0, 250, 0)), Some(0.75));
        assert_eq!(share(measure(0, 1000, 0, 1000)), Some(0.0));
        // Read-ahead in one direction does not pay for what the other kept.
        assert_eq!(share(measure(500, 500, 5000, 0)), Some(0.5));
        assert_eq!(measure(1000, 0, 1250, 0).wire_amplification(), Some(1.25));
        assert_eq!(share(measure(0, 0, 0, 0)), None);
        assert_eq!(share(Measure { wire: None.into(), ..measure(1, 1, 1, 1) }), None);
    }

    #[test]
    fn a_reported_rate_in_bytes_has_transactions_only_where_their_size_is_known() {
        let mut measure = Measure {
            rate_base: RateBase::Reported { milli: 841_000_000 },
            bytes: IoBytes { read: 0, written: 841_000 },
            busy_ns: 1_000_000_000,
            ..Measure::default()
        };
        assert_eq!((measure.operation_rate(), measure.transaction_rate()), (None, None));
        measure.reported.transaction_bytes = Some(2_000_000);
        assert_eq!(measure.transaction_rate(), Some(0.4205));
        assert_eq!(measure.mean_response_ns(), None);
        measure.reported.response_mean_ns = Some(132);
        assert_eq!(measure.mean_response_ns(), Some(132.0));
    }

    #[test]
    fn failed_operations_of_a_load_are_not_among_those_that_it_counts() {
        let of = |operations, failed, load: LoadDetail| {
            let errors = BTreeMap::from([(ErrorClass::Timeout, failed)]).into();
            Measure { operations, errors, load: load.into(), ..Measure::default() }.attempted()
        };
        let load = || LoadDetail { transactions: vec![crate::Part::named("copy")], ..LoadDetail::default() };
        assert_eq!(of(0, 10, load()), 10);
        assert_eq!(of(90, 10, load()), 100);
        assert_eq!(of(90, 10, LoadDetail::default()), 90);
        assert_eq!(of(0, 10, LoadDetail::default()), 10);
    }

    #[test]
    fn a_counter_that_decreased_gives_no_count() {
        let more = measure(0, 0, 9, 9).wire.unwrap_or_default();
        let less = measure(0, 0, 4, 9).wire.unwrap_or_default();
        assert_eq!(more.checked_since(less).map(WireCount::payload), Some(5));
        assert_eq!(less.checked_since(more), None);
    }
}
