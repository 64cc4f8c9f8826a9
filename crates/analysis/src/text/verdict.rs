//! The verdict of a comparison as one line, which begins with its claim.

use sharebench_model::units::{counted, percent, percent_limit};

use crate::estimate::ratio::MAX_USEFUL_REPETITIONS;
use crate::text::can_repeat;
use crate::text::claims::{SIX_REPETITIONS, claim_and_bounds, rate_of, show_ratio};
use crate::text::comparisons::names;
use crate::text::stages::Stages;
use crate::types::{Comparison, ComparisonOutcome, ComparisonVerdict, InconclusiveReason};

/// A verdict in words.
pub(crate) struct VerdictLine {
    /// What it claims, such as `nfs is 12 % faster than smb`.
    pub claim: String,
    /// What supports or limits the claim, such as ` [9.1, 15], slower in write (48 cells, confidence: high)`.
    pub support: String,
}

/// The verdict of a comparison in words.
pub(crate) fn verdict_line(stages: &Stages<'_>, comparison: &Comparison) -> VerdictLine {
    let verdict = &comparison.verdict;
    let (a, b) = names(stages, comparison);
    let ratio = verdict.ratio.filter(|_| verdict.outcome != ComparisonOutcome::Inconclusive);
    let (Some(ratio), Some(confidence)) = (ratio, verdict.confidence) else {
        let VerdictLine { claim, support } = inconclusive(stages, verdict, a, b);
        return VerdictLine { claim: format!("inconclusive: {claim}"), support };
    };
    let on_average = match verdict.outcome {
        ComparisonOutcome::Equal if !exceptions(stages, verdict).is_empty() => " on average",
        _ => "",
    };
    let (claim, bounds) = claim_and_bounds(&ratio, verdict.on_ratio(), a, b);
    let support = format!(
        "{bounds}{on_average}{}{} ({}, confidence: {})",
        exceptions(stages, verdict),
        small_difference(stages, verdict, a, b),
        cells(verdict),
        confidence.word()
    );
    VerdictLine { claim, support }
}

/// That the systems differ where the verdict does not: `; a has the higher rate, by less than the tolerance of 2 %`.
fn small_difference(stages: &Stages<'_>, verdict: &ComparisonVerdict, a: &str, b: &str) -> String {
    let Some(ratio) = verdict.ratio.filter(|_| verdict.differs) else { return String::new() };
    let higher = format!("; {} has the higher rate", if ratio.value < 1.0 { b } else { a });
    let tolerance = percent_limit(stages.options.tolerance);
    match (verdict.outcome, verdict.reason) {
        (ComparisonOutcome::Faster | ComparisonOutcome::Slower, _) => String::new(),
        (ComparisonOutcome::Equal, _) => format!("{higher}, by less than the tolerance of {tolerance}"),
        (ComparisonOutcome::Inconclusive, Some(InconclusiveReason::Edge)) => higher,
        (ComparisonOutcome::Inconclusive, _) => {
            format!("{higher}, maybe by less than the tolerance of {tolerance}")
        }
    }
}

/// `12 cells`, or `11 of 12 cells`.
fn cells(verdict: &ComparisonVerdict) -> String {
    if verdict.cells == verdict.of_cells {
        return counted(verdict.cells, "cell");
    }
    format!("{} of {}", verdict.cells, counted(verdict.of_cells, "cell"))
}

/// Most tests that the line names.
const NAMED: usize = 2;

/// Tests that differ in another direction than the mean: `, slower in write`. The subject is the system that the claim
/// names first.
fn exceptions(stages: &Stages<'_>, verdict: &ComparisonVerdict) -> String {
    // Of a later system that is slower, the claim is about the earlier one.
    let is_turned = verdict.outcome == ComparisonOutcome::Slower;
    let (faster, slower) = if is_turned {
        (&verdict.slower_sections, &verdict.faster_sections)
    } else {
        (&verdict.faster_sections, &verdict.slower_sections)
    };
    let part = |word: &str, sections: &[usize]| {
        let titles: Vec<&str> = sections
            .iter()
            .take(NAMED)
            .map(|section| stages.estimated.sections[*section].title.as_str())
            .collect();
        let more = match sections.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and {}", counted(n, "more test")),
        };
        if titles.is_empty() { String::new() } else { format!(", {word} in {}{more}", titles.join(", ")) }
    };
    part("faster", faster) + &part("slower", slower)
}

/// Why a comparison is inconclusive, and what would settle it.
fn inconclusive(stages: &Stages<'_>, verdict: &ComparisonVerdict, a: &str, b: &str) -> VerdictLine {
    let Some(ratio) = &verdict.ratio else { return refusal(verdict.reason, a, b) };
    let shown = format!(
        ", ratio {}{}{}",
        show_ratio(ratio),
        exceptions(stages, verdict),
        small_difference(stages, verdict, a, b)
    );
    let cells = cells(verdict);
    let support = match verdict.reason {
        Some(InconclusiveReason::SingleRuns) => {
            let remedy = if can_repeat(stages) { format!("; {SIX_REPETITIONS}") } else { String::new() };
            let support = format!(", but one run each does not rule out chance{remedy} ({cells})");
            return VerdictLine { claim: rate_of(ratio, a, b), support };
        }
        Some(InconclusiveReason::Repetitions) => {
            let remedy = match (verdict.repetitions_needed, ratio.interval) {
                (Some(n), Some(_)) => {
                    format!("; about {n} repetitions instead of {} would settle it", ratio.n)
                }
                (Some(n), None) => format!("; {n} repetitions instead of {} give an interval", ratio.n),
                (None, _) => String::new(),
            };
            format!("{shown}{remedy} ({cells})")
        }
        Some(InconclusiveReason::Noise) => {
            let sharpness = verdict.sharpness.map_or(String::new(), |sharpness| {
                format!("; only a difference of {} or more would be detected", percent(sharpness, 0))
            });
            format!(
                "{shown}{sharpness}, and more than {MAX_USEFUL_REPETITIONS} repetitions would be needed: measure longer \
                 or on a quieter machine ({cells})"
            )
        }
        Some(InconclusiveReason::Clock) => {
            let factor = verdict.longer.unwrap_or(2.0);
            format!("{shown}; the clock is too coarse: measure about {factor} times as long ({cells})")
        }
        Some(InconclusiveReason::Edge) => format!(
            "{shown}; the ratio lies at the edge of the tolerance of {}, so that more repetitions are unlikely to settle \
             it ({cells})",
            percent(stages.options.tolerance, 0)
        ),
        reason => return refusal(reason, a, b),
    };
    VerdictLine { claim: format!("{a} against {b}"), support }
}

/// Why the numbers support no verdict, whatever their interval.
fn refusal(reason: Option<InconclusiveReason>, a: &str, b: &str) -> VerdictLine {
    let (claim, support) = match reason {
        Some(InconclusiveReason::WrongData) => (
            format!("{a} against {b}: a read returned other data than was written"),
            ", so that no rate counts",
        ),
        Some(InconclusiveReason::EngineFailed) => {
            (format!("{a} against {b}: the engine failed"), ", so that no number may be used; repeat the run")
        }
        _ => (
            format!("no cell supports a ratio of {a} and {b}"),
            "; NOT RESOLVED and NOT ALIGNED list the reasons",
        ),
    };
    VerdictLine { claim, support: support.to_owned() }
}
