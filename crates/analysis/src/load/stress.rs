//! Where more load gives less throughput.

use sharebench_model::axis;
use sharebench_stats::Estimate;

use crate::load::support::{half_width, is_supported};
use crate::types::{Row, StressPoint};

/// Least decline that one repetition per step may call a decline.
const SINGLE_RUN_DECLINE: f64 = 0.05;

/// One load of a system.
struct UserStep {
    users: u64,
    rate: Estimate,
    /// Half-width of the rate by its transactions, as a share.
    scatter: f64,
}

/// The stress point of each system that has at least two steps.
pub(crate) fn stress_points(rows: &[Row], systems: usize) -> Vec<StressPoint> {
    (0..systems).filter_map(|system| stress_point(rows, system)).collect()
}

fn stress_point(rows: &[Row], system: usize) -> Option<StressPoint> {
    let steps: Vec<UserStep> = rows
        .iter()
        // More users are more load only where each brings its own.
        .filter(|row| row.coordinates.get(axis::RATE).is_none())
        .filter_map(|row| {
            let outcome = row.outcomes[system].as_ref().filter(|outcome| is_supported(outcome))?;
            let users = row.coordinates.users_or_jobs()?;
            Some(UserStep { users, rate: outcome.rate, scatter: half_width(outcome) })
        })
        .collect();
    let peak = highest(&steps)?;
    // With the highest step so far: a rate that falls little by little falls as well.
    let pairs: Vec<(&UserStep, &UserStep)> =
        (1..steps.len()).filter_map(|at| Some((highest(&steps[..at])?, &steps[at]))).collect();
    let falls = pairs.iter().find(|(now, next)| declines(now, next));
    let unnoticed = pairs.iter().map(|(now, next)| possible_decline(now, next)).fold(0.0, f64::max);
    (steps.len() > 1).then(|| StressPoint {
        system,
        after: falls.map(|(now, _)| now.users),
        decline: falls.map_or(0.0, |(now, next)| 1.0 - next.rate.value / now.rate.value),
        at: falls.map(|(_, next)| next.users),
        unnoticed: if falls.is_some() { 0.0 } else { unnoticed },
        peak: (peak.users, peak.rate.value),
        tried: steps.last().map_or(0, |step| step.users),
    })
}

/// The step with the highest rate.
fn highest(steps: &[UserStep]) -> Option<&UserStep> {
    steps.iter().max_by(|x, y| x.rate.value.total_cmp(&y.rate.value))
}

/// The largest decline that the rates of two steps leave possible, as a share.
fn possible_decline(now: &UserStep, next: &UserStep) -> f64 {
    match (now.rate.interval, next.rate.interval) {
        (Some(now), Some(next)) => 1.0 - next.low / now.high,
        _ => 1.0 - next.rate.value / now.rate.value * (1.0 - now.scatter.hypot(next.scatter)),
    }
}

/// True when the later step's rate is lower beyond the noise that the repetitions show.
fn declines(now: &UserStep, next: &UserStep) -> bool {
    if let (Some(now), Some(next)) = (now.rate.interval, next.rate.interval) {
        return next.high < now.low;
    }
    // One run each: the decline has to exceed the scatter of the transactions within the windows as well.
    let least = SINGLE_RUN_DECLINE.max(now.scatter.hypot(next.scatter));
    next.rate.value < now.rate.value * (1.0 - least)
}
