//! Whether a system sustains the users of a load step, in the unit in which they think
//! (docs/design/workloads.md, Units).

use sharebench_model::{LoadUnit, Measure, StepResult, UnitObjective, axis};
use sharebench_stats::{Estimate, Interval, student_quantile};

use crate::load::support::relative_error;
use crate::types::{UnitOutcome, UnitShare};

/// Quantile of the normal distribution for 95 % intervals.
const Z: f64 = 1.959_964;
/// Largest number of batches of a window.
const MAX_BATCHES: u64 = 20;
/// Fewest batches whose scatter can be measured.
const MIN_BATCHES: u64 = 4;
/// Fewest transactions of each user in a batch: whether one falls before or after an edge must not count for much.
const PER_BATCH: u64 = 10;

/// The verdict of all repetitions of a load step; none where the workload states no unit, or the steps state several.
pub(crate) fn unit_outcome(steps: &[&StepResult]) -> Option<UnitOutcome> {
    let first = steps.first()?;
    let unit = first.measure.load.unit.as_ref()?;
    if steps.iter().any(|step| step.measure.load.unit.as_ref() != Some(unit)) {
        return None;
    }
    let measures: Vec<&Measure> = steps.iter().map(|step| &step.measure).collect();
    let scheduled = first.coordinates.get(axis::RATE).is_some();
    let impossible = impossible(unit, first.measure.load.think_ns, scheduled);
    let (share, transactions) = if impossible.is_some() { (None, 0) } else { measured(unit, &measures) };
    let sustained = share.as_ref().and_then(|share| verdict(unit.objective, share));
    let refused = match (&share, sustained) {
        (_, Some(_)) => None,
        (None, _) if impossible.is_some() => impossible.map(str::to_owned),
        (None, _) => Some(format!("no {} is known to have been due", unit.transaction)),
        (Some(Estimate { interval: None, .. }), None) => {
            Some("the window is too short for an interval; raise --measure".to_owned())
        }
        (Some(_), None) => Some("the interval contains the limit; raise --measure".to_owned()),
    };
    Some(UnitOutcome {
        name: unit.name.clone(),
        transaction: unit.transaction.clone(),
        objective: unit.objective.to_string(),
        kind: match unit.objective {
            UnitObjective::Missed { .. } => UnitShare::Missed,
            UnitObjective::Pace { .. } => UnitShare::Pace,
            UnitObjective::Busy { .. } => UnitShare::Busy,
        },
        scale: unit.scale.clone(),
        number: u64::from(first.measure.users_assigned),
        transactions,
        share,
        sustained,
        refused,
    })
}

/// Why the pauses of the users determine no such share.
fn impossible(unit: &LoadUnit, think_ns: u64, scheduled: bool) -> Option<&'static str> {
    match unit.objective {
        _ if scheduled => Some("a schedule, and not the users, starts the transactions (--arrivals)"),
        UnitObjective::Pace { .. } if !unit.paced => {
            Some("users pause instead of keeping a pace; use --think 'every T'")
        }
        UnitObjective::Busy { .. } if think_ns == 0 => {
            Some("without a pause there is no time of computation; use --think 'every T'")
        }
        _ => None,
    }
}

/// The share that the objective limits, and the number of transactions that it is of.
fn measured(unit: &LoadUnit, measures: &[&Measure]) -> (Option<Estimate>, u64) {
    match unit.objective {
        UnitObjective::Missed { .. } => missed(unit, measures),
        UnitObjective::Pace { .. } => (pace(measures), completed(measures)),
        UnitObjective::Busy { .. } => (busy(measures), completed(measures)),
    }
}

fn completed(measures: &[&Measure]) -> u64 {
    measures.iter().map(|measure| measure.transactions).sum()
}

/// None where the interval contains the limit, or is not known.
fn verdict(objective: UnitObjective, share: &Estimate) -> Option<bool> {
    let Interval { low, high } = share.interval?;
    let limit = objective.limit();
    match objective {
        UnitObjective::Missed { .. } if high <= limit => Some(true),
        UnitObjective::Missed { .. } => (low > limit).then_some(false),
        UnitObjective::Pace { .. } | UnitObjective::Busy { .. } if low >= limit => Some(true),
        UnitObjective::Pace { .. } | UnitObjective::Busy { .. } => (high < limit).then_some(false),
    }
}

/// Transactions later than their deadline, failed, or due by the pace and never completed; with Wilson's interval, for
/// which each of them is late by chance of its own.
fn missed(unit: &LoadUnit, measures: &[&Measure]) -> (Option<Estimate>, u64) {
    let mut late = 0.0;
    let mut all = 0.0;
    for measure in measures {
        let failed = |part: &sharebench_model::Part| part.errors.values().sum::<u64>();
        let timed = measure.load.transactions.iter().filter(|part| unit.with_deadline.contains(&part.name));
        let mut ended = 0.0;
        let mut lost = 0.0;
        for part in timed {
            ended += part.count as f64;
            lost += (part.missed + failed(part)) as f64;
            all += (part.count + failed(part)) as f64;
        }
        late += lost;
        let started: u64 = measure.load.transactions.iter().map(|part| part.count + failed(part)).sum();
        // One transaction of each user may be in flight at each edge of the window.
        let due = if unit.paced { due(measure) - f64::from(measure.users_assigned) } else { 0.0 };
        let never = (due - started as f64).max(0.0)
            * if started > 0 { (ended / started as f64).min(1.0) } else { 1.0 };
        late += never;
        all += never;
    }
    let n = all.round() as u64;
    if n == 0 {
        return (None, 0);
    }
    let value = (late / all).clamp(0.0, 1.0);
    (Some(Estimate { value, interval: Some(wilson(value, all)), n: n as usize }), n)
}

/// E. B. Wilson: Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
fn wilson(share: f64, n: f64) -> Interval {
    let z2 = Z * Z;
    let center = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let low = if share <= 0.0 { 0.0 } else { (center - half).max(0.0) };
    let high = if share >= 1.0 { 1.0 } else { (center + half).min(1.0) };
    Interval { low, high }
}

/// Transactions that the pace requests of all users within the window.
fn due(measure: &Measure) -> f64 {
    let period_ns = measure.load.think_ns;
    if period_ns == 0 {
        return 0.0;
    }
    f64::from(measure.users_assigned) * measure.window_ns as f64 / period_ns as f64
}

/// Completed transactions as a share of those that the pace requests.
fn pace(measures: &[&Measure]) -> Option<Estimate> {
    let requested: f64 = measures.iter().map(|measure| due(measure)).sum();
    if requested <= 0.0 {
        return None;
    }
    let value = completed(measures) as f64 / requested;
    let errors = measures.iter().map(|measure| {
        let series = &measure.load.timeline.transactions;
        batch_error(measure, &series.iter().map(|count| *count as f64).collect::<Vec<_>>())
    });
    Some(bounded(value, errors.collect(), requested, completed(measures)))
}

/// Time that users spend on what their pauses stand for, as a share of the window.
///
/// Delivered transactions wait until the user has time for them, so that a stall is lost time, although the transactions
/// that follow it are delivered faster. The users of a step are one pool; each has one transaction at the start.
fn busy(measures: &[&Measure]) -> Option<Estimate> {
    let mut worked = 0.0;
    let mut capacity = 0.0;
    let mut errors = Vec::new();
    for measure in measures {
        let each_s = measure.load.timeline.each_ns as f64;
        let per_transaction = measure.load.think_ns as f64;
        let users = f64::from(measure.users_assigned);
        let mut waiting = users * per_transaction;
        let whole = whole_intervals(measure);
        let series: Vec<f64> = measure.load.timeline.transactions[..whole]
            .iter()
            .map(|count| {
                waiting += *count as f64 * per_transaction;
                let done = waiting.min(users * each_s);
                waiting -= done;
                done
            })
            .collect();
        worked += series.iter().sum::<f64>();
        capacity += users * each_s * whole as f64;
        errors.push(batch_error(measure, &series));
    }
    let possible: f64 = measures.iter().map(|measure| due(measure)).sum();
    (capacity > 0.0).then(|| bounded(worked / capacity, errors, possible, completed(measures)))
}

/// Intervals of the timeline that lie in the window as a whole.
fn whole_intervals(measure: &Measure) -> usize {
    let timeline = &measure.load.timeline;
    let whole = measure.window_ns.checked_div(timeline.each_ns).unwrap_or(0) as usize;
    whole.min(timeline.transactions.len())
}

/// Standard error of the mean of a series as a share of it, by batch means, and its degrees of freedom; none where the
/// window has too few transactions for batches.
fn batch_error(measure: &Measure, series: &[f64]) -> Option<(f64, f64)> {
    let whole = whole_intervals(measure);
    // What each user could complete, so that a window is long enough for a verdict on a target that is too slow.
    let each = measure.window_ns.checked_div(measure.load.think_ns).unwrap_or(0);
    let batches = (each / PER_BATCH).min(MAX_BATCHES).min(whole as u64);
    if batches < MIN_BATCHES {
        return None;
    }
    Some((relative_error(&series[..whole.min(series.len())], batches as usize)?, (batches - 1) as f64))
}

/// A share with the interval of its relative errors, neither of which exceeds all of it. Nothing of what was `possible` has
/// no scatter, and the interval of a count of 0.
fn bounded(value: f64, errors: Vec<Option<(f64, f64)>>, possible: f64, n: u64) -> Estimate {
    if n == 0 && possible >= (PER_BATCH * MIN_BATCHES) as f64 {
        return Estimate { value: 0.0, interval: Some(wilson(0.0, possible)), n: 0 };
    }
    let errors: Option<Vec<(f64, f64)>> = errors.into_iter().collect();
    let interval = errors.map(|errors| {
        let share = errors.iter().map(|(share, _)| share.powi(2)).sum::<f64>().sqrt() / errors.len() as f64;
        let freedom: f64 = errors.iter().map(|(_, freedom)| freedom).sum();
        let half = student_quantile(0.975, freedom) * share * value;
        Interval { low: (value - half).clamp(0.0, 1.0), high: (value + half).clamp(0.0, 1.0) }
    });
    Estimate { value: value.min(1.0), interval, n: n as usize }
}

#[cfg(test)]
mod tests {
    use super::wilson;

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        // Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81 of 263, 15 of 148, 0 of 20.
        for (k, n, low, high) in
            [(81.0, 263.0, 0.2553, 0.3662), (15.0, 148.0, 0.0624, 0.1605), (0.0, 20.0, 0.0, 0.1611)]
        {
            let found = wilson(k / n, n);
            assert!(
                (found.low - low).abs() < 1e-4 && (found.high - high).abs() < 1e-4,
                "{k} of {n}: {found:?}"
            );
        }
        assert!((wilson(1.0, 20.0).high - 1.0).abs() < 1e-12);
    }
}
