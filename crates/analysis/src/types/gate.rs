//! The verdict of a gate: a run compared with the good runs of its plan before it.

use serde::{Deserialize, Serialize};
use sharebench_stats::{Estimate, Interval};

use crate::types::SeriesLine;

/// What a gate decides about a run, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateOutcome {
    /// No fall is proven, or any fall is smaller than the limit. The run is a good one.
    Passed,
    /// The run cannot show a fall of the limit. It counts for later ones.
    Inconclusive,
    /// A fall is proven, and one of the limit is not ruled out. The run does not count for later ones.
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

    /// True if later runs are compared with such a run.
    pub fn counts(self) -> bool {
        matches!(self, Self::Passed | Self::Inconclusive)
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

impl GateOptions {
    /// The scatter between runs that a limit is made for, as a share of the limit: with two fifths the bars of docs/measure/gate.md
    /// hold.
    const SCATTER: f64 = 0.4;
    /// The largest scatter that is expected before the runs show theirs. Without it a limit of 70 % would expect runs that
    /// scatter by half, and one good run could not prove a fall of 95 %.
    const MAX_EXPECTED: f64 = 0.2;
    /// Beyond this many times that scatter a run is too noisy for the limit.
    const TOO_NOISY: f64 = 1.5;

    /// The smallest limit, as a share, for runs that scatter by this standard deviation (of logarithms).
    pub fn limit_for(scatter: f64) -> f64 {
        -(-scatter / Self::SCATTER).exp_m1()
    }

    /// The logarithm of the ratio at the limit.
    pub(crate) fn edge(&self) -> f64 {
        (-self.max_slower).ln_1p()
    }

    /// The scatter that the limit is made for, a standard deviation of logarithms.
    fn scatter(&self) -> f64 {
        -Self::SCATTER * self.edge()
    }

    /// The scatter that is expected before the runs show theirs.
    pub(crate) fn expected_scatter(&self) -> f64 {
        self.scatter().min(Self::MAX_EXPECTED)
    }

    /// The largest one that the limit allows.
    pub(crate) fn largest_scatter(&self) -> f64 {
        Self::TOO_NOISY * self.scatter()
    }
}

/// One test of one target, or all of them together, in the runs of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateLine {
    /// Name of the target.
    pub target: String,
    /// Test or workload.
    pub test: String,
    /// Passed, inconclusive or slower.
    pub outcome: GateOutcome,
    /// Rate of the latest runs over that of the good runs before them.
    pub ratio: Estimate,
    /// Good runs before, and latest runs with the one that is judged.
    pub runs: (usize, usize),
    /// Standard deviation of a usual run, as a share of the rate: the scatter between runs.
    pub scatter: f64,
    /// The same of the run that is judged: larger if it is noisier than a usual one.
    pub scatter_of_last: f64,
    /// The ratio in percent with its interval, such as `-0.4 % [-2.0 %, +1.2 %]`.
    pub change: String,
}

impl GateLine {
    /// Target and test of the line over all tests of all targets.
    pub const ALL: &str = "all";
    pub(crate) const ALL_TESTS: &str = "all tests";

    /// True for the line over all tests of all targets.
    pub(crate) fn is_all(&self) -> bool {
        self.target == Self::ALL && self.test == Self::ALL_TESTS
    }

    /// Target and test.
    pub fn name(&self) -> String {
        if self.is_all() { self.test.clone() } else { format!("{} {}", self.target, self.test) }
    }

    /// True if a test of a target is a part of the line.
    pub(crate) fn is_made_of(&self, line: &SeriesLine) -> bool {
        self.is_all() || (self.target == line.target && self.test == line.test)
    }
}

/// The verdict of a gate on one run.
///
/// [`gate()`](crate::gate()) computes it once, from the good runs and the run that is judged; every output of the command
/// shows it, and the exit code follows from it. Its rule, with the reasons, is in docs/measure/gate.md.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateVerdict {
    /// What it is.
    pub outcome: GateOutcome,
    /// The limit, as a share.
    pub max_slower: f64,
    /// Number of runs before that count; 0 for the first run.
    pub good_runs: usize,
    /// Each test of each target, the one that decides first.
    pub lines: Vec<GateLine>,
    /// The test that decides, its interval, and its cell that fell most, in words; empty where no run before counts.
    #[serde(default)]
    pub decides: String,
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
            decides: String::new(),
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

/// The smallest limit that a machine can hold, by runs without a change between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateCalibration {
    /// The limit, as a share.
    pub limit: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// Standard deviation between the runs of the test that scatters most, as a share of its rate.
    pub scatter: f64,
    /// Number of runs.
    pub runs: usize,
    /// Target of the test that scatters most.
    pub target: String,
    /// The test or workload.
    pub test: String,
    /// The result in words.
    pub text: String,
}
