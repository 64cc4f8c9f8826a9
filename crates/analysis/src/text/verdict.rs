//! The verdict of a comparison as one line, which begins with its claim.

use sharebench_model::units::{counted, percent, percent_limit};
use sharebench_stats::{Estimate, Interval};

use crate::estimate::ratio::MAX_USEFUL_REPETITIONS;
use crate::text::can_repeat;
use crate::text::claims::{
    SIX_REPETITIONS, claim_and_bounds, factor_or_percent, inverse_interval, part_claim, range_claim, rate_of,
    show_ratio,
};
use crate::text::comparisons::{STALLS_REMEDY, names, stalls_words};
use crate::text::parts::{FasterSide, factors_words, faster_side, faster_than, part_words, where_words};
use crate::text::stages::Stages;
use crate::types::{
    Comparison, ComparisonOutcome, ComparisonVerdict, Confidence, DifferingPart, InconclusiveReason,
    Objection, PartEvidence, RatioVerdict, View,
};

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
        let VerdictLine { claim, support } = inconclusive(stages, comparison, a, b);
        return VerdictLine { claim: format!("inconclusive: {claim}"), support };
    };
    let VerdictLine { claim, support } = match map_line(stages, comparison) {
        Some(line) => line,
        None => mean_line(stages, comparison, &ratio),
    };
    let confidence = format!("confidence: {}{}", confidence.word(), cheapest_remedy(verdict));
    let stalls = stalls(comparison);
    let others = other_tests(stages, comparison);
    VerdictLine { claim, support: format!("{support}{stalls}{others} ({}, {confidence})", cells(verdict)) }
}

/// Both ratios of the cells in which stalls decide: they may differ in direction, so no output has one of them alone.
fn stalls(comparison: &Comparison) -> String {
    let stalled = comparison.overall.as_ref().and_then(|overall| overall.summary.stalled);
    stalled.map_or(String::new(), |stalled| format!("; {}", stalls_words(&stalled)))
}

/// Loads and depth studies in which another system is faster than in the sweeps: `; nfs is faster in copy-all`. The line is about the
/// sweeps where there are any.
fn other_tests(stages: &Stages<'_>, comparison: &Comparison) -> String {
    if comparison.overall.is_none() {
        return String::new();
    }
    let (a, b) = names(stages, comparison);
    let sections = stages.estimated.sections.iter().zip(&comparison.sections);
    let others = sections.filter(|(section, _)| section.view != View::Sweep);
    let differing: Vec<(RatioVerdict, &str)> = others
        .filter_map(|(section, summary)| Some((summary.as_ref()?.verdict, section.title.as_str())))
        .filter(|(verdict, _)| *verdict != mean_verdict(comparison))
        .collect();
    let words = |direction: RatioVerdict, fast: &str| {
        let titles: Vec<&str> =
            differing.iter().filter(|(known, _)| *known == direction).map(|(_, title)| *title).collect();
        let named =
            if titles.len() > NAMED_TESTS { counted(titles.len(), "test") } else { titles.join(", ") };
        if named.is_empty() { named } else { format!("; {fast} is faster in {named}") }
    };
    words(RatioVerdict::Faster, a) + &words(RatioVerdict::Slower, b)
}

/// Most tests that the line lists.
const NAMED_TESTS: usize = 2;

/// A mean as the answer: `nfs is 12 % faster than smb [9.1, 15]`. The cells are not known to differ from it.
fn mean_line(stages: &Stages<'_>, comparison: &Comparison, ratio: &Estimate) -> VerdictLine {
    let verdict = &comparison.verdict;
    let (a, b) = names(stages, comparison);
    let (claim, bounds) = claim_and_bounds(ratio, mean_verdict(comparison), a, b);
    let is_one_cell = verdict.cells == 1;
    let limit = match (verdict.largest_hidden, verdict.largest_opposite) {
        _ if is_one_cell => String::new(),
        (_, Some(_)) if verdict.differing_cells >= verdict.cells => String::new(),
        (_, Some(opposite)) if verdict.differing_cells > 0 => {
            format!(" on average; {}", nothing_opposite(stages, opposite))
        }
        (Some(hidden), _) => {
            format!(" on average; no cell differs by more than {}", factor_or_percent(hidden))
        }
        _ => String::new(),
    };
    let support = format!("{bounds}{limit}{}", small_difference(stages, verdict, a, b));
    VerdictLine { claim, support }
}

/// `nothing opposite beyond 6 %`.
fn nothing_opposite(stages: &Stages<'_>, opposite: f64) -> String {
    format!("nothing opposite beyond {}", factor_or_percent(opposite.max(stages.options.tolerance)))
}

/// The verdict on the mean of a comparison whose numbers may be used.
fn mean_verdict(comparison: &Comparison) -> RatioVerdict {
    let overall = comparison.overall.as_ref().map(|overall| overall.summary.verdict);
    overall.unwrap_or(match comparison.verdict.outcome {
        ComparisonOutcome::Faster => RatioVerdict::Faster,
        ComparisonOutcome::Slower => RatioVerdict::Slower,
        ComparisonOutcome::Equal => RatioVerdict::AboutTheSame,
        ComparisonOutcome::Depends | ComparisonOutcome::Inconclusive => RatioVerdict::NotResolved,
    })
}

/// The parts of the map as the answer; none if the mean is the answer: without a part, and where no cell is known to differ from
/// a mean in the direction of the parts.
fn map_line(stages: &Stages<'_>, comparison: &Comparison) -> Option<VerdictLine> {
    let verdict = &comparison.verdict;
    let parts: Vec<&DifferingPart> =
        verdict.parts.iter().map(|part| &comparison.differences.parts[*part]).collect();
    let first = *parts.first()?;
    if verdict.outcome == ComparisonOutcome::Depends {
        return Some(depends_line(stages, comparison, &parts));
    }
    if !verdict.varies && mean_verdict(comparison) == first.direction {
        return None;
    }
    let opposite = verdict
        .largest_opposite
        .map_or(String::new(), |opposite| format!("; elsewhere {}", nothing_opposite(stages, opposite)));
    let side = faster_side(stages, comparison, first);
    let FasterSide { fast, slow, ratio, .. } = &side;
    let (faster, bounds) = part_claim(ratio);
    let all = verdict.tests;
    let place = |part: &DifferingPart| where_words(stages, part, all);
    let is_alone = parts.len() == 1 && verdict.more_parts == 0;
    if is_alone && first.evidence == PartEvidence::OnAverage {
        let claim = format!("{fast} is {} {slow} on average{}", faster_than(&faster), place(first));
        return Some(VerdictLine { claim, support: format!("{}{bounds}{opposite}", comma(&place(first))) });
    }
    if is_alone && first.is_uniform {
        let claim = format!("{fast} is {} {slow}{}", faster_than(&faster), place(first));
        return Some(VerdictLine { claim, support: format!("{}{bounds}{opposite}", comma(&place(first))) });
    }
    Some(several_line(comparison, &side, &parts, &place, &opposite))
}

/// Separates an interval from the place before it.
fn comma(place: &str) -> &'static str {
    if place.is_empty() { "" } else { "," }
}

/// One system is faster in several parts, or in one part whose cells differ: `nfs is faster than smb in 14 of 48 cells: 5.0 to
/// 43 % faster, most for files of 16MiB; elsewhere nothing opposite beyond 6 %`.
fn several_line(
    comparison: &Comparison,
    side: &FasterSide<'_>,
    parts: &[&DifferingPart],
    place: &dyn Fn(&DifferingPart) -> String,
    opposite: &str,
) -> VerdictLine {
    let verdict = &comparison.verdict;
    let FasterSide { fast, slow, .. } = side;
    let in_cells = match verdict.differing_cells {
        n if n == verdict.cells => format!("all {}", counted(n, "cell")),
        n => format!("{n} of {}", counted(verdict.cells, "cell")),
    };
    let ranges = comparison
        .differences
        .parts
        .iter()
        .filter(|part| part.evidence == PartEvidence::EachCell && part.direction == parts[0].direction);
    let range =
        ranges.map(|part| part.range).reduce(|x, y| Interval::new(x.low.min(y.low), x.high.max(y.high)));
    let range = range.unwrap_or(parts[0].range);
    let range = if parts[0].direction == RatioVerdict::Slower { inverse_interval(range) } else { range };
    let strength = |part: &&&DifferingPart| part.typical.value.ln().abs();
    let most = parts.iter().max_by(|x, y| strength(x).total_cmp(&strength(y)));
    let most = match most.map(|part| place(part)) {
        Some(place) if parts.len() > 1 && !place.is_empty() => format!(", most{place}"),
        Some(place) if parts.len() == 1 => place,
        _ => String::new(),
    };
    VerdictLine {
        claim: format!("{fast} is faster than {slow} in {in_cells}"),
        support: format!(": {}{most}{opposite}", range_claim(range)),
    }
}

/// Parts in both directions: `depends on the file size: nfs is 35 % faster [33, 38] for files of 64KiB, smb is 43 % faster [41, 46]
/// for files of 16MiB`.
fn depends_line(stages: &Stages<'_>, comparison: &Comparison, parts: &[&DifferingPart]) -> VerdictLine {
    let verdict = &comparison.verdict;
    let mut words: Vec<String> = parts
        .iter()
        .map(|part| {
            let side = faster_side(stages, comparison, part);
            part_words(&side, part) + &where_words(stages, part, verdict.tests)
        })
        .collect();
    if verdict.more_parts > 0 {
        words.push(format!("and {}", counted(verdict.more_parts, "more part")));
    }
    VerdictLine {
        claim: format!("depends on {}", factors_words(parts, verdict.tests)),
        support: format!(": {}", words.join(", ")),
    }
}

/// What would raise a low confidence at the least cost: `: interleave the two systems in one run`.
fn cheapest_remedy(verdict: &ComparisonVerdict) -> String {
    if verdict.confidence != Some(Confidence::Low) {
        return String::new();
    }
    let decisive = verdict.objections.iter().filter(|objection| objection.confidence == Confidence::Low);
    let cheapest = decisive.map(Objection::remedy).min();
    cheapest.map_or(String::new(), |(_, remedy)| format!("; to raise it, {remedy}"))
}

/// That the systems differ where the verdict does not: `; a has the higher rate, by less than the tolerance of 2 %`.
fn small_difference(stages: &Stages<'_>, verdict: &ComparisonVerdict, a: &str, b: &str) -> String {
    let Some(ratio) = verdict.ratio.filter(|_| verdict.differs) else { return String::new() };
    let higher = format!("; {} has the higher rate", if ratio.value < 1.0 { b } else { a });
    let tolerance = percent_limit(stages.options.tolerance);
    match (verdict.outcome, verdict.reason) {
        (ComparisonOutcome::Faster | ComparisonOutcome::Slower | ComparisonOutcome::Depends, _) => {
            String::new()
        }
        (ComparisonOutcome::Equal, _) => format!("{higher}, by less than the tolerance of {tolerance}"),
        (ComparisonOutcome::Inconclusive, Some(InconclusiveReason::Edge)) => higher,
        // The side with the higher typical rate may do less work.
        (ComparisonOutcome::Inconclusive, Some(InconclusiveReason::Stalls)) => String::new(),
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

/// Why a comparison is inconclusive, and what would settle it.
fn inconclusive(stages: &Stages<'_>, comparison: &Comparison, a: &str, b: &str) -> VerdictLine {
    let verdict = &comparison.verdict;
    let Some(ratio) = &verdict.ratio else { return refusal(verdict.reason, a, b) };
    let shown = format!(", ratio {}{}", show_ratio(ratio), small_difference(stages, verdict, a, b));
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
        Some(InconclusiveReason::Stalls) => {
            format!("{shown}{}; {STALLS_REMEDY} ({cells})", stalls(comparison))
        }
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
