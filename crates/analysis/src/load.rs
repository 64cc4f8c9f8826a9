//! Stress points: where more load gives less throughput.

use serde::{Deserialize, Serialize};
use sharebench_model::axis;
use sharebench_stats::Estimate;

use crate::Row;

/// Least decline that one repetition per step may call a decline.
const SINGLE_RUN_DECLINE: f64 = 0.05;

/// Where one system began to yield less.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StressPoint {
    /// Index into [`crate::Analysis::systems`].
    pub system: usize,
    /// Users of the step after which more users gave less; none when no step did.
    pub after: Option<u64>,
    /// Decline of the next step, as a share.
    pub decline: f64,
    /// Users of the step with the highest rate, and that rate.
    pub peak: (u64, f64),
    /// Largest number of users that was tried.
    pub tried: u64,
}

/// The stress point of each system that has at least two steps.
pub(crate) fn stress_points(rows: &[Row], systems: usize) -> Vec<StressPoint> {
    (0..systems).filter_map(|system| stress_point(rows, system)).collect()
}

fn stress_point(rows: &[Row], system: usize) -> Option<StressPoint> {
    let steps: Vec<(u64, Estimate)> = rows
        .iter()
        // More motors are more load only where each brings its own.
        .filter(|row| row.coordinates.get(axis::RATE).is_none())
        .filter_map(|row| Some((row.coordinates.number(axis::MOTORS)?, row.outcomes[system].as_ref()?.rate)))
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
