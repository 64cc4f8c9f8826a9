//! `compare --series`: runs of one plan in order, and the runs at which their level changed.

use std::process::ExitCode;

use sharebench_analysis::{LineChange, Options, RatioVerdict, RunData, Series, series as find};
use sharebench_model::units::percent;
use sharebench_report::{series_csv, series_json, series_markdown, series_text};

use crate::commands::compare::CompareArgs;
use crate::exit::{Failure, INCONCLUSIVE, SLOWER};
use crate::flags::format::Format;
use crate::output::{message, print_out};

/// Finds the changes and prints them.
pub fn series(runs: &[RunData], args: &CompareArgs) -> Result<ExitCode, Failure> {
    let series = find(runs, &Options { tolerance: args.tolerance, ..Options::default() })
        .map_err(|error| Failure::usage(format!("--series: {error}")))?;
    let text = match args.format {
        Format::Text => series_text(&series),
        Format::Md => series_markdown(&series),
        Format::Json => series_json(&series).map_err(|error| Failure::Internal(error.into()))?,
        Format::Csv => series_csv(&series),
    };
    let code = print_out(&text)?;
    // A fall of either limit has to be detectable.
    let limits = [args.max_slower, args.require_sharpness];
    let needed = limits.into_iter().flatten().reduce(f64::min);
    match args.max_slower {
        Some(limit) if is_slower_now(&series, limit) => Ok(ExitCode::from(SLOWER)),
        _ if needed.is_some_and(|limit| is_inconclusive(&series, limit)) => {
            message(inconclusive_words(&series));
            Ok(ExitCode::from(INCONCLUSIVE))
        }
        _ => Ok(code),
    }
}

/// True if the last run alone may be slower by more than `limit`, or if no change was found, and a fall of `limit` would
/// probably not have been.
fn is_inconclusive(series: &Series, limit: f64) -> bool {
    if !series.last_run.is_empty() {
        let may_be_slower =
            |change: &LineChange| change.ratio.interval.is_none_or(|interval| interval.low < 1.0 - limit);
        return series.last_run.iter().any(may_be_slower);
    }
    let is_unchanged = series.changes.is_empty() && series.trends.is_empty();
    is_unchanged && series.detectable_fall.is_none_or(|fall| fall > limit)
}

/// Why the options of a build are not met without a change.
pub fn inconclusive_words(series: &Series) -> String {
    if !series.last_run.is_empty() {
        return "--series: inconclusive; the last run alone differs, and one run cannot decide".to_owned();
    }
    let detectable = match (series.detectable_fall, series.runs_to_detect_half) {
        (Some(fall), _) => format!("these runs would detect a fall of {}", percent(fall, 0)),
        (None, Some(runs)) => format!("a fall to half of the rate would be detected after {runs} more runs"),
        (None, None) => "these runs would miss a fall to half of the rate".to_owned(),
    };
    format!("--series: inconclusive; no change was found, and {detectable}")
}

/// True if the level of the last run is significantly slower than the level before, by more than `limit`, or the runs fall
/// gradually by more than that.
fn is_slower_now(series: &Series, limit: f64) -> bool {
    let last = |line: usize| {
        let changes = series.changes.iter().rev();
        changes.flat_map(|change| &change.lines).find(|change| change.line == line)
    };
    let of_changes =
        (0..series.lines.len()).filter_map(last).map(|change| (change.verdict, change.ratio.interval));
    let of_trends = series.trends.iter().map(|trend| (trend.verdict, trend.total.interval));
    of_changes.chain(of_trends).any(|(verdict, interval)| {
        verdict == RatioVerdict::Slower && interval.is_some_and(|interval| interval.high < 1.0 - limit)
    })
}
