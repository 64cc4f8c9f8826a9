//! The verdict of a gate in words.

use sharebench_model::units::{counted, percent, percent_limit};
use sharebench_stats::Estimate;

use crate::text::claims::show_percent;
use crate::text::series::moved;
use crate::types::span::place_words;
use crate::types::{
    Analysis, Comparison, DifferingPart, GateLine, GateOptions, GateOutcome, RatioVerdict, SeriesLine,
};

/// A ratio in percent: `-0.4 % [-2.0 %, +1.2 %]`.
pub(crate) fn change_words(ratio: &Estimate) -> String {
    let bounds = ratio
        .interval
        .map(|interval| format!(" [{}, {}]", show_percent(interval.low), show_percent(interval.high)));
    show_percent(ratio.value) + &bounds.unwrap_or_default()
}

/// The good runs: `the good run before`, `the 7 good runs before`.
fn good_runs(number: usize) -> String {
    match number {
        1 => "the good run before".to_owned(),
        number => format!("the {number} good runs before"),
    }
}

/// `smb read is 5.6 % slower [3.9, 7.2] than in the 7 good runs before`.
pub(crate) fn slower_line(line: &GateLine) -> String {
    let (before, latest) = line.runs;
    let name = match line.target.as_str() {
        GateLine::ALL => line.test.clone(),
        target => format!("{target} {}", line.test),
    };
    let moved = moved(&line.ratio, RatioVerdict::Slower);
    let subject = match latest {
        1 => format!("{name}: {moved}"),
        latest => format!("{name}: in the last {latest} runs {moved}"),
    };
    format!("{subject} than in {}", good_runs(before))
}

/// `smb read falls gradually over 12 runs, 9.0 % slower [7.1, 11.2] in all`.
pub(crate) fn trend_finding(line: &SeriesLine, total: &Estimate) -> String {
    format!(
        "{} {}: falls gradually over {}, {} in all",
        line.target,
        line.test,
        counted(total.n, "run"),
        moved(total, RatioVerdict::Slower)
    )
}

/// `smb read, records of 128KiB and more: 25.0 % slower [23.1, 26.8] than in the last good run`.
pub(crate) fn part_finding(analysis: &Analysis, comparison: &Comparison, part: &DifferingPart) -> String {
    let titles = part.sections.iter().map(|section| analysis.sections[*section].title.as_str());
    let titles: Vec<&str> = titles.collect();
    format!(
        "{} {}, {}: {} than in the last good run",
        analysis.systems[comparison.a].name,
        titles.join(" and "),
        place_words(&part.place),
        moved(&part.typical, RatioVerdict::Slower)
    )
}

/// Why a comparison is too noisy for the limit.
pub(crate) fn wide_interval(comparison: &Comparison, half_width: f64, options: &GateOptions) -> String {
    format!(
        "{}: the interval of ± {} is wider than the limit of {}; measure longer, repeat more, or use a quieter machine",
        comparison.name,
        percent(half_width.exp_m1(), 1),
        percent_limit(options.max_slower)
    )
}

/// The verdict as one line.
pub(crate) fn verdict_words(
    outcome: GateOutcome,
    first: Option<&str>,
    good: usize,
    options: &GateOptions,
) -> String {
    let limit = percent_limit(options.max_slower);
    match first {
        Some(first) => format!("{}: {first} (limit {limit})", outcome.word()),
        None => format!("{}: no test is slower than in {} (limit {limit})", outcome.word(), good_runs(good)),
    }
}
