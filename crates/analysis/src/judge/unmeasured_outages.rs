//! Outages outside the measured windows: while a step prepares, opens or closes its files, no operation is timed.

use std::collections::HashMap;

use sharebench_model::{Coordinates, StepResult, axis};
use sharebench_stats::{Estimate, Interval, TimePattern, TimePatternKind, median_or_zero};

use crate::judge::step_extents::StepExtents;

/// Shortest outage in seconds: a flush or a cold cache delays a preparation by less than this, or frequently.
const SHORTEST_S: f64 = 2.0;
/// Time that preparations may take without any outage, in passes over the file: writing it, flushing it, reading it.
const PASSES: f64 = 3.0;
/// One of this number of steps with the same files may be in an outage, and one in any case.
const RARE: usize = 100;
/// Fewest other repetitions of the cell.
const REPETITIONS: usize = 2;

/// An outage, with the step that it fell into.
pub(super) type UnmeasuredOutage<'a> = (TimePattern, &'a StepResult);

/// The outages in the time outside the windows of `steps`, which are those of one system in the order of time.
///
/// A step is compared with the steps on the same files: all tests and repetitions with the same other coordinates. These make
/// their files anew when another record size has used them, so their time outside the windows varies: only what is
/// far above all others counts.
pub(super) fn unmeasured_outages<'a>(
    steps: &[&'a StepResult],
    origin_ms: u64,
    extents: &StepExtents<'_>,
) -> Vec<UnmeasuredOutage<'a>> {
    let mut files: HashMap<Coordinates, Vec<&StepResult>> = HashMap::new();
    for step in steps.iter().filter(|step| uses_files(step) && unmeasured_s(step) >= SHORTEST_S) {
        files.entry(step.coordinates.without(&[axis::TEST])).or_default();
    }
    if files.is_empty() {
        return Vec::new();
    }
    for step in steps.iter().filter(|step| uses_files(step)) {
        if let Some(same) = files.get_mut(&step.coordinates.without(&[axis::TEST])) {
            same.push(step);
        }
    }
    let total_s: f64 = steps.iter().map(|step| measured_s(step) + unmeasured_s(step)).sum();
    let mut found: Vec<UnmeasuredOutage<'a>> = Vec::new();
    for step in steps.iter().filter(|step| unmeasured_s(step) >= SHORTEST_S) {
        let Some(same) = files.get(&step.coordinates.without(&[axis::TEST])) else { continue };
        let Some((least_s, length_s)) = excess_s(step, same) else { continue };
        let earlier = steps.iter().take_while(|earlier| earlier.started_unix_ms < step.started_unix_ms);
        let (_, until) = extents.between(step);
        let wall_s = (until - step.started_unix_ms) as f64 / 1e3;
        let slack_s = (wall_s - least_s).max(0.0);
        let pattern = TimePattern {
            kind: TimePatternKind::Outage,
            start_s: (step.started_unix_ms as f64 - origin_ms as f64) / 1e3 + slack_s / 2.0,
            start_error_s: slack_s / 2.0,
            start_bytes: earlier.map(|step| step.measure.bytes.total() as f64).sum(),
            length_s,
            period_s: None,
            occurrences: 1,
            is_open: false,
            speed: 0.0,
            cost: Estimate {
                value: length_s / total_s,
                interval: Some(Interval::new(least_s / total_s, unmeasured_s(step) / total_s)),
                n: steps.len(),
            },
        };
        found.push((pattern, step));
    }
    found
}

/// True for steps that make passes over files, which they prepare.
fn uses_files(step: &StepResult) -> bool {
    step.measure.passes > 0 && step.coordinates.get(axis::FILE_SIZE).is_some()
}

fn unmeasured_s(step: &StepResult) -> f64 {
    f64::from(step.unmeasured_ms) / 1e3
}

fn measured_s(step: &StepResult) -> f64 {
    step.measure.base_ns() as f64 / 1e9
}

/// Time of one job for one pass over its file.
fn pass_s(step: &StepResult) -> f64 {
    measured_s(step) * f64::from(step.measure.users_assigned.max(1)) / step.measure.passes.max(1) as f64
}

/// By how much the unmeasured time of a step exceeds that of the steps on the `same` files: at least, and relative to its
/// own cell. None if this is no outage.
fn excess_s(step: &StepResult, same: &[&StepResult]) -> Option<(f64, f64)> {
    let others = || same.iter().filter(|other| other.index != step.index);
    let cell: Vec<&StepResult> =
        others().filter(|other| other.coordinates == step.coordinates).copied().collect();
    // The first use of files makes them, which may take any time. A test of new files makes them in its passes, so that
    // these show what the later first use takes.
    let is_first = same.first().is_some_and(|first| first.index == step.index);
    if cell.len() < REPETITIONS || is_first {
        return None;
    }
    let rare = (same.len() / RARE).max(1) - 1;
    let usual = |time: fn(&StepResult) -> f64| {
        let mut times: Vec<f64> = others().map(|other| time(other)).collect();
        times.sort_unstable_by(|a, b| b.total_cmp(a));
        times.get(rare).copied().unwrap_or(0.0)
    };
    let typical = |time: fn(&StepResult) -> f64| {
        median_or_zero(&cell.iter().map(|other| time(other)).collect::<Vec<f64>>())
    };
    // Where the step itself was slow, so was its preparation: the system is throttled.
    let slowness = (pass_s(step) / typical(pass_s)).max(1.0);
    let usual_s = usual(unmeasured_s);
    let limit_s = slowness * usual_s.max(PASSES * usual(pass_s)) + SHORTEST_S;
    let unmeasured_s = unmeasured_s(step);
    (unmeasured_s >= limit_s).then(|| (unmeasured_s - usual_s, unmeasured_s - typical(self::unmeasured_s)))
}
