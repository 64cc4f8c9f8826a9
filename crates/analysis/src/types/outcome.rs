//! What one system reached at one position, over all its repetitions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sharebench_model::{Absent, CLIENT_CACHED_FROM, ErrorClass, ReportedFigures, Sparse, Verdict};
use sharebench_stats::Estimate;

use crate::types::{Buffering, CacheShares, LoadOutcome, Percentile, ShareRange, WireTraffic};

/// Times at growing quantiles, in nanoseconds, for percentile plots: (quantile, time).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// ended - intended.
    pub response: Vec<(f64, u64)>,
    /// ended - started.
    pub service: Vec<(f64, u64)>,
    /// started - intended; empty when nothing started late.
    pub lag: Vec<(f64, u64)>,
    /// Quantile up to which the response times are resolved: too few lie beyond it to place it.
    #[serde(default)]
    pub resolved_to: f64,
}

/// Rates of written bytes until they were acknowledged, and until a flush had made them durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct FlushedRates {
    /// Median of written bytes per second until they were acknowledged; none where no flush was measured.
    pub acknowledged_per_s: Option<f64>,
    /// Median of written bytes per second until they were durable; none where no flush was measured.
    pub durable_per_s: Option<f64>,
}

/// Client CPU of an operation and of a byte, in nanoseconds; none where it was not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientCpuCost {
    /// In user mode per operation.
    #[serde(rename = "cpu_user_ns_per_operation")]
    pub user_ns_per_operation: Option<f64>,
    /// In the kernel per operation.
    #[serde(rename = "cpu_kernel_ns_per_operation")]
    pub kernel_ns_per_operation: Option<f64>,
    /// Per application byte; none when no bytes moved.
    #[serde(rename = "cpu_ns_per_byte")]
    pub ns_per_byte: Option<f64>,
    /// The part of it in user mode.
    #[serde(rename = "cpu_user_ns_per_byte")]
    pub user_ns_per_byte: Option<f64>,
    /// The part of it in the kernel.
    #[serde(rename = "cpu_kernel_ns_per_byte")]
    pub kernel_ns_per_byte: Option<f64>,
}

impl Absent for FlushedRates {
    fn absent() -> &'static Self {
        &Self { acknowledged_per_s: None, durable_per_s: None }
    }
}

impl Absent for ClientCpuCost {
    fn absent() -> &'static Self {
        &Self {
            user_ns_per_operation: None,
            kernel_ns_per_operation: None,
            ns_per_byte: None,
            user_ns_per_byte: None,
            kernel_ns_per_byte: None,
        }
    }
}

/// What one system yielded at one position. What most positions lack takes one word each: an analysis of 100,000
/// imported steps holds as many outcomes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Median rate over the repetitions, of load steps their Hodges-Lehmann estimate, in the section's unit per second, with its interval.
    pub rate: Estimate,
    /// Median of operations per second; none where an imported source does not count them.
    pub operations_per_s: Option<f64>,
    /// Median of transactions per second; none where an imported source does not count them.
    pub transactions_per_s: Option<f64>,
    /// Rates of written bytes; empty where no flush was measured.
    #[serde(flatten)]
    pub flushed: Sparse<FlushedRates>,
    /// Mean response time over all transactions (ART), nanoseconds; none where it is not known.
    pub response_mean_ns: Option<f64>,
    /// Median response time; none where only the mean is known, or nothing.
    pub p50: Sparse<Option<Percentile>>,
    /// 95th percentile of the response time.
    pub p95: Sparse<Option<Percentile>>,
    /// 99th percentile of the response time.
    pub p99: Sparse<Option<Percentile>>,
    /// Users the step was given.
    pub users_assigned: u32,
    /// Fewest users that reported in a repetition (MPS).
    pub users_reported: u32,
    /// Client CPU; empty where it was not counted.
    #[serde(flatten)]
    pub cpu: Sparse<ClientCpuCost>,
    /// Time that rates are divided by, mean of the repetitions, nanoseconds.
    pub measured_ns: f64,
    /// Which caches may take part.
    pub buffering: Buffering,
    /// Bytes on the wire against bytes of the application; none without a count.
    pub wire: Sparse<Option<WireTraffic>>,
    /// What one operation of a metadata test takes on the wire.
    #[serde(flatten)]
    pub per_operation: Sparse<WirePerOperation>,
    /// Where the bytes came from, or went to; none where nothing is known.
    #[serde(default)]
    pub cache_shares: Option<Box<CacheShares>>,
    /// Figures of an imported source that reports the rate itself; none where the rate was measured.
    #[serde(default)]
    pub reported: Option<Sparse<ReportedFigures>>,
    /// Operations of all repetitions, failed ones included.
    pub operations: u64,
    /// Application bytes of all repetitions.
    pub bytes: u64,
    /// Failures of all repetitions.
    pub errors: Sparse<BTreeMap<ErrorClass, u64>>,
    /// Worst verdict of the repetitions.
    pub verdict: Verdict,
    /// Results of the self-checks that did not pass, each once.
    pub remarks: Sparse<Vec<String>>,
    /// Percentile curves, where kept.
    pub curve: Option<Box<Curve>>,
    /// Details of a load; none for other steps.
    #[serde(default)]
    pub load: Option<Box<LoadOutcome>>,
}

/// What one operation of a metadata test takes on the wire. Most steps have none of it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct WirePerOperation {
    /// Requests; none for other steps, and without a count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_operation: Option<f64>,
    /// Bytes of a server-side test, headers included where they are counted; none for other steps, and without a count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_bytes_per_operation: Option<f64>,
}

impl Absent for WirePerOperation {
    fn absent() -> &'static Self {
        const { &Self { requests_per_operation: None, wire_bytes_per_operation: None } }
    }
}

impl Outcome {
    /// How many repetitions it rests on.
    pub fn repetitions(&self) -> usize {
        self.rate.n
    }

    /// Client CPU in both modes per operation, nanoseconds; none where it was not counted.
    pub fn cpu_ns_per_operation(&self) -> Option<f64> {
        Some(self.cpu.user_ns_per_operation? + self.cpu.kernel_ns_per_operation?)
    }

    /// True for a count of 0 where an imported source reports the rate: it did not state the count.
    pub fn is_unknown(&self, count: u64) -> bool {
        count == 0 && self.reported.is_some()
    }

    /// All failures.
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }

    /// True when the client's cache served it, so that its rate is what users feel but not the server's: by the count
    /// of bytes on the wire, or because its rate exceeds that of the link.
    pub fn is_client_cached(&self) -> bool {
        self.client_share().is_some_and(|share| share.low >= CLIENT_CACHED_FROM)
    }

    /// Share of the bytes that the client's cache served: exact where bytes on the wire were counted, a range where
    /// only the rate of the link shows that some did not cross it, none where nothing is known.
    pub fn client_share(&self) -> Option<ShareRange> {
        if let Some(wire) = *self.wire {
            return Some(ShareRange::exactly(wire.client_cache_share));
        }
        let known = |share: &ShareRange| share.low >= CLIENT_CACHED_FROM;
        self.cache_shares.as_ref().map(|shares| shares.client).filter(known)
    }
}
