//! Regions and breaks of tests that were measured once, in words.

use sharebench_model::units::counted;
use sharebench_stats::Estimate;

use crate::text::claims::{rate_of, show_factor};
use crate::text::stages::Stages;
use crate::types::span::{place_words, position_words};
use crate::types::{Comparison, Sentence, SingleRunBreak, SingleRunRegion, Tone};

/// Regions and breaks of one comparison in one section.
pub(crate) fn of_section(stages: &Stages<'_>, comparison: &Comparison, section: usize) -> Vec<Sentence> {
    let differences = &comparison.differences;
    let regions = differences.single_run_regions.iter().filter(|region| region.section == section);
    let mut texts: Vec<String> = regions.map(|region| region_words(stages, comparison, region)).collect();
    let breaks = differences.single_run_breaks.iter().filter(|found| found.section == section);
    texts.extend(breaks.map(|found| break_words(stages, comparison, found)));
    texts.into_iter().map(|text| Sentence::new(Tone::Note, text).about(section)).collect()
}

/// `write, records of 2KiB and more: bnetx shows 1.41 times the rate of netx (one run each; 6 cells, 1.31 to 1.53 times)`.
fn region_words(stages: &Stages<'_>, comparison: &Comparison, region: &SingleRunRegion) -> String {
    let ratio = |value: f64| Estimate { value, interval: None, n: 1 };
    let (low, high) = region.range;
    let range = if region.ratio < 1.0 { (1.0 / high, 1.0 / low) } else { (low, high) };
    let a = &stages.aligned.systems[comparison.a].name;
    let b = &stages.aligned.systems[comparison.b].name;
    format!(
        "{}, {}: {} (one run each; {}, {} to {} times; every cell differs by more than clocks and neighbouring cells \
         explain).",
        stages.estimated.sections[region.section].title,
        place_words(&region.place),
        rate_of(&ratio(region.ratio), a, b),
        counted(region.rows.len(), "cell"),
        show_factor(range.0),
        show_factor(range.1),
    )
}

fn break_words(stages: &Stages<'_>, comparison: &Comparison, found: &SingleRunBreak) -> String {
    let section = &stages.estimated.sections[found.section];
    let other = section.axes.iter().find(|axis| **axis != found.axis);
    let other = other.map_or_else(|| "line".to_owned(), |axis| axis.replace('_', " "));
    format!(
        "{}: the ratio {} changes with {}: from {} to {} (one run each; at {} of {} {other}s).",
        section.title,
        comparison.name,
        position_words(&found.axis, found.at.as_ref()),
        show_factor(found.before),
        show_factor(found.after),
        found.lines,
        found.lines,
    )
}
