//! How far the load of a system can be predicted.

use sharebench_model::axis;
use sharebench_stats::{Capacity, LoadPoint, fit_capacity, forecast};

use crate::load::support::is_supported;
use crate::types::{CapacityReport, Row};

/// Seed of the resampling for a forecast's interval: the same numbers give the same interval.
const FORECAST_SEED: u64 = 0x10AD;

/// A forecast is made for this multiple of the largest load measured; stats refuses more than twice it.
const REACH: f64 = 2.0;

/// A forecast for twice the largest load, of each system that was measured with at least two; or why there is none.
pub(crate) fn capacities(rows: &[Row], systems: usize) -> Vec<CapacityReport> {
    (0..systems).filter_map(|system| capacity(rows, system)).collect()
}

fn capacity(rows: &[Row], system: usize) -> Option<CapacityReport> {
    let mut points = Vec::new();
    let mut think = 0.0f64;
    for row in rows.iter().filter(|row| row.coordinates.get(axis::RATE).is_none()) {
        let Some(outcome) = row.outcomes[system].as_ref().filter(|outcome| is_supported(outcome)) else {
            continue;
        };
        let (Some(load), Some(users)) = (&outcome.load, row.coordinates.users_or_jobs()) else {
            continue;
        };
        if outcome.transactions_per_s > 0.0 {
            points.push(LoadPoint::new(users as f64, outcome.transactions_per_s));
            think = load.think_ns as f64 / 1e9;
        }
    }
    let largest = points.iter().map(|point| point.load).fold(0.0, f64::max);
    if points.len() < 2 {
        return None;
    }
    let mut report = CapacityReport {
        system,
        tried: largest as u64,
        model: fit_capacity(&points, think).ok().map(|model| name_of(&model).to_owned()),
        knee: None,
        forecast: None,
        rejected: None,
    };
    match forecast(&points, think, largest * REACH, FORECAST_SEED) {
        Ok(found) => {
            // A knee beyond the reach of a forecast is not reported.
            report.knee = found.model.knee().filter(|knee| knee.is_finite() && *knee <= largest * REACH);
            report.forecast = Some((largest * REACH, found.throughput));
        }
        Err(refusal) => report.rejected = Some(refusal.to_string()),
    }
    Some(report)
}

fn name_of(model: &Capacity) -> &'static str {
    match model {
        Capacity::Hinge { .. } => "hinge",
        Capacity::Queue { .. } => "queue",
        Capacity::Usl(_) => "scalability law",
    }
}
