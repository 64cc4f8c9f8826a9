//! Each test of each target with one value per run, judged by the scatter between the runs.

use sharebench_model::Coordinates;
use sharebench_stats::{Estimate, Interval, RecentLevel, RunSeries, recent_levels, run_series_trends};

use super::{expected, may_reach_the_limit};
use crate::series::CommonLine;
use crate::text::gate::{change_words, trend_finding};
use crate::types::{GateLine, GateOptions, GateOutcome, SeriesLine};

/// The error of the search for gradual falls; a tenth of it is that of trends.
const TREND_ERROR: f64 = 0.01;

/// The share of the error that all tests have where there are several; their mean has a whole one.
const SHARE_OF_TESTS: f64 = 0.5;

/// A run says nothing about the runs before it if it is noisier than they are by more than this factor. The error of six
/// equal repetitions is wider by chance in one of 100,000 runs.
const UNLIKE: f64 = 2.5;

/// The runs that count, with the judged one as the last.
pub(super) struct Tables {
    lines: Vec<CommonLine>,
    /// Of all lines together; none of one line alone.
    all: Option<RunSeries>,
}

impl Tables {
    /// The runs from `first` on.
    pub(super) fn new(mut lines: Vec<CommonLine>, first: usize) -> Self {
        for found in &mut lines {
            found.series = found.series.between(first, found.series.values.len());
            for (_, cell) in &mut found.cells {
                *cell = cell.between(first, cell.values.len());
            }
        }
        let series: Vec<RunSeries> = lines.iter().map(|found| found.series.clone()).collect();
        let all = (series.len() > 1).then(|| mean_of(&series));
        Self { lines, all }
    }

    /// The lines with their outcomes, the one that decides first.
    pub(super) fn judged_lines(&self, options: &GateOptions) -> Vec<GateLine> {
        let share = if self.all.is_some() { SHARE_OF_TESTS / self.lines.len() as f64 } else { 1.0 };
        let one = |CommonLine { line, series, .. }: &CommonLine| {
            judged(&line.target, &line.test, &levels(series, share, options), options)
        };
        let mut found: Vec<GateLine> = self.lines.iter().filter_map(one).collect();
        // All lines together often show what none shows alone.
        if let Some(all) = &self.all {
            found.extend(judged(GateLine::ALL, GateLine::ALL_TESTS, &levels(all, 1.0, options), options));
        }
        let low = |line: &GateLine| line.ratio.interval.map_or(line.ratio.value, |interval| interval.low);
        found.sort_by(|x, y| y.outcome.cmp(&x.outcome).then(low(x).total_cmp(&low(y))));
        found
    }

    /// Gradual falls over all runs that may reach the limit.
    pub(super) fn slower_trends(&self, options: &GateOptions) -> Vec<String> {
        let series: Vec<RunSeries> = self.lines.iter().map(|found| found.series.clone()).collect();
        let trends = run_series_trends(&series, &[], TREND_ERROR, options.level);
        let falls = trends.into_iter().filter(|(_, trend)| {
            trend.total.interval.is_some_and(|interval| interval.high < 0.0)
                && may_reach_the_limit(&trend.total, options)
        });
        falls.map(|(line, trend)| trend_finding(&self.lines[line].line, &trend.total.map(f64::exp))).collect()
    }

    /// The largest scatter between runs of a test, as logarithm.
    pub(super) fn scatter(lines: &[GateLine]) -> f64 {
        lines.iter().filter(|line| !line.is_all()).map(|line| line.scatter.ln_1p()).fold(0.0, f64::max)
    }

    /// The standard error of the last run of a line by its repetitions, as logarithm.
    pub(super) fn error_within(&self, line: &GateLine) -> Option<f64> {
        *self.series(line)?.errors.last()?
    }

    fn series(&self, line: &GateLine) -> Option<&RunSeries> {
        if line.is_all() {
            return self.all.as_ref();
        }
        self.lines.iter().find(|found| line.is_made_of(&found.line)).map(|found| &found.series)
    }

    /// The cell of a line that fell most between the same runs, with its ratio; none if the line has one cell alone.
    pub(super) fn deciding_cell(
        &self,
        line: &GateLine,
        options: &GateOptions,
    ) -> Option<(&SeriesLine, &Coordinates, Estimate)> {
        let (_, latest) = line.runs;
        let mut fallen: Option<(&SeriesLine, &Coordinates, Estimate)> = None;
        let mut number = 0;
        for found in self.lines.iter().filter(|found| line.is_made_of(&found.line)) {
            for (at, cell) in &found.cells {
                number += 1;
                let levels = levels(cell, 1.0, options);
                let Some(level) = levels.get(latest - 1) else { continue };
                if fallen.is_none_or(|(_, _, least)| level.difference.value < least.value) {
                    fallen = Some((&found.line, at, level.difference));
                }
            }
        }
        fallen.filter(|_| number > 1).map(|(line, at, log)| (line, at, log.map(f64::exp)))
    }
}

fn levels(series: &RunSeries, share: f64, options: &GateOptions) -> Vec<RecentLevel> {
    recent_levels(series, expected(options), share, options.level)
}

/// The mean of all lines in each run. Repetitions share their conditions, so that the errors of the lines are not taken as
/// independent.
pub(crate) fn mean_of(series: &[RunSeries]) -> RunSeries {
    let lines = series.len() as f64;
    let runs = series.first().map_or(0, |one| one.values.len());
    let values = (0..runs).map(|run| series.iter().map(|one| one.values[run]).sum::<f64>() / lines);
    let error = |run: usize| {
        let known: Option<Vec<f64>> = series.iter().map(|one| one.errors[run]).collect();
        known.map(|known| known.iter().sum::<f64>() / lines)
    };
    RunSeries { values: values.collect(), errors: (0..runs).map(error).collect() }
}

/// The outcome of one line: of the numbers of latest runs that are slower the clearest one. Otherwise the last run alone is
/// shown; if the runs are too noisy for the limit, the number of them that shows most.
fn judged(target: &str, test: &str, levels: &[RecentLevel], options: &GateOptions) -> Option<GateLine> {
    let is_slower =
        |level: &&RecentLevel| level.significance >= 1.0 && may_reach_the_limit(&level.difference, options);
    let slower = levels.iter().filter(is_slower).max_by(|x, y| x.significance.total_cmp(&y.significance));
    let wide = too_wide(levels, options).filter(|_| slower.is_none());
    let shown = slower.or(wide).or(levels.first())?;
    let ratio = shown.difference.map(f64::exp);
    let outcome = match (slower, wide) {
        (Some(_), _) => GateOutcome::Slower,
        (None, Some(_)) => GateOutcome::Inconclusive,
        (None, None) => GateOutcome::Passed,
    };
    Some(GateLine {
        target: target.to_owned(),
        test: test.to_owned(),
        outcome,
        ratio,
        runs: (ratio.n, shown.runs),
        scatter: shown.scatter.exp_m1(),
        scatter_of_last: shown.last.exp_m1(),
        change: change_words(&ratio),
    })
}

/// The comparison that cannot show a fall of the limit. A run that is noisier than the others has to show it alone: the runs
/// before it say nothing about it. Runs that are alike show it together.
fn too_wide<'l>(levels: &'l [RecentLevel], options: &GateOptions) -> Option<&'l RecentLevel> {
    let half_width =
        |level: &RecentLevel| level.difference.interval.map_or(f64::INFINITY, Interval::half_width);
    let last = levels.first()?;
    let narrowest = levels.iter().min_by(|x, y| half_width(x).total_cmp(&half_width(y)))?;
    let (width, deviation) = if last.last > UNLIKE * last.scatter {
        (half_width(last), last.last)
    } else {
        (half_width(narrowest), narrowest.scatter)
    };
    let is_wide = width > -options.edge() && may_reach_the_limit(&last.difference, options);
    (is_wide && deviation > options.largest_scatter()).then_some(last)
}
