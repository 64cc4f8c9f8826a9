//! A run along the clock: when each system was fast, slow, failing or doubted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sharebench_model::{Coordinates, StepResult, Verdict};
use sharebench_stats::median;

use crate::outcome::rate;
use crate::{Analysis, RunData, Section};

/// Most stretches of one system; of longer runs each is several steps.
const MOST: usize = 300;

/// One system along the clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Index into [`Analysis::systems`].
    pub system: usize,
    /// In the order of the clock.
    pub stretches: Vec<Stretch>,
}

/// Steps that followed each other on one system: one, or several where a run has many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// Start of the first, milliseconds since 1970 (UTC).
    pub from_unix_ms: u64,
    /// End of the last one's window.
    pub to_unix_ms: u64,
    /// How many.
    pub steps: usize,
    /// Lowest, middle and highest rate, each as a multiple of the median rate of its own cell; none where
    /// nothing was moved.
    pub relative: Option<(f64, f64, f64)>,
    /// Failed operations.
    pub errors: u64,
    /// Steps that a self-check doubts.
    pub suspicious: usize,
    /// Steps that are left out.
    pub invalid: usize,
    /// Names of the checks that did not hold, each once.
    pub complaints: Vec<String>,
    /// Where it stood, when it is one step.
    pub coordinates: Option<Coordinates>,
}

/// The timelines of all systems whose steps tell when they were measured.
pub(crate) fn timelines(analysis: &Analysis, runs: &[RunData]) -> Vec<Timeline> {
    let medians: BTreeMap<&Coordinates, (&Section, usize)> = analysis
        .sections
        .iter()
        .flat_map(|section| {
            section.rows.iter().enumerate().map(move |(at, row)| (&row.coordinates, (section, at)))
        })
        .collect();
    let of = |system: usize| {
        let described = &analysis.systems[system];
        let run = &runs[described.run];
        let mut steps: Vec<&StepResult> =
            run.steps.iter().filter(|step| described.owns(described.run, step)).collect();
        steps.sort_by_key(|step| (step.started_unix_ms, step.index));
        let told = steps.first().zip(steps.last());
        let moves = told.is_some_and(|(first, last)| first.started_unix_ms < last.started_unix_ms);
        if run.header.is_imported() || !moves {
            return None;
        }
        let relative = |step: &StepResult| {
            let (section, row) = medians.get(&step.coordinates)?;
            let usual = section.rows[*row].outcomes[system].as_ref()?.rate.value;
            Some(rate(&step.measure, section.unit)? / usual).filter(|share| share.is_finite())
        };
        let each = steps.len().div_ceil(MOST);
        Some(Timeline {
            system,
            stretches: steps.chunks(each).map(|steps| stretch(steps, relative)).collect(),
        })
    };
    (0..analysis.systems.len()).filter_map(of).collect()
}

fn stretch(steps: &[&StepResult], relative: impl Fn(&StepResult) -> Option<f64>) -> Stretch {
    let mut shares: Vec<f64> = steps.iter().filter_map(|step| relative(step)).collect();
    shares.sort_unstable_by(f64::total_cmp);
    let end = |step: &&StepResult| step.started_unix_ms + step.measure.window_ns / 1_000_000;
    let of = |verdict: Verdict| steps.iter().filter(|step| step.verdict() == verdict).count();
    let mut complaints: Vec<String> = steps
        .iter()
        .flat_map(|step| &step.checks)
        .filter(|check| check.verdict > Verdict::Valid)
        .map(|check| check.name.clone())
        .collect();
    complaints.sort_unstable();
    complaints.dedup();
    Stretch {
        from_unix_ms: steps.iter().map(|step| step.started_unix_ms).min().unwrap_or(0),
        to_unix_ms: steps.iter().map(end).max().unwrap_or(0),
        steps: steps.len(),
        relative: median(&shares).map(|middle| (shares[0], middle, shares[shares.len() - 1])),
        errors: steps.iter().map(|step| step.measure.error_count()).sum(),
        suspicious: of(Verdict::Warning),
        invalid: of(Verdict::Invalid),
        complaints,
        coordinates: match steps {
            [one] => Some(one.coordinates.clone()),
            _ => None,
        },
    }
}
