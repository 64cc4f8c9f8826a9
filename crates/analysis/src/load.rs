//! Loads: where more gives less, how far a load can be predicted, and what was kept of an objective.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sharebench_model::{
    ErrorClass, Fairness, LoadDetail, ObjectiveReport, Part, ServerLoad, StepResult, axis,
};
use sharebench_stats::{Capacity, Estimate, LoadPoint, fit_capacity, forecast};

use crate::Row;

/// Seed of the resampling behind a forecast's interval: the same numbers give the same interval.
const FORECAST_SEED: u64 = 0x10AD;
/// A forecast is made for this multiple of the largest load measured; stats refuses more than twice it.
const REACH: f64 = 2.0;

/// One kind of transaction or operation of one system at one position, over all repetitions; times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartOutcome {
    /// Such as `text-to-server`, or `open`.
    pub name: String,
    /// How many ended well.
    pub count: u64,
    /// How many of them per second.
    pub per_s: f64,
    /// Application bytes they moved.
    pub bytes: u64,
    /// Those behind their deadline.
    pub missed: u64,
    /// How many failed, by class.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Mean response time; of operations, mean service time.
    pub mean_ns: f64,
    /// Response times at 50, 95 and 99 %; nothing for operations.
    pub response_ns: [u64; 3],
    /// Service times at 50, 95 and 99 %.
    pub service_ns: [u64; 3],
    /// Lag at 99 %; nothing for operations.
    pub lag_ns: u64,
}

/// A load of one system at one position, taken apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadOutcome {
    /// By kind of transaction.
    pub transactions: Vec<PartOutcome>,
    /// By kind of operation; those that happened.
    pub operations: Vec<PartOutcome>,
    /// How evenly users were served.
    pub fairness: Fairness,
    /// Sessions lost.
    pub sessions_lost: u64,
    /// Time users were without a session, summed, nanoseconds.
    pub without_session_ns: u64,
    /// Mean of the pauses asked for, nanoseconds.
    pub think_ns: u64,
    /// The objective of the last repetition.
    pub objective: Option<ObjectiveReport>,
    /// The server during the last window in which somebody measured it.
    #[serde(default)]
    pub server: Option<ServerLoad>,
}

/// Puts the repetitions of a load together; none for steps that are no load's.
pub(crate) fn load_outcome(steps: &[&StepResult]) -> Option<LoadOutcome> {
    let mut total = LoadDetail::default();
    let mut window_ns = 0;
    for measure in steps.iter().map(|step| &step.measure) {
        window_ns += measure.window_ns;
        let objective = measure.load.objective.clone();
        total.merge(measure.load.clone());
        total.objective = objective.or(total.objective);
    }
    if total.is_empty() {
        return None;
    }
    let parts = |parts: &[Part]| parts.iter().map(|part| part_outcome(part, window_ns)).collect::<Vec<_>>();
    let mut operations = parts(&total.operations);
    operations.retain(|part| part.count > 0 || !part.errors.is_empty());
    Some(LoadOutcome {
        transactions: parts(&total.transactions),
        operations,
        fairness: total.fairness,
        sessions_lost: total.sessions_lost,
        without_session_ns: total.without_session_ns,
        think_ns: total.think_ns,
        objective: total.objective,
        server: total.server,
    })
}

fn part_outcome(part: &Part, window_ns: u64) -> PartOutcome {
    let at = |times: &sharebench_model::Histogram| [0.5, 0.95, 0.99].map(|q| times.quantile(q));
    let times = if part.response.is_empty() { &part.service } else { &part.response };
    PartOutcome {
        name: part.name.clone(),
        count: part.count,
        per_s: part.count as f64 * 1e9 / window_ns.max(1) as f64,
        bytes: part.bytes,
        missed: part.missed,
        errors: part.errors.clone(),
        mean_ns: times.mean(),
        response_ns: at(&part.response),
        service_ns: at(&part.service),
        lag_ns: part.lag.quantile(0.99),
    }
}

/// How far the load of one system can be predicted (docs/measurement-rules.md R7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityReport {
    /// Index into [`crate::Analysis::systems`].
    pub system: usize,
    /// Largest number of users that was tried.
    pub tried: u64,
    /// The model that predicted the last steps best from the others: `hinge`, `queue` or `scalability law`; none where
    /// there are too few steps to choose.
    pub model: Option<String>,
    /// Users from which more only wait, or get less, by that model; none where it knows none, or a forecast is refused.
    pub knee: Option<f64>,
    /// Users and transactions per second that are predicted.
    pub forecast: Option<(f64, Estimate)>,
    /// Why nothing is predicted.
    pub refused: Option<String>,
}

/// A forecast for twice the largest load, of each system that was measured with at least two; or why there is none.
pub(crate) fn capacities(rows: &[Row], systems: usize) -> Vec<CapacityReport> {
    (0..systems).filter_map(|system| capacity(rows, system)).collect()
}

fn capacity(rows: &[Row], system: usize) -> Option<CapacityReport> {
    let mut points = Vec::new();
    let mut think = 0.0f64;
    for row in rows.iter().filter(|row| row.coordinates.get(axis::RATE).is_none()) {
        let Some(outcome) = &row.outcomes[system] else { continue };
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
        refused: None,
    };
    match forecast(&points, think, largest * REACH, FORECAST_SEED) {
        Ok(found) => {
            // A knee beyond what may be predicted is no more than a guess.
            report.knee = found.model.knee().filter(|knee| knee.is_finite() && *knee <= largest * REACH);
            report.forecast = Some((largest * REACH, found.throughput));
        }
        Err(refusal) => report.refused = Some(refusal.to_string()),
    }
    Some(report)
}

fn name_of(model: &Capacity) -> &'static str {
    match model {
        Capacity::Hinge { .. } => "hinge",
        Capacity::Station { .. } => "queue",
        Capacity::Usl(_) => "scalability law",
    }
}

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
