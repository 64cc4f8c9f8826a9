//! Which of the runs before count: a first run on a busy machine is a candidate, which a sharper run replaces.

use sharebench_stats::{RunSeries, is_noisier, outdated_runs};

use super::expected;
use super::tables::mean_of;
use crate::series::CommonLine;
use crate::types::{GateOptions, SeriesLine};

/// The index of the first run that counts; that of the judged run, the last one, if none before it does.
///
/// A run at the begin does not count if it is too noisy for the limit and noisier than those after it. Runs at the begin
/// that are clearly slower than all runs after them do not count either: their machine was busy, or their level was improved.
pub(super) fn first_that_counts(lines: &[CommonLine], options: &GateOptions) -> usize {
    let judged = lines.first().map_or(0, |found| found.series.values.len().saturating_sub(1));
    let is_replaced = |run: usize| {
        lines.iter().any(|CommonLine { series, .. }| {
            let error = series.errors[run];
            let is_too_noisy = error.is_some_and(|error| error > options.largest_scatter());
            is_too_noisy && is_noisier(error, &series.errors[run + 1..])
        })
    };
    let sharp = (0..judged).find(|run| !is_replaced(*run)).unwrap_or(judged);
    let series: Vec<RunSeries> = lines.iter().map(|found| found.series.between(sharp, judged + 1)).collect();
    sharp + outdated_runs(&mean_of(&series), expected(options))
}

/// The line of a run that is noisiest within it, with its standard error as logarithm, if it is too noisy for the limit.
pub(super) fn noisy_line<'l>(
    lines: &'l [CommonLine],
    run: usize,
    options: &GateOptions,
) -> Option<(&'l SeriesLine, f64)> {
    let errors = lines.iter().filter_map(|found| Some((&found.line, found.series.errors[run]?)));
    let noisiest = errors.max_by(|x, y| x.1.total_cmp(&y.1));
    noisiest.filter(|(_, error)| *error > options.largest_scatter())
}
