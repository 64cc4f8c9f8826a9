//! A pattern over time, and when it is reported.

use crate::Estimate;

/// Periods that differ by at most this share are the same.
pub(super) const SAME_PERIOD: f64 = 0.03;

/// Kind of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimePatternKind {
    /// Next to nothing was done for a time, once or at irregular times.
    Outage,
    /// Next to nothing was done for a time, in equal intervals.
    PeriodicStall,
    /// Two speeds in equal intervals.
    AlternatingSpeed,
    /// From an instant on, or for a time, the rate was lower.
    LevelChange,
    /// The rate changed gradually.
    Drift,
}

/// A pattern in the samples of one system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimePattern {
    /// Kind.
    pub kind: TimePatternKind,
    /// Start of the (first) slow part, in seconds as in [`TimedSample::start_s`].
    pub start_s: f64,
    /// The start is known to plus or minus this, in seconds.
    pub start_error_s: f64,
    /// Bytes that the system had moved before.
    pub start_bytes: f64,
    /// Length of the slow part in seconds, the mean of several; of a drift the whole time.
    pub length_s: f64,
    /// Time in seconds from the start of one slow part to that of the next; only of periodic patterns.
    pub period_s: Option<f64>,
    /// Number of slow parts.
    pub occurrences: usize,
    /// True if the slow part lasts until the last sample.
    pub is_open: bool,
    /// Rate in the slow part as a share of the rate otherwise; of a drift the rate at the end as a share of that at the
    /// start, above 1 where it rises.
    pub speed: f64,
    /// Time that the pattern cost, as a share of the busy time of all samples; `n` counts samples.
    pub cost: Estimate,
}

/// When a pattern is reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeOptions {
    /// Largest probability of any pattern in samples without one.
    pub error: f64,
    /// Level of the intervals.
    pub level: f64,
    /// Smallest cost. Outages of a second and more are reported at any cost.
    pub least_cost: f64,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimePatterns {
    /// In the order of their cost, the largest first.
    pub patterns: Vec<TimePattern>,
    /// Time in seconds from the first sample to the last.
    pub span_s: f64,
    /// True if the samples are too few, or their time too short, for anything but outages.
    pub is_too_short: bool,
}
