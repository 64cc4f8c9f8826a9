//! The verdict of a comparison of two systems.

use serde::{Deserialize, Serialize};
use sharebench_model::units::percent;
use sharebench_stats::{Estimate, Interval};

use crate::types::{Analysis, Comparison, Pairing, RatioVerdict, RunScatter, Tone};

/// What a comparison says of the later system, compared with the earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonOutcome {
    /// Parts of the map are above the tolerance and none is below; without such parts, the whole interval of the mean is.
    Faster,
    /// The same below the tolerance.
    Slower,
    /// The later system is faster in one part of the map and slower in another: a mean is no answer.
    Depends,
    /// The whole interval is within the tolerance.
    Equal,
    /// The data supports none of the others; [`InconclusiveReason`] says why.
    Inconclusive,
}

/// Why a comparison is inconclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InconclusiveReason {
    /// No position supports a ratio of the two systems.
    NoCells,
    /// One of the systems returned other data than was written.
    WrongData,
    /// The engine failed in a run of one of the systems.
    EngineFailed,
    /// A position was measured once on one side at least, so that chance is not ruled out.
    SingleRuns,
    /// Too few repetitions.
    Repetitions,
    /// The repetitions scatter too much.
    Noise,
    /// The resolution of the clocks.
    Clock,
    /// The ratio lies at the edge of the tolerance.
    Edge,
    /// Stalls decide: the typical rates support a verdict that all work over all time does not.
    Stalls,
}

/// How far the machine and the method support a conclusive verdict (docs/measure/measurement-rules.md R12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// An objection may explain the whole difference.
    Low,
    /// An objection weakens the interval.
    Moderate,
    /// No objection.
    High,
}

impl Confidence {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Moderate => "moderate",
            Self::High => "high",
        }
    }
}

/// What lowers the confidence in a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectionKind {
    /// The systems were measured one after the other in one run.
    NotInterleaved,
    /// Two runs measured the systems, which did not take turns; the value is the number of earlier runs of the same plan.
    TwoRuns,
    /// Fewer repetitions than an interval needs to hold at its level; the value is their number.
    FewRepetitions,
    /// The comparison would only detect a large difference; the value is its sharpness.
    Sharpness,
    /// Self-checks have a warning about many cells; the value is the share of them.
    Warnings,
    /// Many cells take no part in the mean; the value is the share of those that do.
    MissingCells,
    /// The client's cache served every cell.
    ClientCache,
    /// Stalls decide in many cells, so that the work in a given time differs from the typical ratio; the value is the share of
    /// them.
    Stalls,
    /// Numbers of the runs contradict each other; the value is the number of contradictions.
    Contradictions,
    /// A run ended early.
    IncompleteRun,
    /// Another program measured one of the systems, without self-checks.
    Imported,
}

/// One reason for less than high confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Objection {
    /// What it is.
    pub kind: ObjectionKind,
    /// The number that was found; none where the objection has none.
    pub value: Option<f64>,
    /// The highest confidence that it allows.
    pub confidence: Confidence,
}

impl Objection {
    /// The objection in words, such as `6 repetitions are fewer than 10`.
    pub fn words(&self) -> String {
        let value = self.value.unwrap_or_default();
        match self.kind {
            ObjectionKind::NotInterleaved => {
                "the systems were not interleaved, so that changes over time are not excluded".to_owned()
            }
            ObjectionKind::TwoRuns if value < RunScatter::FEWEST as f64 => format!(
                "two runs that did not take turns differ by whatever changes between runs, which is not known: {value} earlier \
                 runs of the same plan, {} are needed",
                RunScatter::FEWEST
            ),
            ObjectionKind::TwoRuns => format!(
                "the two runs did not take turns; the interval includes the scatter between {value} earlier runs of the plan"
            ),
            ObjectionKind::FewRepetitions => {
                format!("{value} repetitions are fewer than {FULL_REPETITIONS}")
            }
            ObjectionKind::Sharpness => {
                format!("only a difference of {} or more would be detected", percent(value, 0))
            }
            ObjectionKind::Warnings => {
                format!("self-checks have a warning about {} of the cells", percent(value, 0))
            }
            ObjectionKind::MissingCells => format!("only {} of the cells take part", percent(value, 0)),
            ObjectionKind::ClientCache if self.value.is_some() => {
                format!("the client's cache served {} of the cells, which take no part", percent(value, 0))
            }
            ObjectionKind::ClientCache => {
                "the client's cache served every cell, so that this is not the rate of the server".to_owned()
            }
            ObjectionKind::Stalls => format!("stalls decide in {} of the cells", percent(value, 0)),
            ObjectionKind::Contradictions => "numbers of the runs contradict each other".to_owned(),
            ObjectionKind::IncompleteRun => "a run ended early".to_owned(),
            ObjectionKind::Imported => "imported results have no self-checks".to_owned(),
        }
    }

    /// What would remove the objection, as an imperative, with a rank that grows with its cost.
    pub fn remedy(&self) -> (u8, &'static str) {
        match self.kind {
            ObjectionKind::Contradictions => (0, "correct the contradiction that the report lists first"),
            ObjectionKind::NotInterleaved => (1, "measure both systems in one run, which interleaves them"),
            ObjectionKind::TwoRuns => (
                1,
                "measure both systems in one run, or the plan until four earlier runs show how runs differ",
            ),
            ObjectionKind::IncompleteRun => (2, "repeat the run that ended early"),
            ObjectionKind::MissingCells => (3, "measure the same cells on both systems"),
            ObjectionKind::FewRepetitions => (4, "measure 10 repetitions"),
            ObjectionKind::Warnings => (5, "remove the cause of the most frequent warning and measure again"),
            ObjectionKind::ClientCache => (6, "use files that the client's cache cannot hold"),
            ObjectionKind::Stalls => (7, "measure longer, until each repetition has its share of the stalls"),
            ObjectionKind::Sharpness => (7, "measure more repetitions, or on a quieter machine"),
            ObjectionKind::Imported => (8, "measure the systems with sharebench"),
        }
    }
}

/// Repetitions from which the interval holds at its level (docs/measure/measurement-rules.md 1.4).
pub const FULL_REPETITIONS: usize = 10;

/// The verdict of a comparison of two systems: the one claim that every output makes about them.
///
/// The judge stage computes it once per comparison, over all cells of the sweeps; without a sweep over those of the
/// depth studies, and without these over the steps of the loads. The terminal, HTML, Markdown and JSON show it first, the
/// sentences of the answer take their ratio from it, and the exit code of `compare` follows from it. A verdict that the
/// data does not support is inconclusive, with the reason and, where a number is known, with what would settle it.
/// The ratio is that of the later system over the earlier one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonVerdict {
    /// Index into [`Analysis::comparisons`].
    pub comparison: usize,
    /// What it says.
    pub outcome: ComparisonOutcome,
    /// Why it is inconclusive; none if it is not.
    pub reason: Option<InconclusiveReason>,
    /// Rate of the later system over that of the earlier one; none without a common cell.
    pub ratio: Option<Estimate>,
    /// True if the systems were interleaved and the interval at [`DIFFERENCE_LEVEL`](super::DIFFERENCE_LEVEL) excludes a
    /// ratio of 1: they differ, possibly by less than the tolerance.
    #[serde(default)]
    pub differs: bool,
    /// How the repetitions were paired; none without a common cell.
    pub pairing: Option<Pairing>,
    /// Cells in the mean.
    pub cells: usize,
    /// Cells that were measured on one of the systems at least.
    pub of_cells: usize,
    /// The smallest difference that would be detected, as a share: half the width of the interval, and the tolerance;
    /// none without an interval.
    pub sharpness: Option<f64>,
    /// Tests that have a cell in the mean.
    #[serde(default)]
    pub tests: usize,
    /// True if a cell is known to differ from the mean: the mean is no statement about each cell.
    #[serde(default)]
    pub varies: bool,
    /// The parts that the line names, the most important first: indices into [`Differences::parts`](super::Differences).
    #[serde(default)]
    pub parts: Vec<usize>,
    /// Further parts, which the findings list.
    #[serde(default)]
    pub more_parts: usize,
    /// Cells in which the direction of the parts is known for each cell.
    #[serde(default)]
    pub differing_cells: usize,
    /// The largest difference, as a share, that a cell outside the parts may still have in either direction; none without
    /// intervals.
    #[serde(default)]
    pub largest_hidden: Option<f64>,
    /// The same in the direction opposite to that of the parts; none unless the parts have one direction.
    #[serde(default)]
    pub largest_opposite: Option<f64>,
    /// Repetitions that would probably settle it; none if it is settled, or if repetitions would not.
    pub repetitions_needed: Option<usize>,
    /// How many times longer to measure, where the clock leaves it open.
    pub longer: Option<f64>,
    /// How far the machine and the method support it; none if it is inconclusive.
    pub confidence: Option<Confidence>,
    /// What lowers the confidence.
    pub objections: Vec<Objection>,
    /// What it claims, such as `nfs is 12 % faster than smb`: the beginning of `text`.
    #[serde(default)]
    pub claim: String,
    /// The verdict as one line: the claim, and what supports or limits it.
    pub text: String,
}

impl ComparisonVerdict {
    /// How to read the line.
    pub fn tone(&self) -> Tone {
        match self.outcome {
            ComparisonOutcome::Faster | ComparisonOutcome::Slower | ComparisonOutcome::Depends => {
                Tone::Difference
            }
            ComparisonOutcome::Equal => Tone::Same,
            ComparisonOutcome::Inconclusive => Tone::NotResolved,
        }
    }

    /// The verdict on a mean as the sentences of the answer report it: not resolved if no number may be used.
    pub(crate) fn on_mean(&self, mean: RatioVerdict) -> RatioVerdict {
        if self.is_refused() { RatioVerdict::NotResolved } else { mean }
    }

    /// The line after its claim: the interval, exceptions, and the cells and the confidence in parentheses.
    pub fn support(&self) -> &str {
        self.text.strip_prefix(&self.claim).unwrap_or(&self.text)
    }

    /// True if no number of the comparison may be used.
    fn is_refused(&self) -> bool {
        matches!(self.reason, Some(InconclusiveReason::EngineFailed | InconclusiveReason::WrongData))
    }

    /// About the number of repetitions at which a difference of this share would be detected, because the width of an
    /// interval falls with the square root of their number. None without an interval.
    pub fn repetitions_for(&self, share: f64) -> Option<u64> {
        let wider = self.sharpness?.ln_1p() / share.ln_1p();
        Some((self.ratio?.n as f64 * wider * wider).ceil() as u64)
    }

    /// The interval of the ratio, if it may be used.
    fn interval(&self) -> Option<Interval> {
        self.ratio.and_then(|ratio| ratio.interval).filter(|_| !self.is_refused())
    }
}

/// What a build requires of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Requirements {
    /// No later system is slower by more than this share.
    pub not_slower: Option<f64>,
    /// A difference of this share would be detected.
    pub sharpness: Option<f64>,
}

/// Whether a comparison meets the requirements, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// It does.
    Passed,
    /// The data does not show it.
    Inconclusive,
    /// A later system is slower by more than the limit.
    Slower,
}

impl Analysis {
    /// The verdicts that a report shows first: those of the comparisons that the answer reports.
    pub fn verdicts(&self) -> impl Iterator<Item = &ComparisonVerdict> {
        self.reported.iter().map(|comparison| &self.comparisons[*comparison].verdict)
    }

    /// The worst result of all comparisons; inconclusive without a comparison.
    pub fn gate(&self, requirements: &Requirements) -> Gate {
        let gates = self.comparisons.iter().map(|comparison| comparison.gate(requirements));
        gates.max().unwrap_or(Gate::Inconclusive)
    }
}

impl Comparison {
    /// Whether it meets the requirements. It passes only if the interval excludes what the requirements forbid.
    pub fn gate(&self, requirements: &Requirements) -> Gate {
        let interval = self.verdict.interval();
        let slower = requirements.not_slower.map_or(Gate::Passed, |limit| {
            let edge = 1.0 - limit;
            if !self.verdict.is_refused() && self.is_slower(edge) {
                Gate::Slower
            } else if interval.is_some_and(|interval| interval.low > edge) && !self.may_be_slower(edge) {
                Gate::Passed
            } else {
                Gate::Inconclusive
            }
        });
        let sharp = requirements.sharpness.is_none_or(|limit| {
            interval.is_some() && self.verdict.sharpness.is_some_and(|sharpness| sharpness <= limit)
        });
        slower.max(if sharp { Gate::Passed } else { Gate::Inconclusive })
    }

    /// True if the later system is below `edge` with its whole interval: over all cells, in a section or in a part.
    fn is_slower(&self, edge: f64) -> bool {
        let overall =
            self.overall.iter().map(|overall| (overall.summary.verdict, overall.summary.typical.interval));
        let parts = self.differences.parts.iter().map(|part| (part.direction, part.typical.interval));
        let sections =
            self.sections.iter().flatten().map(|summary| (summary.verdict, summary.typical.interval));
        let mut all = overall.chain(parts).chain(sections);
        all.any(|(verdict, interval)| {
            verdict == RatioVerdict::Slower && interval.is_some_and(|interval| interval.high < edge)
        })
    }

    /// True if a part in which the later system is slower may be below `edge`.
    fn may_be_slower(&self, edge: f64) -> bool {
        let mut slower = self.differences.parts.iter().filter(|part| part.direction == RatioVerdict::Slower);
        slower.any(|part| part.typical.interval.is_none_or(|interval| interval.low <= edge))
    }
}
