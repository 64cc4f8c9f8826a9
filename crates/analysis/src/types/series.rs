//! Many runs of one plan in a row.

use serde::{Deserialize, Serialize};
use sharebench_stats::Estimate;

use crate::types::{RatioVerdict, Sentence};

/// One run of a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesRun {
    /// Label that distinguishes it from the others.
    pub label: String,
    /// Start, milliseconds since 1970 (UTC); 0 if it is unknown.
    pub started_unix_ms: u64,
}

/// One test or workload of one target through all runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesLine {
    /// Name of the target.
    pub target: String,
    /// Test or workload.
    pub test: String,
    /// Per run the geometric mean of its cells' median rates, bytes (or operations) per second.
    pub rates: Vec<f64>,
    /// Cells that every run has.
    pub cells: usize,
    /// Cells that only some runs have: they take no part.
    pub incomplete_cells: usize,
    /// Change from one run to the next that is usual in it, as a share: the robust deviation of its rates.
    pub spread: f64,
}

/// What changed in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineChange {
    /// Index into [`Series::lines`].
    pub line: usize,
    /// Rate from the change to the next one over that from the one before to it.
    pub ratio: Estimate,
    /// Its verdict.
    pub verdict: RatioVerdict,
}

/// A run from which on something is different.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesChange {
    /// Index into [`Series::runs`]: the first run of the new level.
    pub at: usize,
    /// How likely so large a change is anywhere if there is none.
    pub p_value: f64,
    /// Runs at the level before it, and at the new one.
    pub runs: (usize, usize),
    /// Where.
    pub lines: Vec<LineChange>,
}

/// A gradual change of one line over all runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesTrend {
    /// Index into [`Series::lines`].
    pub line: usize,
    /// Rate at the end over that at the begin, along a line through all runs; `n` counts runs.
    pub total: Estimate,
    /// Its verdict.
    pub verdict: RatioVerdict,
    /// How likely an order as extreme is in any line if no line has a trend.
    pub p_value: f64,
}

/// Runs of one plan, and where their level changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The runs, in the order given.
    pub runs: Vec<SeriesRun>,
    /// Targets and tests.
    pub lines: Vec<SeriesLine>,
    /// Changes, the first one first.
    pub changes: Vec<SeriesChange>,
    /// Lines of which the last run alone differs from all before it, so that it is open whether their level has changed.
    #[serde(default)]
    pub last_run: Vec<LineChange>,
    /// Further runs like the last one that would show such a change; none without one, or if there are too many.
    #[serde(default)]
    pub runs_to_confirm: Option<usize>,
    /// Gradual changes; such a line is not among the changes.
    #[serde(default)]
    pub trends: Vec<SeriesTrend>,
    /// All of it in words.
    pub sentences: Vec<Sentence>,
    /// A false change anywhere in the table has at most this probability.
    pub error: f64,
    /// Where no change was found: the fall, as a share of the rate, that these runs would have shown with a probability
    /// of 80 %; none if they would have missed a fall to half of the rate, or if a change was found.
    #[serde(default)]
    pub detectable_fall: Option<f64>,
    /// Where they would have missed it: further runs at half of the rate that would show it with the same probability;
    /// none if there are too many.
    #[serde(default)]
    pub runs_to_detect_half: Option<usize>,
}

/// Why runs are no series.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// Too few runs.
    #[error("{0} runs are too few to distinguish a change from chance; at least 6 are needed")]
    TooFew(usize),
    /// Nothing in common.
    #[error("no position was measured in every run: a series needs runs of one plan")]
    NothingInCommon,
    /// The same positions were measured on targets with different names.
    #[error(
        "the runs measured the same positions on targets with different names ({}): a series needs the same targets in \
         every run, or one target in each run",
        .0.join("; ")
    )]
    DifferentTargets(Vec<String>),
}
