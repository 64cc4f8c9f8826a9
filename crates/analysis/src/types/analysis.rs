//! The whole analysis: what a report shows, in its order.

use serde::{Deserialize, Serialize};
use sharebench_model::{Coordinates, Facts, RunOutcome};

use crate::types::{
    CacheCurve, CheckSummary, Comparison, ComparisonVerdict, MechanismGuess, RankTable, Section, Sentence,
    System, SystemTimeline, TimeFindings, TrustLine, UnlikeCondition, WeightedComparison,
};

/// A step that is left out of all results, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Index into [`Analysis::systems`].
    pub system: usize,
    /// Its position.
    pub coordinates: Coordinates,
    /// Which repetition.
    pub repetition: u32,
    /// The failed checks, or the errors.
    pub reason: String,
}

/// A position that not every system has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unaligned {
    /// Its position.
    pub coordinates: Coordinates,
    /// Systems that have no usable step there.
    pub missing: Vec<usize>,
}

/// How one run was measured, and how to repeat it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method {
    /// Label that distinguishes the run from others.
    pub label: String,
    /// Title given by the user.
    pub title: String,
    /// Command that repeats it.
    pub command: String,
    /// The resolved plan.
    pub plan: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Version of sharebench.
    pub version: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// True when another program measured it.
    pub imported: bool,
    /// How it ended.
    pub outcome: Option<RunOutcome>,
    /// Steps measured and steps planned.
    pub steps: (usize, u32),
    /// Machine, kernel, CPU, clock.
    pub environment: Facts,
}

/// The comparison of one or more finished runs: everything that a report shows, in its order.
///
/// [`analyse()`](crate::analyse()) assembles it from its stages, and nothing changes it afterwards. It is plain data
/// without references to the runs, so that it can be stored and exported, and reports only render it: every number
/// and every sentence of a report is in here. Systems, sections and comparisons refer to each other by index into its
/// lists. Steps that take part in no number are listed with the reason, so that no result disappears without a
/// statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// What the runs are called.
    pub title: String,
    /// Conditions that differ between compared systems; reports show them before the first ratio.
    #[serde(default)]
    pub unlike_conditions: Vec<UnlikeCondition>,
    /// The verdict of the first comparison that the answer reports; none of one system alone. Every comparison has its own.
    pub verdict: Option<ComparisonVerdict>,
    /// The comparisons that the answer reports: indices into `comparisons`.
    pub reported: Vec<usize>,
    /// The answer, alarms first.
    pub answer: Vec<Sentence>,
    /// Reasons to trust the results or not.
    pub trust: Vec<TrustLine>,
    /// Every self-check over all steps.
    #[serde(default)]
    pub self_checks: Vec<CheckSummary>,
    /// Systems under comparison.
    pub systems: Vec<System>,
    /// The comparisons with their verdicts.
    pub comparisons: Vec<Comparison>,
    /// The same comparisons weighted by a workload; empty without weights.
    #[serde(default)]
    pub weighted: Vec<WeightedComparison>,
    /// Tests and workloads with their numbers.
    pub sections: Vec<Section>,
    /// What was found, per section.
    pub findings: Vec<Sentence>,
    /// Curves of reads that show a server's cache.
    #[serde(default)]
    pub cache_curves: Vec<CacheCurve>,
    /// Guesses at what limits a system; each is among the findings too.
    #[serde(default)]
    pub mechanisms: Vec<MechanismGuess>,
    /// What is not resolved, and what would resolve it.
    pub not_resolved: Vec<Sentence>,
    /// Numbers that contradict each other or their description.
    #[serde(default)]
    pub contradictions: Vec<Sentence>,
    /// Steps that are left out.
    pub left_out: Vec<LeftOut>,
    /// Positions that not every system has.
    pub unaligned: Vec<Unaligned>,
    /// The same in groups, with the reasons.
    #[serde(default)]
    pub unmatched: Vec<Unmatched>,
    /// Each system over time.
    #[serde(default)]
    pub timelines: Vec<SystemTimeline>,
    /// What changed over time within the runs; each is among the findings too.
    #[serde(default)]
    pub time: TimeFindings,
    /// What each rank did, of runs that several processes measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankTable>,
    /// How each run was made.
    pub methods: Vec<Method>,
    /// Level of every interval, such as 0.95.
    pub level: f64,
    /// Differences up to this share count as none.
    pub tolerance: f64,
}

/// Positions of one test that one or more systems lack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmatched {
    /// Index into [`Analysis::sections`].
    pub section: usize,
    /// Systems that have no usable step there.
    pub missing: Vec<usize>,
    /// How many positions.
    pub positions: usize,
    /// How many positions the test has in all.
    pub of: usize,
    /// The first of them.
    pub example: Coordinates,
    /// Why, or what would bring them together.
    pub why: String,
}
