//! Many runs of one plan in a row: from which run on something is different.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_model::{Coordinates, Value, axis};
use sharebench_stats::{
    LevelShift, RunSeries, Trend, detectable_fall, further_runs_like_the_last, further_runs_to_detect_half,
    last_run_shift, last_runs_alone, median, median_or_zero, run_series_shifts, run_series_trends, shift,
};

use crate::align::rates::{rate, usable};
use crate::text::series::series_sentences;
use crate::types::{
    LineChange, Options, RateUnit, RatioVerdict, RunData, Series, SeriesChange, SeriesError, SeriesLine,
    SeriesRun, SeriesTrend,
};

/// Fewest runs that make a series.
const FEWEST: usize = 6;

/// Up to this many different names are listed where a target is named differently in each run.
const MAX_NAMES: usize = 3;

/// Target, and test or workload.
type Key = (String, String);

/// Finds the runs from which on a test of a target is faster or slower than before.
pub fn series(runs: &[RunData], options: &Options) -> Result<Series, SeriesError> {
    if runs.len() < FEWEST {
        return Err(SeriesError::TooFew(runs.len()));
    }
    let lines = common_lines(runs)?;
    let (lines, logs): (Vec<SeriesLine>, Vec<RunSeries>) =
        lines.into_iter().map(|found| (found.line, found.series)).unzip();
    let error = 1.0 - options.level;
    let shifts = run_series_shifts(&logs, error, options.seed);
    let trends = trends(&logs, &shifts, error, options);
    let changes = changes(&logs, runs.len(), &shifts, &trends, options);
    let last_run = last_run(&logs, &shifts, &trends, error, options);
    let differing: Vec<RunSeries> = last_run.iter().map(|change| logs[change.line].clone()).collect();
    let runs_to_confirm = further_runs_like_the_last(&differing, error, options.seed);
    let is_unchanged = changes.is_empty() && trends.is_empty() && last_run.is_empty();
    // What is found elsewhere does not depend on what could have been found.
    let detectable_fall = if is_unchanged { detectable_fall(&logs, error, options.seed) } else { None };
    let runs_to_detect_half = if is_unchanged && detectable_fall.is_none() {
        further_runs_to_detect_half(&logs, error, options.seed)
    } else {
        None
    };
    let runs = runs
        .iter()
        .map(|run| SeriesRun { label: run.label.clone(), started_unix_ms: run.header.started_unix_ms })
        .collect();
    let sentences = Vec::new();
    let mut series = Series {
        runs,
        lines,
        changes,
        last_run,
        runs_to_confirm,
        trends,
        sentences,
        error,
        detectable_fall,
        runs_to_detect_half,
    };
    series.sentences = series_sentences(&series);
    Ok(series)
}

/// The gradual changes of all lines.
fn trends(logs: &[RunSeries], shifts: &[LevelShift], error: f64, options: &Options) -> Vec<SeriesTrend> {
    let found = run_series_trends(logs, shifts, error, options.level);
    let of_line = |(line, trend): (usize, Trend)| SeriesTrend {
        line,
        verdict: RatioVerdict::new(&trend.total, options.tolerance),
        total: trend.total.map(f64::exp),
        p_value: (trend.p_value * logs.len() as f64).min(1.0),
    };
    found.into_iter().map(of_line).collect()
}

/// The lines of which the last run alone differs, with its ratio to the runs of the level before.
fn last_run(
    logs: &[RunSeries],
    shifts: &[LevelShift],
    trends: &[SeriesTrend],
    error: f64,
    options: &Options,
) -> Vec<LineChange> {
    let of_line = |line: usize| {
        let own = shifts.iter().filter(|shift| shift.series.contains(&line)).map(|shift| shift.at);
        let log = last_run_shift(&logs[line], own.max().unwrap_or(0), options.level)?;
        let verdict = RatioVerdict::new(&log, options.tolerance);
        Some(LineChange { line, ratio: log.map(f64::exp), verdict })
    };
    let alone = last_runs_alone(logs, shifts, error).into_iter();
    alone.filter(|line| !trends.iter().any(|trend| trend.line == *line)).filter_map(of_line).collect()
}

/// The changes of all lines without a trend, with their size.
fn changes(
    logs: &[RunSeries],
    runs: usize,
    found: &[LevelShift],
    trends: &[SeriesTrend],
    options: &Options,
) -> Vec<SeriesChange> {
    let has_levels = |line: &&usize| !trends.iter().any(|trend| trend.line == **line);
    let mut changes = Vec::new();
    for (index, found_here) in found.iter().enumerate() {
        let begin = index.checked_sub(1).map_or(0, |before| found[before].at);
        let end = found.get(index + 1).map_or(runs, |next| next.at);
        let at = found_here.at;
        let of_line = |line: &usize| {
            let values = &logs[*line].values;
            let log = if end - at == 1 {
                last_run_shift(&logs[*line], begin, options.level)
            } else {
                shift(&values[begin..at], &values[at..end], options.level)
            }?;
            let verdict = RatioVerdict::new(&log, options.tolerance);
            Some(LineChange { line: *line, ratio: log.map(f64::exp), verdict })
        };
        changes.push(SeriesChange {
            at,
            p_value: found_here.p_value,
            runs: (at - begin, end - at),
            lines: found_here.series.iter().filter(|line| has_levels(line)).filter_map(of_line).collect(),
        });
    }
    changes.retain(|change| !change.lines.is_empty());
    changes
}

/// Log rates of the repetitions of one cell.
#[derive(Default)]
struct CellLogs {
    by_repetition: BTreeMap<u32, f64>,
}

impl CellLogs {
    fn median(&self) -> Option<f64> {
        median(&mut self.by_repetition.values().copied().collect::<Vec<f64>>())
    }
}

/// Each cell of a run by target and test.
type RunCells = BTreeMap<Key, BTreeMap<Coordinates, CellLogs>>;

/// The log rates of each cell of a run. `named` is what a target is called.
fn cells(run: &RunData, named: impl Fn(&str) -> String) -> RunCells {
    let mut rates = RunCells::new();
    for step in &run.steps {
        let unit =
            if step.is_rated_in_bytes() { RateUnit::BytesPerSecond } else { RateUnit::OperationsPerSecond };
        let Some(rate) = rate(&step.measure, unit).filter(|_| usable(step, unit)) else { continue };
        let Some(target) = run.header.targets.get(step.target as usize) else { continue };
        let test = [axis::TEST, axis::WORKLOAD].into_iter().find_map(|axis| step.coordinates.get(axis));
        let key = (named(&target.name), test.map_or_else(String::new, Value::to_string));
        let cell = rates.entry(key).or_default().entry(step.coordinates.clone()).or_default();
        cell.by_repetition.insert(step.repetition, rate.ln());
    }
    rates
}

/// Standard error of the mean of some cells of a run: the repetitions are the replicates, because the cells of one
/// repetition share its conditions. None with fewer than two repetitions.
fn within_run(cells: &[&CellLogs]) -> Option<f64> {
    let mut residuals: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
    for cell in cells {
        let middle = cell.median()?;
        for (repetition, log) in &cell.by_repetition {
            let sum = residuals.entry(*repetition).or_default();
            sum.0 += log - middle;
            sum.1 += 1;
        }
    }
    let means: Vec<f64> = residuals.into_values().map(|(sum, cells)| sum / cells as f64).collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (means.len() > 1).then(|| (variance / n).sqrt())
}

/// The lines of all runs. Where every run has one target, the name of the target may differ: a machine that was renamed or
/// replaced is what a series is for.
pub(crate) fn common_lines(runs: &[RunData]) -> Result<Vec<CommonLine>, SeriesError> {
    let by_name: Vec<_> = runs.iter().map(|run| cells(run, str::to_owned)).collect();
    let found = lines(&by_name);
    if !found.is_empty() {
        return Ok(found);
    }
    let mut names: Vec<String> = Vec::new();
    for run in runs {
        let of_run: Vec<&str> = run.header.targets.iter().map(|target| target.name.as_str()).collect();
        let of_run = of_run.join(", ");
        if !names.contains(&of_run) {
            names.push(of_run);
        }
    }
    let number = names.len();
    if number > MAX_NAMES {
        names.drain(MAX_NAMES - 1..number - 1);
        names.insert(MAX_NAMES - 1, "..".to_owned());
    }
    let nameless: Vec<_> = runs.iter().map(|run| cells(run, |_| names.join(", "))).collect();
    let found = lines(&nameless);
    if number < 2 || found.is_empty() {
        return Err(SeriesError::NothingInCommon);
    }
    if runs.iter().any(|run| run.header.targets.len() > 1) {
        return Err(SeriesError::DifferentTargets(names));
    }
    Ok(found)
}

/// A test of a target with the cells that all runs have.
pub(crate) struct CommonLine {
    pub line: SeriesLine,
    /// Log rates: the mean of the cells, a value per run.
    pub series: RunSeries,
    /// Log rates of each cell.
    pub cells: Vec<(Coordinates, RunSeries)>,
}

/// Every target and test with a cell that all runs have, and its log rates.
fn lines(cells: &[RunCells]) -> Vec<CommonLine> {
    let keys: BTreeSet<&Key> = cells.iter().flat_map(BTreeMap::keys).collect();
    let mut lines = Vec::new();
    for key in keys {
        let of_runs: Vec<_> = cells.iter().filter_map(|run| run.get(key)).collect();
        let all: BTreeSet<&Coordinates> = of_runs.iter().flat_map(|cells| cells.keys()).collect();
        let common: Vec<&Coordinates> = all
            .iter()
            .copied()
            .filter(|at| of_runs.len() == cells.len() && of_runs.iter().all(|cells| cells.contains_key(at)))
            .collect();
        if common.is_empty() {
            continue;
        }
        let kept = |cells: &&BTreeMap<Coordinates, CellLogs>| -> (f64, Option<f64>) {
            let kept: Vec<&CellLogs> = common.iter().filter_map(|at| cells.get(at)).collect();
            let mean = kept.iter().filter_map(|cell| cell.median()).sum::<f64>() / common.len() as f64;
            (mean, within_run(&kept))
        };
        let (values, errors): (Vec<f64>, Vec<Option<f64>>) = of_runs.iter().map(kept).unzip();
        let line = SeriesLine {
            target: key.0.clone(),
            test: key.1.clone(),
            spread: spread(&values),
            rates: values.iter().map(|log| log.exp()).collect(),
            cells: common.len(),
            incomplete_cells: all.len() - common.len(),
        };
        let of_cell = |at: &&Coordinates| {
            let in_runs = of_runs.iter().filter_map(|cells| cells.get(*at));
            let of_run = |cell: &CellLogs| Some((cell.median()?, within_run(&[cell])));
            let (values, errors) = in_runs.filter_map(of_run).unzip();
            ((*at).clone(), RunSeries { values, errors })
        };
        let cells = common.iter().map(of_cell).collect();
        lines.push(CommonLine { line, series: RunSeries { values, errors }, cells });
    }
    lines
}

/// The robust deviation of a series from the differences of its neighbours, which a change of level leaves alone.
fn spread(logs: &[f64]) -> f64 {
    let steps: Vec<f64> = logs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    (1.4826 * median_or_zero(&steps) / std::f64::consts::SQRT_2).exp_m1()
}
