//! What a measured load is drawn with: the pace of users who never wait for each other, forecasts, objectives.

use sharebench_model::axis;
use sharebench_model::units::parse_duration;

use crate::types::{CapacityReport, LoadLines, Outcome, ResponseLimit, Row};

/// The lines of every system that has one.
pub(crate) fn load_lines(rows: &[Row], capacity: &[CapacityReport], systems: usize) -> Vec<LoadLines> {
    let closed = |row: &&Row| row.coordinates.get(axis::RATE).is_none();
    let lines = |system: usize| {
        let loads: Vec<(u64, &Outcome)> = rows
            .iter()
            .filter(closed)
            .filter_map(|row| Some((row.coordinates.users_or_jobs()?, row.outcomes[system].as_ref()?)))
            .filter(|(users, outcome)| *users > 0 && outcome.rate.value > 0.0)
            .collect();
        let smallest = loads.iter().min_by_key(|(users, _)| *users);
        let largest = loads.iter().max_by_key(|(users, _)| *users);
        let unhindered_per_user = smallest.and_then(|(_, outcome)| {
            let cycle_s = (outcome.response_mean_ns? + outcome.load.as_ref()?.think_ns as f64) / 1e9;
            (cycle_s > 0.0).then_some(per_transaction(outcome)? / cycle_s)
        });
        let report = capacity.iter().find(|report| report.system == system);
        let forecast = report.and_then(|report| {
            let (users, rate) = report.forecast?;
            let factor = if report.in_transactions { per_transaction(largest?.1)? } else { 1.0 };
            Some((users, rate.map(|rate| rate * factor)))
        });
        (unhindered_per_user.is_some() || forecast.is_some()).then_some(LoadLines {
            system,
            unhindered_per_user,
            forecast,
        })
    };
    (0..systems).filter_map(lines).collect()
}

/// What one transaction counts in the section's unit; none where transactions are not counted.
fn per_transaction(outcome: &Outcome) -> Option<f64> {
    outcome.transactions_per_s.filter(|rate| *rate > 0.0).map(|rate| outcome.rate.value / rate)
}

/// The response times of a section's objective, such as `p95<200ms,errors<0.1%`.
pub(crate) fn response_limits(rows: &[Row]) -> Vec<ResponseLimit> {
    let loads = rows.iter().flat_map(|row| row.outcomes.iter().flatten()).filter_map(|o| o.load.as_ref());
    let wanted = loads.filter_map(|load| load.objective.as_ref()).map(|objective| objective.wanted.as_str());
    wanted.take(1).flat_map(limits).collect()
}

fn limits(wanted: &str) -> Vec<ResponseLimit> {
    let limit = |part: &str| {
        let (what, most) = part.trim().split_once('<')?;
        let ns = parse_duration(most).ok()?.as_nanos() as f64;
        let quantile = match what.strip_prefix('p') {
            Some(percent) => Some(percent.parse::<f64>().ok()? / 100.0),
            None if what == "mean" => None,
            None => return None,
        };
        Some(ResponseLimit { quantile, ns })
    };
    wanted.split(',').filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_says_which_times_it_limits() {
        let found = limits("p95<200ms, errors<0.1%,mean<5ms");
        let limit = |quantile, ns| ResponseLimit { quantile, ns };
        assert_eq!(found, [limit(Some(0.95), 2e8), limit(None, 5e6)]);
        assert!(limits("fast enough").is_empty());
    }
}
