//! A run over time: when each system was fast, slow or failing.

use serde::{Deserialize, Serialize};
use sharebench_model::Coordinates;

/// One system over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemTimeline {
    /// Index into [`Analysis::systems`](crate::types::Analysis::systems).
    pub system: usize,
    /// In the order of the clock.
    pub segments: Vec<TimelineSegment>,
}

/// Steps that followed each other on one system: one, or several where a run has many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimelineSegment {
    /// Start of the first, milliseconds since 1970 (UTC).
    pub from_unix_ms: u64,
    /// End of the last one's window.
    pub to_unix_ms: u64,
    /// How many.
    pub steps: usize,
    /// Lowest, middle and highest rate, each as a multiple of the median rate of its own cell; none where
    /// nothing was moved.
    pub relative: Option<(f64, f64, f64)>,
    /// Failed operations.
    pub errors: u64,
    /// Steps with a warning.
    pub warnings: usize,
    /// Steps that are left out.
    pub invalid: usize,
    /// Names of the checks that did not pass, each once.
    pub failed_checks: Vec<String>,
    /// Its position, if it is one step.
    pub coordinates: Option<Coordinates>,
}
