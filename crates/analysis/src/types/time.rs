//! What changed over time within a run: outages, stalls, throttling, alternating speeds, drift, and what left-out steps cost.

use serde::{Deserialize, Serialize};
use sharebench_model::Coordinates;
use sharebench_stats::Estimate;

/// Kind of a finding over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeFindingKind {
    /// Next to nothing was done for a time, once or at irregular times.
    Outage,
    /// Next to nothing was done for a time, in equal intervals.
    PeriodicStall,
    /// Two speeds in equal intervals.
    AlternatingSpeed,
    /// From an instant on, or for a time, the rate was lower: a burst limit, throttling, a warm-up.
    LevelChange,
    /// The rate changed gradually.
    Drift,
    /// Steps that no result includes.
    LeftOut,
}

/// What a finding over time may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeOrigin {
    /// The system or its connection: another system was measured meanwhile, and did not change.
    System,
    /// The network, or a machine that both use: another system changed at the same time.
    Shared,
    /// The measuring machine: its hiccup meter reported a stall.
    Machine,
    /// The server or the network: the hiccup meter of the measuring machine reported no stall, and no other system was
    /// measured meanwhile.
    ServerOrNetwork,
    /// Not known: no other system was measured meanwhile, and no hiccup meter ran.
    NotKnown,
}

/// A change of one system over the time of its run, with what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimeFinding {
    /// Index into [`Analysis::systems`](crate::types::Analysis::systems).
    pub system: usize,
    /// Kind.
    pub kind: TimeFindingKind,
    /// Start of the (first) slow part, in seconds since the start of the run.
    pub start_s: f64,
    /// The start is known to plus or minus this, in seconds.
    pub start_error_s: f64,
    /// Bytes that the system had moved before, in measured steps.
    pub start_bytes: f64,
    /// Length of the slow part in seconds, the mean of several; of a drift the whole time.
    pub length_s: f64,
    /// Seconds from the start of one slow part to that of the next; only of periodic kinds.
    pub period_s: Option<f64>,
    /// Number of slow parts; of steps that were left out, their number.
    pub occurrences: usize,
    /// True if the slow part lasts until the end of the run.
    pub is_open: bool,
    /// Rate in the slow part as a share of the rate otherwise; of a drift the rate at the end as a share of that at the
    /// start, above 1 where it rises.
    pub speed: f64,
    /// Measured time that it cost, as a share of the measured time of the system: its total work is less by this share.
    /// The value and interval are shares, 0 to 1; `n` counts samples.
    pub cost: Estimate,
    /// True for an outage in the time outside the measured windows of a step: no result includes it, and `cost` is its
    /// share of the time of all steps of the system.
    pub is_unmeasured: bool,
    /// Where it comes from.
    pub origin: TimeOrigin,
    /// The cell that was measured when it began; none of what begins between steps.
    pub coordinates: Option<Coordinates>,
    /// Total work of the system as a share of that of each compared one of its run, as measured and without this finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub total_work: Vec<TotalWorkEffect>,
    /// The finding in a sentence.
    pub text: String,
}

/// Effect of a finding over time on a comparison of total work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TotalWorkEffect {
    /// Index of the other system into [`Analysis::systems`](crate::types::Analysis::systems).
    pub other: usize,
    /// Time of the other system over time of this one, for the same work in every cell that both have.
    pub ratio: f64,
    /// The same without the time that the finding cost.
    pub ratio_without: f64,
}

/// What was found over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeFindings {
    /// By system, then by cost, the largest first.
    pub findings: Vec<TimeFinding>,
    /// Systems (indices) with 20 samples or more that are too few, or over too short a time, to look for more than outages.
    pub too_short: Vec<usize>,
}
