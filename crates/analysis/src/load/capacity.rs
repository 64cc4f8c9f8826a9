//! How far the load of a system can be predicted.

use std::collections::BTreeSet;

use sharebench_model::axis;
use sharebench_model::units::{counted, percent};
use sharebench_stats::{Capacity, ErrorScale, LoadPoint, Usl, better_than_the_law, fit_capacity, forecast};

use crate::load::support::is_supported;
use crate::types::{CapacityReport, Outcome, Row, Scalability};

/// Seed of the resampling for a forecast's interval: the same numbers give the same interval.
const FORECAST_SEED: u64 = 0x10AD;

/// A forecast is made for this multiple of the largest load measured; stats refuses more than twice it.
const REACH: f64 = 2.0;

/// Largest error of a model at a measured load; beyond it the model would contradict the rate next to it.
const MAX_MISS: f64 = 0.1;

/// Fewest different loads that determine the three parameters of the scalability law.
const FEWEST_OF_LAW: usize = 3;

/// A forecast for twice the largest load, of each system that was measured with at least two; or why there is none.
/// Tables that were imported get the scalability law as well.
pub(crate) fn capacities(rows: &[Row], systems: usize) -> Vec<CapacityReport> {
    (0..systems).filter_map(|system| capacity(rows, system)).collect()
}

/// The loads of a system with their rates.
struct Loads {
    points: Vec<LoadPoint>,
    /// Mean think time, seconds; 0 where it is not known.
    think_s: f64,
    /// True for rates in transactions per second, false for rates in the section's unit.
    in_transactions: bool,
    /// True where an imported source reports the rates.
    reported: bool,
}

/// Closed loads only: more users are more load only where each brings its own.
fn loads(rows: &[Row], system: usize) -> Loads {
    let closed = rows.iter().filter(|row| row.coordinates.get(axis::RATE).is_none());
    let steps: Vec<(u64, &Outcome)> = closed
        .filter_map(|row| Some((row.coordinates.users_or_jobs()?, row.outcomes[system].as_ref()?)))
        .filter(|(_, outcome)| outcome.load.is_some() || outcome.reported.is_some())
        .filter(|(_, outcome)| is_supported(outcome))
        .collect();
    let reported = steps.iter().any(|(_, outcome)| outcome.reported.is_some());
    let in_transactions = steps.iter().all(|(_, outcome)| outcome.transactions_per_s.is_some());
    let think_of = |outcome: &Outcome| match (&outcome.load, outcome.reported.as_ref()) {
        (Some(load), _) => Some(load.think_ns),
        (None, reported) => reported?.think_ns,
    };
    let think_ns = steps.iter().rev().find_map(|(_, outcome)| think_of(outcome)).unwrap_or_default();
    let rate = |outcome: &Outcome| {
        let counted = outcome.transactions_per_s.filter(|_| in_transactions);
        counted.unwrap_or(outcome.rate.value)
    };
    let points = steps.iter().map(|(users, outcome)| LoadPoint::new(*users as f64, rate(outcome)));
    Loads {
        points: points.filter(|point| point.throughput > 0.0).collect(),
        think_s: think_ns as f64 / 1e9,
        in_transactions,
        reported,
    }
}

fn capacity(rows: &[Row], system: usize) -> Option<CapacityReport> {
    let Loads { points, think_s, in_transactions, reported } = loads(rows, system);
    let largest = points.iter().map(|point| point.load).fold(0.0, f64::max);
    if points.is_empty() || (points.len() < 2 && !reported) {
        return None;
    }
    let law = reported.then(|| scalability(&points));
    let mut report = CapacityReport {
        system,
        tried: largest as u64,
        model: fit_capacity(&points, think_s).ok().map(|model| name_of(&model).to_owned()),
        knee: None,
        forecast: None,
        in_transactions,
        rejected: None,
        scalability: law.as_ref().and_then(|law| law.as_ref().ok()).cloned(),
        scalability_rejected: law.and_then(Result::err),
    };
    match forecast(&points, think_s, largest * REACH, FORECAST_SEED) {
        Ok(found) if missed(&found.model, &points).is_some() => {
            report.rejected = missed(&found.model, &points).map(|(users, share)| {
                format!(
                    "the best model, the {}, misses the rate at {users:.0} users by {}",
                    name_of(&found.model),
                    percent(share, 0)
                )
            });
        }
        Ok(found) => {
            // A knee beyond the reach of a forecast is not reported.
            report.knee = found.model.knee().filter(|knee| knee.is_finite() && *knee <= largest * REACH);
            report.forecast = Some((largest * REACH, found.throughput));
        }
        Err(refusal) => report.rejected = Some(refusal.to_string()),
    }
    Some(report)
}

/// The measured load whose rate a model misses most, and by what share, if that is too much for the model to be shown next to
/// the rate.
fn missed(model: &Capacity, points: &[LoadPoint]) -> Option<(f64, f64)> {
    let miss = |point: &LoadPoint| (model.throughput(point.load) / point.throughput).ln().abs().exp_m1();
    let misses = points.iter().map(|point| (point.load, miss(point)));
    misses.max_by(|x, y| x.1.total_cmp(&y.1)).filter(|(_, share)| *share > MAX_MISS)
}

/// The scalability law of these points, or why there is none.
fn scalability(points: &[LoadPoint]) -> Result<Scalability, String> {
    let loads: BTreeSet<u64> = points.iter().map(|point| point.load as u64).collect();
    if loads.len() < FEWEST_OF_LAW {
        let found = counted(loads.len(), "different load");
        return Err(format!(
            "the law needs at least {FEWEST_OF_LAW} different loads, and the table has {found}"
        ));
    }
    let law = Usl::fit(points, ErrorScale::Absolute).ok_or("no law fits these rates")?;
    let Usl { alpha, beta, gamma, errors, .. } = law;
    let better_curve = better_than_the_law(points).map(|curve| curve.to_string());
    let peak = law.peak().filter(|_| better_curve.is_none());
    Ok(Scalability { alpha, beta, gamma, errors, peak, better_curve })
}

fn name_of(model: &Capacity) -> &'static str {
    match model {
        Capacity::Hinge { .. } => "hinge",
        Capacity::Queue { .. } => "queue",
        Capacity::Usl(_) => "scalability law",
    }
}
