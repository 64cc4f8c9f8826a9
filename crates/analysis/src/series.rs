//! Many runs of one plan in a row: from which run on something is different.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sharebench_model::{Coordinates, Value, axis};
use sharebench_stats::{Estimate, level_shifts, median, shift};

use crate::outcome::rate;
use crate::pairing::usable;
use crate::wording::{counted, show_ratio};
use crate::{Options, RateUnit, RunData, Sentence, Standing, Tone};

/// Fewest runs that make a series.
const FEWEST: usize = 6;

/// One run of a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesRun {
    /// What tells it from the others.
    pub label: String,
    /// Start, milliseconds since 1970 (UTC); 0 where it is not told.
    pub started_unix_ms: u64,
}

/// One test or workload of one target through all runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesLine {
    /// Name of the target.
    pub target: String,
    /// Test or workload.
    pub test: String,
    /// Per run the geometric mean of its cells' median rates, bytes (or operations) per second.
    pub rates: Vec<f64>,
    /// Cells that every run has.
    pub cells: usize,
    /// Cells that only some runs have: they take no part.
    pub incomplete_cells: usize,
    /// Change from one run to the next that is usual in it, as a share: the robust deviation of its rates.
    pub spread: f64,
}

/// What changed in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineChange {
    /// Index into [`Series::lines`].
    pub line: usize,
    /// Rate from the change to the next one over that from the one before to it.
    pub ratio: Estimate,
    /// What may be said of it.
    pub standing: Standing,
}

/// A run from which on something is different.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesChange {
    /// Index into [`Series::runs`]: the first run of the new level.
    pub at: usize,
    /// How likely so large a change is anywhere if there is none.
    pub p_value: f64,
    /// Runs at the level before it, and at the new one.
    pub runs: (usize, usize),
    /// Where.
    pub lines: Vec<LineChange>,
}

/// Runs of one plan, and where their level changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The runs, in the order given.
    pub runs: Vec<SeriesRun>,
    /// Targets and tests.
    pub lines: Vec<SeriesLine>,
    /// Changes, the first one first.
    pub changes: Vec<SeriesChange>,
    /// All of it in words.
    pub sentences: Vec<Sentence>,
    /// A false change anywhere in the table has at most this probability.
    pub error: f64,
}

/// Why runs are no series.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// Too few runs.
    #[error("{0} runs are too few to tell a change from chance; 6 are the fewest")]
    TooFew(usize),
    /// Nothing in common.
    #[error("no position was measured in every run: a series is of runs of one plan")]
    NothingInCommon,
}

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
            let standing = Standing::of(&log, options.tolerance);
            Some(LineChange { line: *line, ratio: log.map(f64::exp), standing })
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
    series.sentences = sentences(&series);
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
    let middle = |mut logs: Vec<f64>| {
        logs.sort_unstable_by(f64::total_cmp);
        median(&logs)
    };
    let of_cells = |cells: BTreeMap<Coordinates, Vec<f64>>| {
        cells.into_iter().filter_map(|(at, logs)| Some((at, middle(logs)?))).collect()
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
    let mut steps: Vec<f64> = logs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_unstable_by(f64::total_cmp);
    (1.4826 * median(&steps).unwrap_or(0.0) / std::f64::consts::SQRT_2).exp_m1()
}

/// `5.1 % slower [3.9, 6.2]`.
fn moved(ratio: &Estimate, standing: Standing) -> String {
    let percent = |ratio: f64| format!("{:.1}", 100.0 * (ratio - 1.0).abs());
    let word = if ratio.value < 1.0 { "slower" } else { "faster" };
    let bounds = ratio.interval.map_or_else(
        || " [too few runs for an interval]".to_owned(),
        |i| {
            let (near, far) = if ratio.value < 1.0 { (i.high, i.low) } else { (i.low, i.high) };
            format!(" [{}, {}]", percent(near), percent(far))
        },
    );
    match standing {
        Standing::NotResolved => format!("not resolved by how much: ratio {}", show_ratio(ratio)),
        _ => format!("{} % {word}{bounds}", percent(ratio.value)),
    }
}

fn sentences(series: &Series) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for change in &series.changes {
        for found in &change.lines {
            let line = &series.lines[found.line];
            let tone = match found.standing {
                Standing::Faster | Standing::Slower => Tone::Difference,
                Standing::AboutTheSame => Tone::Same,
                Standing::NotResolved => Tone::NotResolved,
            };
            let text = format!(
                "{} {}: from {} on {} ({} before, {} from there on, {}; p = {:.3}).",
                line.target,
                line.test,
                series.runs[change.at].label,
                moved(&found.ratio, found.standing),
                counted(change.runs.0, "run"),
                change.runs.1,
                counted(line.cells, "cell"),
                change.p_value
            );
            sentences.push(Sentence::new(tone, text));
        }
    }
    if series.changes.is_empty() {
        let widest = series.lines.iter().map(|line| line.spread).fold(0.0, f64::max);
        let text = format!(
            "No change in {} over {} that chance would not make in one of {:.0} such tables (runs differ by {:.1} % at \
             most as a rule).",
            counted(series.lines.len(), "test"),
            counted(series.runs.len(), "run"),
            1.0 / series.error,
            100.0 * widest
        );
        sentences.push(Sentence::new(Tone::Same, text));
    }
    let incomplete: usize = series.lines.iter().map(|line| line.incomplete_cells).sum();
    if incomplete > 0 {
        let text = format!("{} not measured in every run: left out.", counted(incomplete, "cell"));
        sentences.push(Sentence::new(Tone::Note, text));
    }
    let told: Vec<u64> =
        series.runs.iter().map(|run| run.started_unix_ms).filter(|started| *started > 0).collect();
    if !told.is_sorted() {
        let text = "The runs are not named in the order in which they were made.".to_owned();
        sentences.push(Sentence::new(Tone::Alarm, text));
    }
    sentences
}
