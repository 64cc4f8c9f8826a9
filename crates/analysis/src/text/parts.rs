//! The parts of a map in words (docs/measure/measurement-rules.md R3).

use sharebench_model::units::{counted, percent};
use sharebench_stats::{Estimate, Interval};

use crate::text::claims::{basis_of, factor_or_percent, inverse, inverse_interval, part_claim, range_claim};
use crate::text::comparisons::{names, stalls_words};
use crate::text::stages::Stages;
use crate::types::{
    Comparison, ComparisonOutcome, DifferingPart, PartEvidence, PartReference, RatioVerdict, Sentence,
    StalledCells, Summary, Tone,
};

/// Most tests that a sentence lists by name, and by a name with a comma, such as `read, queue depth 4`.
const MAX_TESTS: usize = 4;
const MAX_LONG_TITLES: usize = 2;

/// The faster system of a part, and its ratio to the other one, above 1.
pub(crate) struct FasterSide<'a> {
    pub fast: &'a str,
    pub slow: &'a str,
    pub ratio: Estimate,
    pub range: Interval,
}

/// A part from the side of the system that is faster in it.
pub(crate) fn faster_side<'a>(
    stages: &'a Stages<'_>,
    comparison: &Comparison,
    part: &DifferingPart,
) -> FasterSide<'a> {
    let (a, b) = names(stages, comparison);
    if part.direction == RatioVerdict::Slower {
        let range = inverse_interval(part.range);
        FasterSide { fast: b, slow: a, ratio: inverse(&part.typical), range }
    } else {
        FasterSide { fast: a, slow: b, ratio: part.typical, range: part.range }
    }
}

/// `nfs is 35 % faster [33, 38]`; where its cells differ `nfs is 12 to 41 % faster`; of a part without a known direction of each
/// cell `nfs is 5.0 % faster on average [2.1, 7.8]`.
pub(crate) fn part_words(side: &FasterSide<'_>, part: &DifferingPart) -> String {
    let FasterSide { fast, ratio, range, .. } = side;
    match part.evidence {
        PartEvidence::EachCell if part.is_uniform => {
            let (faster, bounds) = part_claim(ratio);
            format!("{fast} is {faster}{bounds}")
        }
        PartEvidence::EachCell => format!("{fast} is {}", range_claim(*range)),
        PartEvidence::OnAverage => {
            let (faster, bounds) = part_claim(ratio);
            format!("{fast} is {faster} on average{bounds}")
        }
    }
}

/// The tests of a part: `read`, `read, reread and write`, `5 of 6 tests`; none if it covers every test of the map.
pub(crate) fn tests_words(stages: &Stages<'_>, part: &DifferingPart, all: usize) -> Option<String> {
    let tests = part.sections.len();
    let or_count = || format!("{tests} of {}", counted(all, "test"));
    (tests != all).then(|| listed_titles(stages, part).unwrap_or_else(or_count))
}

/// The titles of the tests of a part; none if they are too many for a sentence.
fn listed_titles(stages: &Stages<'_>, part: &DifferingPart) -> Option<String> {
    let titles = part.sections.iter().map(|section| stages.estimated.sections[*section].title.clone());
    let titles: Vec<String> = titles.collect();
    let most = if titles.iter().any(|title| title.contains(',')) { MAX_LONG_TITLES } else { MAX_TESTS };
    (titles.len() <= most).then(|| listed(titles))
}

/// Where a part lies, as the end of a claim: ` in read for files of 64KiB`; empty for the whole map.
pub(crate) fn where_words(stages: &Stages<'_>, part: &DifferingPart, all: usize) -> String {
    let tests = tests_words(stages, part, all).map_or(String::new(), |tests| format!(" in {tests}"));
    let spans: Vec<String> =
        part.place.iter().filter(|span| !span.is_whole()).map(crate::types::Span::words).collect();
    if spans.is_empty() {
        return tests;
    }
    let preposition =
        if spans[0].starts_with("files") || spans[0].starts_with("records") { "for" } else { "at" };
    format!("{tests} {preposition} {}", spans.join(" with "))
}

/// What the parts differ by, in the words of the user: `the file size`, `the test and the record size`.
pub(crate) fn factors_words(parts: &[&DifferingPart], all: usize) -> String {
    let mut factors = Vec::new();
    if parts.iter().any(|part| part.sections.len() < all) {
        factors.push("the test".to_owned());
    }
    for span in parts.iter().flat_map(|part| &part.place).filter(|span| !span.is_whole()) {
        let word = match span.axis.as_str() {
            counted @ ("users" | "jobs" | "entries") => format!("the number of {counted}"),
            other => format!("the {}", other.replace('_', " ")),
        };
        if !factors.contains(&word) {
            factors.push(word);
        }
    }
    if factors.is_empty() { "the cell".to_owned() } else { listed(factors) }
}

/// `read`, `read and write`, `read, reread and write`.
pub(crate) fn listed(mut words: Vec<String>) -> String {
    match words.pop() {
        Some(last) if !words.is_empty() => format!("{} and {last}", words.join(", ")),
        only => only.unwrap_or_default(),
    }
}

/// The parts of a comparison, one sentence each. A part of all cells repeats the mean, unless its cells differ.
pub(crate) fn findings(stages: &Stages<'_>, index: usize, comparison: &Comparison) -> Vec<Sentence> {
    let parts = comparison.differences.parts.iter().enumerate();
    let shown = parts.filter(|(_, part)| !repeats_a_mean(comparison, part));
    shown
        .map(|(number, part)| {
            let text = format!("{}.", finding_words(stages, comparison, part));
            let sentence = Sentence::new(Tone::Difference, text)
                .about_part(PartReference { comparison: index, part: number });
            // A part of several tests is listed with the first of them.
            Sentence { section: part.sections.first().copied(), ..sentence }
        })
        .collect()
}

/// True if a mean over the same cells has a sentence: that of a section, or that of all.
fn repeats_a_mean(comparison: &Comparison, part: &DifferingPart) -> bool {
    let of_section = match part.sections.as_slice() {
        [section] => comparison.sections[*section].as_ref(),
        _ => comparison.overall.as_ref().map(|overall| &overall.summary),
    };
    part.is_uniform
        && of_section.is_some_and(|mean| mean.cells == part.cells() && mean.verdict == part.direction)
}

/// `read, records of 128KiB and more: nfs is 12 % faster than smb [9.2, 15] (15 cells, 10 interleaved repetitions)`.
fn finding_words(stages: &Stages<'_>, comparison: &Comparison, part: &DifferingPart) -> String {
    let side = faster_side(stages, comparison, part);
    let FasterSide { fast, slow, ratio, range } = &side;
    let (faster, bounds) = part_claim(ratio);
    let than = |faster: &str| format!("{fast} is {} {slow}", faster_than(faster));
    let claim = match part.evidence {
        PartEvidence::EachCell if part.is_uniform => than(&faster) + &bounds,
        PartEvidence::EachCell => {
            format!("{}, on average {faster}{bounds}", than(&range_claim(*range)))
        }
        PartEvidence::OnAverage => {
            format!("{} on average{bounds}", than(&faster))
        }
    };
    let scanned = comparison.differences.scanned;
    let basis = scanned.map_or(String::new(), |scanned| {
        format!(", {}", basis_of(scanned.pairing, scanned.repetitions.0.min(ratio.n), ratio.n))
    });
    let total = part.total_work.map_or(String::new(), |total_work| {
        let stalled = StalledCells { cells: part.cells(), typical: part.typical, total_work };
        format!("; {}", stalls_words(&stalled))
    });
    let tests = listed_titles(stages, part).unwrap_or_else(|| counted(part.sections.len(), "test"));
    format!(
        "{tests}, {}: {claim} ({}{basis}{total})",
        crate::types::span::place_words(&part.place),
        counted(part.cells(), "cell"),
    )
}

/// `35 % faster than`, but `2.40 times as fast as`.
pub(crate) fn faster_than(faster: &str) -> String {
    let joint = if faster.ends_with("as fast") { "as" } else { "than" };
    format!("{faster} {joint}")
}

/// What the line of the verdict leaves to the answer: how far the cells may differ where no part does.
pub(crate) fn answer(stages: &Stages<'_>, comparison: &Comparison) -> Vec<Sentence> {
    let verdict = &comparison.verdict;
    let mut sentences = Vec::new();
    let hidden = verdict.largest_hidden.filter(|_| {
        verdict.parts.is_empty() && verdict.outcome == ComparisonOutcome::Inconclusive && verdict.cells > 1
    });
    if let Some(hidden) = hidden {
        let tolerance = percent(stages.options.tolerance, 0);
        let marked = marked_cells(comparison);
        let known = match marked {
            0 => format!("no part of the map is known to differ by more than {tolerance}"),
            marked => format!(
                "{marked} of {} differ{} by more than {tolerance} when judged alone, but no part of the map does when all \
                 are judged together",
                counted(verdict.cells, "cell"),
                if marked == 1 { "s" } else { "" },
            ),
        };
        let text = format!(
            "{}: {known}; a single cell may still differ by {}.",
            comparison.name,
            factor_or_percent(hidden),
        );
        sentences.push(Sentence::new(Tone::Note, text));
    }
    if let Some(drift) = comparison.differences.drift {
        let text = format!(
            "{}: repetitions drift (correlation of neighbouring repetitions {drift:.2}): the intervals are wider for it.",
            comparison.name
        );
        sentences.push(Sentence::new(Tone::Note, text));
    }
    sentences
}

/// Cells that the tables mark as faster or slower, each by its own interval.
fn marked_cells(comparison: &Comparison) -> usize {
    let marked = |summary: &Summary| summary.counts.faster + summary.counts.slower;
    match &comparison.overall {
        Some(overall) => marked(&overall.summary),
        None => comparison.sections.iter().flatten().map(marked).sum(),
    }
}

/// Cells of a verdict that take part in no mean because they have fewer than six repetitions, by name.
pub(crate) fn excluded(stages: &Stages<'_>, comparison: &Comparison) -> Option<Sentence> {
    /// More cells than this are counted.
    const LISTED: usize = 6;
    let cells = &comparison.differences.excluded;
    if cells.is_empty() {
        return None;
    }
    let name = |(section, row): &(usize, usize)| {
        stages.estimated.sections[*section].rows[*row].coordinates.to_string()
    };
    let listed: Vec<String> = cells.iter().take(LISTED).map(name).collect();
    let more = match cells.len().saturating_sub(LISTED) {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    let text = format!(
        "{}: cells with fewer than 6 repetitions take part in no mean: {}{more}.",
        comparison.name,
        listed.join("; "),
    );
    Some(Sentence::new(Tone::Note, text))
}
