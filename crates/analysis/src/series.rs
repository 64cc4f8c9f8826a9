//! Many runs of one plan in a row: from which run on something is different.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_model::{Coordinates, Value, axis};
use sharebench_stats::{level_shifts, median, median_or_zero, shift};

use crate::align::rates::{rate, usable};
use crate::text::series::series_sentences;
use crate::types::{
    LineChange, Options, RateUnit, RatioVerdict, RunData, Series, SeriesChange, SeriesError, SeriesLine,
    SeriesRun,
};

/// Fewest runs that make a series.
const FEWEST: usize = 6;

/// Target, and test or workload.
type Key = (String, String);

/// Finds the runs from which on a test of a target is faster or slower than before.
pub fn series(runs: &[RunData], options: &Options) -> Result<Series, SeriesError> {
    if runs.len() < FEWEST {
        return Err(SeriesError::TooFew(runs.len()));
    }
    let lines = lines(runs);
    if lines.is_empty() {
        return Err(SeriesError::NothingInCommon);
    }
    let logs: Vec<Vec<f64>> =
        lines.iter().map(|line| line.rates.iter().map(|rate| rate.ln()).collect()).collect();
    let error = 1.0 - options.level;
    let found = level_shifts(&logs, error, options.seed);
    let mut changes = Vec::new();
    for (index, found_here) in found.iter().enumerate() {
        let begin = index.checked_sub(1).map_or(0, |before| found[before].at);
        let end = found.get(index + 1).map_or(runs.len(), |next| next.at);
        let at = found_here.at;
        let of_line = |line: &usize| {
            let values = &logs[*line];
            let log = shift(&values[begin..at], &values[at..end], options.level)?;
            let verdict = RatioVerdict::of(&log, options.tolerance);
            Some(LineChange { line: *line, ratio: log.map(f64::exp), verdict })
        };
        changes.push(SeriesChange {
            at,
            p_value: found_here.p_value,
            runs: (at - begin, end - at),
            lines: found_here.series.iter().filter_map(of_line).collect(),
        });
    }
    let runs = runs
        .iter()
        .map(|run| SeriesRun { label: run.label.clone(), started_unix_ms: run.header.started_unix_ms })
        .collect();
    let mut series = Series { runs, lines, changes, sentences: Vec::new(), error };
    series.sentences = series_sentences(&series);
    Ok(series)
}

/// Median log rate of each cell of a run, by target and test.
fn cells(run: &RunData) -> BTreeMap<Key, BTreeMap<Coordinates, f64>> {
    let mut rates: BTreeMap<Key, BTreeMap<Coordinates, Vec<f64>>> = BTreeMap::new();
    for step in &run.steps {
        let unit = if step.measure.bytes.total() > 0 {
            RateUnit::BytesPerSecond
        } else {
            RateUnit::OperationsPerSecond
        };
        let Some(rate) = rate(&step.measure, unit).filter(|_| usable(step, unit)) else { continue };
        let Some(target) = run.header.targets.get(step.target as usize) else { continue };
        let test = [axis::TEST, axis::WORKLOAD].into_iter().find_map(|axis| step.coordinates.get(axis));
        let key = (target.name.clone(), test.map_or_else(String::new, Value::to_string));
        rates.entry(key).or_default().entry(step.coordinates.clone()).or_default().push(rate.ln());
    }
    let of_cells = |cells: BTreeMap<Coordinates, Vec<f64>>| {
        cells.into_iter().filter_map(|(at, mut logs)| Some((at, median(&mut logs)?))).collect()
    };
    rates.into_iter().map(|(key, cells)| (key, of_cells(cells))).collect()
}

fn lines(runs: &[RunData]) -> Vec<SeriesLine> {
    let cells: Vec<_> = runs.iter().map(cells).collect();
    let keys: BTreeSet<&Key> = cells.iter().flat_map(BTreeMap::keys).collect();
    let mut lines = Vec::new();
    for key in keys {
        let of_runs: Vec<_> = cells.iter().filter_map(|run| run.get(key)).collect();
        let all: BTreeSet<&Coordinates> = of_runs.iter().flat_map(|cells| cells.keys()).collect();
        let common: Vec<&Coordinates> = all
            .iter()
            .copied()
            .filter(|at| of_runs.len() == runs.len() && of_runs.iter().all(|cells| cells.contains_key(at)))
            .collect();
        if common.is_empty() {
            continue;
        }
        let mean = |cells: &&BTreeMap<Coordinates, f64>| {
            common.iter().filter_map(|at| cells.get(at)).sum::<f64>() / common.len() as f64
        };
        let logs: Vec<f64> = of_runs.iter().map(mean).collect();
        lines.push(SeriesLine {
            target: key.0.clone(),
            test: key.1.clone(),
            spread: spread(&logs),
            rates: logs.iter().map(|log| log.exp()).collect(),
            cells: common.len(),
            incomplete_cells: all.len() - common.len(),
        });
    }
    lines
}

/// The robust deviation of a series from the differences of its neighbours, which a change of level leaves alone.
fn spread(logs: &[f64]) -> f64 {
    let steps: Vec<f64> = logs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    (1.4826 * median_or_zero(&steps) / std::f64::consts::SQRT_2).exp_m1()
}
