//! Where more load gives less throughput.

use sharebench_model::axis;
use sharebench_stats::Estimate;

use crate::types::{Row, StressPoint};

/// Least decline that one repetition per step may call a decline.
const SINGLE_RUN_DECLINE: f64 = 0.05;

/// The stress point of each system that has at least two steps.
pub(crate) fn stress_points(rows: &[Row], systems: usize) -> Vec<StressPoint> {
    (0..systems).filter_map(|system| stress_point(rows, system)).collect()
}

fn stress_point(rows: &[Row], system: usize) -> Option<StressPoint> {
    let steps: Vec<(u64, Estimate)> = rows
        .iter()
        // More users are more load only where each brings its own.
        .filter(|row| row.coordinates.get(axis::RATE).is_none())
        .filter_map(|row| Some((row.coordinates.users_or_jobs()?, row.outcomes[system].as_ref()?.rate)))
        .collect();
    let peak = steps.iter().max_by(|x, y| x.1.value.total_cmp(&y.1.value))?;
    let falls = steps.windows(2).find(|pair| declines(&pair[0].1, &pair[1].1));
    (steps.len() > 1).then(|| StressPoint {
        system,
        after: falls.map(|pair| pair[0].0),
        decline: falls.map_or(0.0, |pair| 1.0 - pair[1].1.value / pair[0].1.value),
        peak: (peak.0, peak.1.value),
        tried: steps.last().map_or(0, |step| step.0),
    })
}

/// True when the later step's rate is lower beyond the noise that the repetitions show.
fn declines(now: &Estimate, next: &Estimate) -> bool {
    match (now.interval, next.interval) {
        (Some(now), Some(next)) => next.high < now.low,
        _ => next.value < now.value * (1.0 - SINGLE_RUN_DECLINE),
    }
}
