//! The verdict of a gate: a run compared with the good runs of its plan before it.

use serde::{Deserialize, Serialize};
use sharebench_stats::Estimate;

/// What a gate decides about a run, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateOutcome {
    /// No fall is proven, or any fall is smaller than the limit. The run is a good one.
    Passed,
    /// The run cannot show a fall of the limit.
    Inconclusive,
    /// A fall is proven, and one of the limit is not ruled out.
    Slower,
    /// The run cannot be compared.
    Invalid,
}

impl GateOutcome {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Inconclusive => "inconclusive",
            Self::Slower => "slower",
            Self::Invalid => "invalid",
        }
    }
}

/// What a gate requires of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateOptions {
    /// The fall, as a share, that must be found.
    pub max_slower: f64,
    /// Level of the intervals.
    pub level: f64,
}

impl Default for GateOptions {
    fn default() -> Self {
        Self { max_slower: 0.05, level: 0.95 }
    }
}

/// One test of one target, or all of them together, in the runs of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateLine {
    /// Name of the target.
    pub target: String,
    /// Test or workload.
    pub test: String,
    /// Passed or slower.
    pub outcome: GateOutcome,
    /// Rate of the latest runs over that of the good runs before them.
    pub ratio: Estimate,
    /// Good runs before, and latest runs with the one that is judged.
    pub runs: (usize, usize),
    /// Scatter between runs, as a share of the rate.
    pub scatter: f64,
    /// The ratio in percent with its interval, such as `-0.4 % [-2.0 %, +1.2 %]`.
    pub change: String,
}

impl GateLine {
    /// The target of the line over all tests of all targets.
    pub const ALL: &str = "all";
}

/// The verdict of a gate on one run.
///
/// [`gate()`](crate::gate()) computes it once, from the good runs and the run that is judged; every output of the command
/// shows it, and the exit code follows from it. Its rule, with the reasons, is in docs/gate.md.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateVerdict {
    /// What it is.
    pub outcome: GateOutcome,
    /// The limit, as a share.
    pub max_slower: f64,
    /// Number of good runs that the run was compared with; 0 for the first run.
    pub good_runs: usize,
    /// Each test of each target, the largest fall first.
    pub lines: Vec<GateLine>,
    /// What else lowers the outcome, in words: slower regions, gradual falls, why it is inconclusive.
    pub findings: Vec<String>,
    /// The verdict as one line.
    pub text: String,
}

impl GateVerdict {
    /// The verdict on a run that cannot be compared.
    pub fn invalid(max_slower: f64, good_runs: usize, why: impl Into<String>) -> Self {
        let why = why.into();
        let text = format!("invalid: {why}");
        Self {
            outcome: GateOutcome::Invalid,
            max_slower,
            good_runs,
            lines: Vec::new(),
            findings: Vec::new(),
            text,
        }
    }

    /// The same verdict; a run that would have passed is inconclusive if there are reasons for it.
    #[must_use]
    pub fn open_for(mut self, reasons: Vec<String>) -> Self {
        if self.outcome == GateOutcome::Passed
            && let Some(first) = reasons.first()
        {
            self.outcome = GateOutcome::Inconclusive;
            self.text = format!("inconclusive: {first}");
        }
        self.findings.extend(reasons);
        self
    }
}
