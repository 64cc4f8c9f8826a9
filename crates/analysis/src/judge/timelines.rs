//! When each system was fast, slow, failing or with warnings.

use std::cell::LazyCell;
use std::collections::HashMap;

use sharebench_model::{Coordinates, StepResult, Verdict};
use sharebench_stats::median;

use crate::align::Aligned;
use crate::align::rates::rate;
use crate::estimate::Estimated;
use crate::types::{Row, Section, SystemTimeline, TimelineSegment};

/// Most stretches of one system; of longer runs each is several steps.
const MAX_POINTS: usize = 300;

/// The timelines of all systems whose steps have a start time.
pub(crate) fn timelines(aligned: &Aligned<'_>, estimated: &Estimated) -> Vec<SystemTimeline> {
    // An imported run has no timeline, and may have a million positions.
    let rows: LazyCell<HashMap<&Coordinates, (&Section, &Row)>, _> = LazyCell::new(|| {
        let sections = estimated.sections.iter();
        sections
            .flat_map(|section| section.rows.iter().map(move |row| (&row.coordinates, (section, row))))
            .collect()
    });
    let of = |system: usize| {
        let described = &aligned.systems[system];
        let run = &aligned.runs[described.run];
        let mut steps: Vec<&StepResult> =
            run.steps.iter().filter(|step| described.owns(described.run, step)).collect();
        steps.sort_unstable_by_key(|step| (step.started_unix_ms, step.index));
        let ends = steps.first().zip(steps.last());
        let moves = ends.is_some_and(|(first, last)| first.started_unix_ms < last.started_unix_ms);
        if run.header.is_imported() || !moves {
            return None;
        }
        let relative = |step: &StepResult| {
            let (section, row) = rows.get(&step.coordinates)?;
            let usual = row.outcomes[system].as_ref()?.rate.value;
            Some(rate(&step.measure, section.unit)? / usual).filter(|share| share.is_finite())
        };
        let each = steps.len().div_ceil(MAX_POINTS);
        Some(SystemTimeline {
            system,
            segments: steps.chunks(each).map(|steps| stretch(steps, relative)).collect(),
        })
    };
    (0..aligned.systems.len()).filter_map(of).collect()
}

fn stretch(steps: &[&StepResult], relative: impl Fn(&StepResult) -> Option<f64>) -> TimelineSegment {
    let mut shares: Vec<f64> = steps.iter().filter_map(|step| relative(step)).collect();
    let middle = median(&mut shares);
    let end = |step: &&StepResult| step.started_unix_ms + step.measure.window_ns / 1_000_000;
    let of = |verdict: Verdict| steps.iter().filter(|step| step.verdict() == verdict).count();
    let mut failed_checks: Vec<String> = steps
        .iter()
        .flat_map(|step| &step.checks)
        .filter(|check| check.verdict > Verdict::Valid)
        .map(|check| check.name.clone())
        .collect();
    failed_checks.sort_unstable();
    failed_checks.dedup();
    TimelineSegment {
        from_unix_ms: steps.iter().map(|step| step.started_unix_ms).min().unwrap_or(0),
        to_unix_ms: steps.iter().map(end).max().unwrap_or(0),
        steps: steps.len(),
        relative: middle.map(|middle| (shares[0], middle, shares[shares.len() - 1])),
        errors: steps.iter().map(|step| step.measure.error_count()).sum(),
        warnings: of(Verdict::Warning),
        invalid: of(Verdict::Invalid),
        failed_checks,
        coordinates: match steps {
            [one] => Some(one.coordinates.clone()),
            _ => None,
        },
    }
}
