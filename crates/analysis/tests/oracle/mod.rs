//! An oracle over the words of an analysis: no sentence may contradict a cell that it is about.
//!
//! The judge is the interval that the table shows for each cell. A cell contradicts a sentence if its whole interval does.
#![allow(dead_code, reason = "each test program uses its own part")]

use sharebench_analysis::{
    Analysis, Comparison, ComparisonOutcome, DifferingPart, Interval, PartEvidence, Ratio, RatioVerdict, View,
};

/// Every sentence that a cell contradicts, with the cell.
pub fn contradictions(analysis: &Analysis) -> Vec<String> {
    analysis.comparisons.iter().flat_map(|comparison| of_comparison(analysis, comparison)).collect()
}

/// Index of a section and a row, and the ratio of that cell.
type Cell<'a> = ((usize, usize), &'a Ratio);

fn of_comparison(analysis: &Analysis, comparison: &Comparison) -> Vec<String> {
    let index = comparison.verdict.comparison;
    let mut cells: Vec<Cell<'_>> = Vec::new();
    for (section, content) in analysis.sections.iter().enumerate() {
        for (row, content) in content.rows.iter().enumerate() {
            cells.extend(content.ratios[index].as_ref().map(|ratio| ((section, row), ratio)));
        }
    }
    let cached = cells.iter().all(|(_, ratio)| ratio.client_cached);
    cells.retain(|(_, ratio)| ratio.client_cached == cached && ratio.typical.interval.is_some());
    let mut found = Vec::new();
    for part in &comparison.differences.parts {
        found.extend(of_part(analysis, part, &cells));
    }
    found.extend(of_verdict(analysis, comparison, &cells));
    found.extend(of_sections(analysis, comparison, &cells));
    found
}

fn interval(ratio: &Ratio) -> Interval {
    ratio.typical.interval.expect("cells without one were removed")
}

fn words(analysis: &Analysis, (section, row): (usize, usize), ratio: &Ratio) -> String {
    let section = &analysis.sections[section];
    format!("{} {}: {:?}", section.title, section.rows[row].coordinates, ratio.typical)
}

/// True if the whole interval lies in the direction opposite to this one.
fn is_opposite(direction: RatioVerdict, ratio: &Ratio, tolerance: f64) -> bool {
    match direction {
        RatioVerdict::Faster => interval(ratio).high < 1.0 / (1.0 + tolerance),
        RatioVerdict::Slower => interval(ratio).low > 1.0 + tolerance,
        _ => false,
    }
}

fn of_part(analysis: &Analysis, part: &DifferingPart, cells: &[Cell<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    let places: Vec<(usize, usize)> = part.places().collect();
    for (place, ratio) in cells.iter().filter(|(place, _)| places.contains(place)) {
        let tolerance = analysis.tolerance;
        if is_opposite(part.direction, ratio, tolerance) {
            found.push(format!("part {part:?} against {}", words(analysis, *place, ratio)));
        }
        let apart = interval(ratio).high < part.range.low / (1.0 + tolerance)
            || interval(ratio).low > part.range.high * (1.0 + tolerance);
        if part.evidence == PartEvidence::EachCell && apart {
            found.push(format!("range of {part:?} against {}", words(analysis, *place, ratio)));
        }
    }
    found
}

/// The share after these words: `6 %`, `2.40 times`.
fn share_after(text: &str, lead: &str) -> Option<f64> {
    let rest = text.split_once(lead)?.1;
    let mut fields = rest.split(' ');
    let number: f64 = fields.next()?.parse().expect("a number");
    match fields.next()?.trim_end_matches([';', ',', '.']) {
        "%" => Some(number / 100.0),
        "times" => Some(number - 1.0),
        other => panic!("{other}: {text}"),
    }
}

fn of_verdict(analysis: &Analysis, comparison: &Comparison, cells: &[Cell<'_>]) -> Vec<String> {
    let verdict = &comparison.verdict;
    let view = [View::Sweep, View::Depth, View::Load]
        .into_iter()
        .find(|view| cells.iter().any(|((section, _), _)| analysis.sections[*section].view == *view));
    let counted: Vec<&Cell<'_>> =
        cells.iter().filter(|((section, _), _)| Some(analysis.sections[*section].view) == view).collect();
    let text = &verdict.text;
    let mut found = Vec::new();
    let mut contradicted = |what: &str, (place, ratio): &Cell<'_>| {
        found.push(format!("{text} ({what}) against {}", words(analysis, *place, ratio)));
    };
    // Digits of a sentence are rounded.
    let hidden = share_after(text, "no cell differs by more than ").map(|share| share * 1.05 + 0.005);
    let opposite = share_after(text, "elsewhere nothing opposite beyond ").map(|share| share * 1.05 + 0.005);
    let parts = || comparison.differences.parts.iter();
    let direction = match verdict.outcome {
        ComparisonOutcome::Faster => RatioVerdict::Faster,
        ComparisonOutcome::Slower => RatioVerdict::Slower,
        _ => RatioVerdict::NotResolved,
    };
    for cell in &counted {
        let (place, ratio) = cell;
        let in_part = parts().any(|part| part.places().any(|known| known == *place));
        let beyond = |share: f64, ratio: &Ratio| {
            interval(ratio).low > 1.0 + share || interval(ratio).high < 1.0 / (1.0 + share)
        };
        if hidden.is_some_and(|share| beyond(share, ratio)) {
            contradicted("hidden", cell);
        }
        if opposite.is_some_and(|share| !in_part && is_opposite(direction, ratio, share)) {
            contradicted("opposite", cell);
        }
        let is_mean = !text.contains("on average") && verdict.parts.is_empty() && verdict.cells > 1;
        if is_mean && is_opposite(direction, ratio, analysis.tolerance) {
            contradicted("mean", cell);
        }
        let equal = verdict.outcome == ComparisonOutcome::Equal && !text.contains("on average");
        if equal && beyond(analysis.tolerance, ratio) {
            contradicted("equal", cell);
        }
    }
    found
}

/// Means of sections that do not state that they are averages.
fn of_sections(analysis: &Analysis, comparison: &Comparison, cells: &[Cell<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for (section, summary) in comparison.sections.iter().enumerate() {
        let Some(summary) = summary.as_ref().filter(|summary| !summary.varies) else { continue };
        for (place, ratio) in cells.iter().filter(|((of, _), _)| *of == section) {
            if ratio.typical.n >= 8 && is_opposite(summary.verdict, ratio, analysis.tolerance) {
                let title = &analysis.sections[section].title;
                found.push(format!(
                    "{title}: {:?} against {}",
                    summary.typical,
                    words(analysis, *place, ratio)
                ));
            }
        }
    }
    found
}
