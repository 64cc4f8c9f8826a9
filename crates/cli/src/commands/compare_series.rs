//! `compare --series`: runs of one plan in order, and the runs at which their level changed.

use std::process::ExitCode;

use sharebench_analysis::{Options, RatioVerdict, RunData, Series, series as find};
use sharebench_report::{series_csv, series_json, series_markdown, series_text};

use crate::commands::compare::CompareArgs;
use crate::exit::{Failure, SLOWER};
use crate::flags::format::Format;
use crate::output::print_out;

/// Finds the changes and prints them.
pub fn series(runs: &[RunData], args: &CompareArgs) -> Result<ExitCode, Failure> {
    let series =
        find(runs, &Options::default()).map_err(|error| Failure::usage(format!("--series: {error}")))?;
    let text = match args.format {
        Format::Text => series_text(&series),
        Format::Md => series_markdown(&series),
        Format::Json => series_json(&series).map_err(|error| Failure::Internal(error.into()))?,
        Format::Csv => series_csv(&series),
    };
    let code = print_out(&text)?;
    match args.fail_if_slower {
        Some(limit) if is_slower_now(&series, limit) => Ok(ExitCode::from(SLOWER)),
        _ => Ok(code),
    }
}

/// True if the level of the last run is significantly slower than the level before, by more than `limit`.
fn is_slower_now(series: &Series, limit: f64) -> bool {
    let last = |line: usize| {
        let changes = series.changes.iter().rev();
        changes.flat_map(|change| &change.lines).find(|change| change.line == line)
    };
    (0..series.lines.len()).filter_map(last).any(|change| {
        let high = change.ratio.interval.map(|interval| interval.high);
        change.verdict == RatioVerdict::Slower && high.is_some_and(|high| high < 1.0 - limit)
    })
}
