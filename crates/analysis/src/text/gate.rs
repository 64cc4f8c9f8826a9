//! The verdict of a gate in words.

use sharebench_model::units::{counted, percent, percent_limit};
use sharebench_model::{Coordinates, axis};
use sharebench_stats::{Estimate, Interval};

use crate::text::claims::show_percent;
use crate::text::parts::listed;
use crate::text::series::moved;
use crate::types::span::{place_words, position_words};
use crate::types::{
    Analysis, Comparison, DifferingPart, GateCalibration, GateLine, GateOptions, GateOutcome, RatioVerdict,
    SeriesLine,
};

/// A ratio in percent: `-0.4 % [-2.0 %, +1.2 %]`.
pub(crate) fn change_words(ratio: &Estimate) -> String {
    let bounds = ratio
        .interval
        .map(|interval| format!(" [{}, {}]", show_percent(interval.low), show_percent(interval.high)));
    show_percent(ratio.value) + &bounds.unwrap_or_default()
}

/// The good runs: `the last good run`, `the 7 good runs before`.
fn good_runs(number: usize) -> String {
    match number {
        1 => "the last good run".to_owned(),
        number => format!("the {number} good runs before"),
    }
}

/// `smb read is 5.6 % slower [3.9, 7.2] than in the 7 good runs before`.
pub(crate) fn slower_line(line: &GateLine) -> String {
    let (before, latest) = line.runs;
    let name = line.name();
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
    let titles = part.sections.iter().map(|section| analysis.sections[*section].title.clone());
    format!(
        "{} {}, {}: {} than in the last good run",
        analysis.systems[comparison.a].name,
        listed(titles.collect()),
        place_words(&part.place),
        moved(&part.typical, RatioVerdict::Slower)
    )
}

/// No run until now is sharp enough for the limit.
pub(crate) fn candidate_words(
    is_first: bool,
    line: &SeriesLine,
    error: f64,
    options: &GateOptions,
) -> String {
    let kept = if is_first { "first run: kept" } else { "no run counts yet: this one is kept" };
    format!(
        "{kept} as a candidate, because it is noisy: its repetitions leave a standard error of {} for {} {}; a \
         sharper run replaces it (limit {})",
        percent(error.exp_m1(), 1),
        line.target,
        line.test,
        percent_limit(options.max_slower)
    )
}

/// The first run that counts replaces those before it.
pub(crate) fn replaced_words(before: usize) -> String {
    let (runs, them) = match before {
        1 => ("noisy run".to_owned(), "it"),
        before => (format!("{before} noisy runs"), "them"),
    };
    format!("baseline recorded: this run is sharper than the {runs} before, and replaces {them}")
}

/// `smb read -3.1 % [-5.6 %, -0.6 %]; most in files of 1MiB, records of 64KiB: -4.0 % [-7.1 %, -0.8 %]`.
pub(crate) fn decision_words(line: &GateLine, cell: Option<(&SeriesLine, &Coordinates, Estimate)>) -> String {
    let most = cell.map_or_else(String::new, |(of, at, ratio)| {
        let names = line.is_all().then(|| format!("{} {}", of.target, of.test));
        let axes = at.iter().filter(|(axis, _)| ![axis::TEST, axis::WORKLOAD].contains(axis));
        let positions = axes.map(|(axis, value)| position_words(axis, Some(value)));
        let place: Vec<String> = names.into_iter().chain(positions).collect();
        format!("; lowest cell: {}: {}", place.join(", "), change_words(&ratio))
    });
    format!("{} {}{most}", line.name(), line.change)
}

/// Most times as many repetitions that are worth a recommendation.
const MAX_TIMES: f64 = 20.0;

/// Why the runs of a line are too noisy for the limit, and what would make the run conclusive. `error` is the standard
/// error within the last run, as logarithm.
pub(crate) fn wide_line(line: &GateLine, error: Option<f64>, options: &GateOptions) -> String {
    let limit = percent_limit(options.max_slower);
    let needed = options.largest_scatter();
    let last = line.scatter_of_last.ln_1p();
    // What repetitions cannot remove is known to lie between runs.
    let within = error.filter(|error| error * error > 0.5 * last * last);
    let what = match within {
        Some(error) => format!("its repetitions leave a standard error of {}", percent(error.exp_m1(), 1)),
        None => format!("the runs scatter by {}", percent(line.scatter, 1)),
    };
    let times = (last / needed).powi(2).ceil();
    let remedy = match within {
        Some(_) if times <= MAX_TIMES => format!("{times:.0} times as many repetitions"),
        Some(_) => "a quieter machine".to_owned(),
        None => format!("a limit of {}", percent(GateOptions::limit_for(last), 0)),
    };
    format!(
        "{}: {} is wider than the limit of {limit} on either side: {what}, and the limit allows {}; {remedy} would make \
         such a run conclusive",
        line.name(),
        line.change,
        percent(needed.exp_m1(), 1)
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

/// The smallest limit with its method and uncertainty.
pub(crate) fn calibration_words(calibration: &GateCalibration) -> String {
    let Interval { low, high } = calibration.interval;
    format!(
        "smallest limit: --max-slower {} [{}, {}]: 2.5 times the scatter between {} of {} {} ({}), with the 95 % interval of \
         a standard deviation; nights differ more than runs in a row, so prefer the upper bound",
        percent(calibration.limit, 1),
        percent(low, 1),
        percent(high, 1),
        counted(calibration.runs, "run"),
        calibration.target,
        calibration.test,
        percent(calibration.scatter, 1)
    )
}
