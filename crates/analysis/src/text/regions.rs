//! Where two systems differ, in words.

use sharebench_model::units::{counted, percent};
use sharebench_stats::Estimate;

use crate::text::claims::{basis, claim, rate_of, show_factor, show_ratio};
use crate::text::comparisons::section_sentence;
use crate::text::stages::Stages;
use crate::types::span::{place_words, position_words};
use crate::types::{
    Comparison, DifferingRegion, RatioBreak, RatioVerdict, RegionReference, Sentence, SingleRunBreak,
    SingleRunRegion, Summary, Tone,
};

/// Typical and total-work ratio are both reported if they differ by more than this.
const APART: f64 = 0.03;

/// Regions and breaks of one comparison that speak of one section.
pub(crate) fn of_section(stages: &Stages<'_>, comparison: &Comparison, section: usize) -> Vec<Sentence> {
    let differences = &comparison.differences;
    let own =
        |region: &&DifferingRegion| region.section == section && whole_section(comparison, region).is_none();
    let regions = differences.regions.iter().filter(own);
    let mut found: Vec<Sentence> = regions
        .map(|region| {
            let tone = match region.verdict {
                RatioVerdict::NotResolved => Tone::NotResolved,
                RatioVerdict::AboutTheSame => Tone::Same,
                RatioVerdict::Faster | RatioVerdict::Slower => Tone::Difference,
            };
            Sentence::new(tone, format!("{}.", region_words(stages, comparison, region)))
                .about(section)
                .about_region(reference(stages, comparison, region))
        })
        .collect();
    let breaks = differences.breaks.iter().filter(|found| found.section == section);
    found.extend(
        breaks.map(|found| Sentence::new(Tone::Note, break_words(stages, comparison, found)).about(section)),
    );
    let of_single_runs = differences.single_run_regions.iter().filter(|region| region.section == section);
    let words = |region| single_run_region_words(stages, comparison, region);
    found.extend(of_single_runs.map(|region| Sentence::new(Tone::Note, words(region)).about(section)));
    let of_single_runs = differences.single_run_breaks.iter().filter(|found| found.section == section);
    let words = |found| single_run_break_words(stages, comparison, found);
    found.extend(of_single_runs.map(|found| Sentence::new(Tone::Note, words(found)).about(section)));
    found
}

/// The summary of a region's section, if the region is all of it. The two estimate one ratio by different methods, so
/// that only the summary is reported.
fn whole_section<'a>(comparison: &'a Comparison, region: &DifferingRegion) -> Option<&'a Summary> {
    let all = comparison.sections[region.section].as_ref()?;
    let is_whole = !region.refines && region.rows.len() >= all.cells && region.verdict == all.verdict;
    is_whole.then_some(all)
}

/// The second and third sentence of an answer: the largest difference, and the largest in the opposite direction.
pub(crate) fn answer(stages: &Stages<'_>, comparison: &Comparison) -> Vec<Sentence> {
    let differences = &comparison.differences;
    let Some(scanned) = &differences.scanned else { return Vec::new() };
    let mut different: Vec<&DifferingRegion> =
        differences.regions.iter().filter(|region| is_difference(region)).collect();
    // A region of every cell repeats the first sentence.
    if different.iter().any(|region| region.rows.len() == scanned.cells) {
        return Vec::new();
    }
    different.sort_by(|x, y| importance(y).total_cmp(&importance(x)));
    let Some(first) = different.first() else {
        let text = format!(
            "{}: no region of 4 cells or more differs significantly by more than {} ({} in {}, {}).",
            comparison.name,
            percent(stages.options.tolerance, 0),
            counted(scanned.cells, "cell"),
            counted(scanned.sections, "test"),
            basis(scanned.pairing, scanned.sweeps),
        );
        return vec![Sentence::new(Tone::Note, text)];
    };
    let say = |lead: &str, region: &DifferingRegion| {
        let text = match whole_section(comparison, region) {
            Some(all) => section_sentence(stages, comparison, region.section, all).text,
            None => format!("{}.", region_words(stages, comparison, region)),
        };
        Sentence::new(Tone::Difference, format!("{lead}{text}"))
            .about(region.section)
            .about_region(reference(stages, comparison, region))
    };
    let mut found = vec![say("Largest difference: ", first)];
    let winner = |region: &DifferingRegion| region.typical.value > 1.0;
    let opposite = different.iter().find(|region| winner(region) != winner(first));
    let more = different.iter().filter(|region| !region.refines && region.section != first.section).count();
    match (opposite, more) {
        (Some(region), _) => found.push(say("In the opposite direction: ", region)),
        (None, 1..) => {
            found.push(Sentence::new(
                Tone::Note,
                format!(
                    "{} in other tests with the same faster system; none in the opposite direction.",
                    counted(more, "region")
                ),
            ));
        }
        _ => {}
    }
    found
}

/// Index of a region in the analysis.
fn reference(
    stages: &Stages<'_>,
    comparison: &Comparison,
    region: &DifferingRegion,
) -> Option<RegionReference> {
    let at = stages.judged.comparisons.iter().position(|other| std::ptr::eq(other, comparison))?;
    let region = comparison.differences.regions.iter().position(|other| std::ptr::eq(other, region))?;
    Some(RegionReference { comparison: at, region })
}

fn is_difference(region: &DifferingRegion) -> bool {
    matches!(region.verdict, RatioVerdict::Faster | RatioVerdict::Slower)
}

fn importance(region: &DifferingRegion) -> f64 {
    region.typical.value.ln().abs() * (region.rows.len() as f64).sqrt()
}

/// `read, records of 128KiB and more: nfs is 12 % faster than smb [9.2, 15] (15 cells, 10 interleaved repetitions)`.
fn region_words(stages: &Stages<'_>, comparison: &Comparison, region: &DifferingRegion) -> String {
    let a = &stages.aligned.systems[comparison.a].name;
    let b = &stages.aligned.systems[comparison.b].name;
    let what = if region.verdict == RatioVerdict::NotResolved && !region.refines {
        format!(
            "{a} and {b} differ (p = {:.3}), but the size is not resolved: ratio {}",
            region.p_value,
            show_ratio(&region.typical)
        )
    } else {
        claim(&region.typical, region.verdict, a, b)
    };
    let apart = |total: &Estimate| (total.value / region.typical.value).ln().abs() > APART.ln_1p();
    let total = region.total_work.filter(apart).map_or(String::new(), |total| {
        let verdict = RatioVerdict::of(&total.map(f64::ln), stages.options.tolerance);
        format!("; by total work {}", claim(&total, verdict, a, b))
    });
    let part = if region.refines { "part of the region above, with another ratio: " } else { "" };
    let pairing =
        comparison.differences.scanned.map_or(crate::types::Pairing::SingleRun, |scanned| scanned.pairing);
    format!(
        "{}, {}: {part}{what} ({}, {}{total})",
        stages.estimated.sections[region.section].title,
        place_words(&region.place),
        counted(region.rows.len(), "cell"),
        basis(pairing, region.typical.n)
    )
}

fn break_words(stages: &Stages<'_>, comparison: &Comparison, found: &RatioBreak) -> String {
    let low = &found.between.0;
    let high = &found.between.1;
    let place = if low == high {
        String::new()
    } else {
        let from = position_words(&found.axis, low.as_ref());
        let to = position_words(&found.axis, high.as_ref());
        format!(" (95 %: {from} to {to})")
    };
    format!(
        "{}: the ratio {} changes with {}{place}: from {} to {}.",
        stages.estimated.sections[found.section].title,
        comparison.name,
        position_words(&found.axis, found.at.as_ref()),
        show_ratio(&found.before),
        show_ratio(&found.after)
    )
}

/// `write, records of 2KiB and more: bnetx shows 1.41 times the rate of netx (one run each; 6 cells, 1.31 to 1.53 times)`.
fn single_run_region_words(stages: &Stages<'_>, comparison: &Comparison, region: &SingleRunRegion) -> String {
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

fn single_run_break_words(stages: &Stages<'_>, comparison: &Comparison, found: &SingleRunBreak) -> String {
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
