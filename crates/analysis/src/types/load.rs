//! Loads: response times by kind of transaction, stress points, forecasts and objectives.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sharebench_model::{ErrorClass, Fairness, ObjectiveReport, ServerLoad};
use sharebench_stats::Estimate;

/// One kind of transaction or operation of one system at one position, over all repetitions; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartOutcome {
    /// Such as `text-to-server`, or `open`.
    pub name: String,
    /// Number of successes.
    pub count: u64,
    /// How many of them per second.
    pub per_s: f64,
    /// Application bytes they moved.
    pub bytes: u64,
    /// Those that missed their deadline.
    pub missed: u64,
    /// How many failed, by class.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Mean response time; of operations, mean service time.
    pub mean_ns: f64,
    /// Response times at 50, 95 and 99 %; nothing for operations.
    pub response_ns: [u64; 3],
    /// Service times at 50, 95 and 99 %.
    pub service_ns: [u64; 3],
    /// Lag at 99 %; nothing for operations.
    pub lag_ns: u64,
}

/// A load of one system at one position, by kind of transaction and operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadOutcome {
    /// By kind of transaction.
    pub transactions: Vec<PartOutcome>,
    /// By kind of operation; those that happened.
    pub operations: Vec<PartOutcome>,
    /// Fairness among users.
    pub fairness: Fairness,
    /// Sessions lost.
    pub sessions_lost: u64,
    /// Time users were without a session, summed, nanoseconds.
    pub without_session_ns: u64,
    /// Mean of the pauses asked for, nanoseconds.
    pub think_ns: u64,
    /// The objective: kept if every repetition keeps it.
    pub objective: Option<ObjectiveReport>,
    /// How many repetitions keep the objective; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective_kept: Option<usize>,
    /// Whether the system sustains these users, in the unit of the workload; none where it states no unit.
    #[serde(default)]
    pub unit: Option<UnitOutcome>,
    /// The server during the last window in which somebody measured it.
    #[serde(default)]
    pub server: Option<ServerLoad>,
    /// How far the number of transactions supports the rate; none where transactions are not counted.
    #[serde(default)]
    pub support: Option<LoadSupport>,
    /// Calls and operations per transaction, where a call may carry several operations (NFSv4).
    #[serde(default)]
    pub calls: Option<CallsPerTransaction>,
}

/// Which share the objective of a unit limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitShare {
    /// Transactions that were late, failed or never completed, of those that have a deadline.
    Missed,
    /// Completed transactions, of those that the pace requests.
    Pace,
    /// Time that users spend on what their pauses stand for, of the window.
    Busy,
}

/// Whether a system sustains the users of a load step, in the unit in which they think.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnitOutcome {
    /// What one user is, in the singular, such as `stream`.
    pub name: String,
    /// What one of its transactions is, in the singular, such as `frame`.
    pub transaction: String,
    /// The objective as plans write it, such as `missed<=1%`.
    pub objective: String,
    /// What the objective limits.
    pub kind: UnitShare,
    /// The share of the data set that was laid out, such as `1%`; none for all of it.
    pub scale: Option<String>,
    /// Units of the step: its users.
    pub number: u64,
    /// Transactions that the share is of, or that were completed.
    pub transactions: u64,
    /// The measured share; none where nothing was due.
    pub share: Option<Estimate>,
    /// True if the objective is met; none where the data support no verdict.
    pub sustained: Option<bool>,
    /// Why there is no verdict.
    pub refused: Option<String>,
}

/// Requests of a load, and what they contain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CallsPerTransaction {
    /// Calls on the wire per transaction.
    pub calls: f64,
    /// Operations of the protocol in them per transaction.
    pub operations: f64,
}

/// How far the number of transactions of a load step supports conclusions from its rate.
///
/// The number that is needed follows from the scatter of the rate within the window: the interval narrows with the square
/// root of the number of transactions. Below it there is no ratio, no stress point and no forecast, because all of them
/// would mostly be chance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadSupport {
    /// Transactions completed in all repetitions.
    pub transactions: u64,
    /// Transactions that a conclusion needs.
    pub needed: u64,
    /// Length of one window, nanoseconds.
    pub window_ns: u64,
    /// Half-width of the 95 % interval of the rate, as a share of it; none where the scatter is not known.
    pub half_width: Option<f64>,
}

impl LoadSupport {
    /// True if the step completed enough transactions for a conclusion.
    pub fn is_enough(&self) -> bool {
        self.transactions >= self.needed
    }
}

/// Why the rates of two systems at one load are not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateLimit {
    /// One of them completed too few transactions.
    TooFew,
    /// The think time determines both rates.
    ThinkTime,
}

/// How far the load of one system can be predicted (docs/measure/measurement-rules.md R7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityReport {
    /// Index into [`crate::Analysis::systems`].
    pub system: usize,
    /// Largest number of users measured.
    pub tried: u64,
    /// The model that predicted the last steps best from the others: `hinge`, `queue` or `scalability law`; none where
    /// there are too few steps to choose.
    pub model: Option<String>,
    /// Users from which additional users only wait, or get less, by that model; none if it has no knee, or without a forecast.
    pub knee: Option<f64>,
    /// Users and the rate that is predicted for them.
    pub forecast: Option<(f64, Estimate)>,
    /// True where the rates are transactions per second; false where the source does not count transactions, so that
    /// they are in the section's unit.
    pub in_transactions: bool,
    /// Why there is no forecast.
    pub rejected: Option<String>,
    /// The scalability law, fitted to the rates that an imported table reports; none for measured loads.
    #[serde(default)]
    pub scalability: Option<Scalability>,
    /// Why there is no scalability law for an imported table.
    #[serde(default)]
    pub scalability_rejected: Option<String>,
}

/// The universal scalability law X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1)), fitted with absolute errors as
/// R's package `usl` does, so that published fits can be compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scalability {
    /// Contention: the share of the work that is serialised.
    pub alpha: f64,
    /// Coherency: the cost of every user for every other.
    pub beta: f64,
    /// Rate of one user.
    pub gamma: f64,
    /// Standard errors of alpha, beta and gamma; none where a parameter is at its bound of 0, or where there are no more
    /// points than parameters.
    pub errors: [Option<f64>; 3],
    /// Users and rate of the peak; none where the law never falls, or where another curve predicts better.
    pub peak: Option<(f64, f64)>,
    /// The simpler curve that predicts each step better from the others, in words; none if the law predicts best.
    #[serde(default)]
    pub better_curve: Option<String>,
}

/// The load above which throughput of one system falls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StressPoint {
    /// Index into [`crate::Analysis::systems`].
    pub system: usize,
    /// Users of the highest step before the first decline; none without a decline.
    pub after: Option<u64>,
    /// Decline between these two steps, as a share.
    pub decline: f64,
    /// Users of the step that declines; none without a decline.
    #[serde(default)]
    pub at: Option<u64>,
    /// Without a decline the largest one that the rates leave possible, as a share.
    #[serde(default)]
    pub unnoticed: f64,
    /// Users of the step with the highest rate, and that rate.
    pub peak: (u64, f64),
    /// Largest number of users measured.
    pub tried: u64,
}

/// Lines of one system in a section of users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadLines {
    /// Index into [`crate::Analysis::systems`].
    pub system: usize,
    /// Rate per user as long as none waits for another, in the section's unit: the interactive law `N/(R + Z)`
    /// with the response time of the smallest load. This is the upper bound per user.
    pub unhindered_per_user: Option<f64>,
    /// Users, and the rate that is predicted for them, in the section's unit.
    pub forecast: Option<(f64, Estimate)>,
}

/// A response time that an objective promises.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ResponseLimit {
    /// Which quantile, 0..1; none for the mean.
    pub quantile: Option<f64>,
    /// Less than this, nanoseconds.
    pub ns: f64,
}
