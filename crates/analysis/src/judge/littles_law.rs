//! Little's law for loads: users, rates, response and think times that belong together (docs/measure/measurement-rules.md R11).

use sharebench_model::axis;
use sharebench_model::units::{counted, percent, show_nanos, three_digits};
use sharebench_stats::{little_residual, median};

use crate::align::Aligned;
use crate::types::{Outcome, RateUnit, Row, Section, View};

/// Largest deviation that is no contradiction.
const TOLERANCE: f64 = 0.10;

/// Steps of one system whose rate, response time and think time account for another number of users than there were. Each
/// step is examined by itself, whatever else the table holds.
pub(crate) fn steps(name: &str, section: &Section, system: usize) -> Vec<String> {
    let with_users = |row: &&Row| section.view == View::Load || row.coordinates.users_or_jobs().is_some();
    let rows = section.rows.iter().filter(with_users);
    rows.filter_map(|row| {
        let in_flight = row.coordinates.number(axis::QUEUE_DEPTH).unwrap_or(1).max(1);
        users(name, row.outcomes[system].as_ref()?, in_flight as f64)
    })
    .collect()
}

/// A step whose rate, response time and think time account for another number of users than there were, each with
/// `in_flight` transactions. Without the think time, only a step that needs more users than there were contradicts the law.
fn users(name: &str, outcome: &Outcome, in_flight: f64) -> Option<String> {
    let rate = outcome.transactions_per_s?;
    let response_ns = outcome.response_mean_ns?;
    let assigned = f64::from(outcome.users_assigned);
    let busy = rate * response_ns / 1e9 / in_flight;
    if let Some(think_ns) = outcome.reported.as_ref().and_then(|figures| figures.think_ns) {
        // The mean response time covers the users that reported.
        let users = f64::from(outcome.users_reported);
        let think_s = think_ns as f64 / 1e9;
        let residual = little_residual(users, rate, response_ns / 1e9 / in_flight, think_s)?;
        let think = if think_ns == 0 {
            "no think time".to_owned()
        } else {
            format!("a think time of {}", show_nanos(think_ns as f64))
        };
        return (residual > TOLERANCE).then(|| {
            format!(
                "{name}: {} transactions/s with a mean response time of {} and {think} account for {} users, \
                 but {users:.0} reported (Little's law, residual {}).",
                three_digits(rate),
                show_nanos(response_ns),
                three_digits(busy + rate * think_s),
                percent(residual, 0)
            )
        });
    }
    (assigned > 0.0 && busy > assigned * (1.0 + TOLERANCE)).then(|| {
        format!(
            "{name}: {} transactions/s of {} each would need at least {} users, but there were {assigned:.0}: rate and \
             response times are inconsistent (Little's law).",
            three_digits(rate),
            show_nanos(response_ns),
            three_digits(busy)
        )
    })
}

/// The size of a transaction that a step implies.
struct ImpliedSize {
    system: usize,
    users: u64,
    /// X (R + Z) / N in bytes, with the users that reported.
    bytes: f64,
}

/// Steps that imply different sizes of a transaction. Where a table reports bytes per second and not transactions, Little's
/// law gives the size of a transaction, X (R + Z) / N, which every step of one load must share.
pub(crate) fn transaction_sizes(aligned: &Aligned<'_>, section: &Section) -> Option<String> {
    let systems: Vec<Vec<ImpliedSize>> =
        (0..aligned.systems.len()).map(|system| implied_sizes(section, system)).collect();
    let mut all: Vec<f64> = systems.iter().flatten().map(|step| step.bytes).collect();
    let typical = median(&mut all)?;
    let residual = |step: &ImpliedSize| (step.bytes / typical - 1.0).abs();
    let worst = systems.iter().flatten().max_by(|a, b| residual(a).total_cmp(&residual(b)))?;
    if residual(worst) <= TOLERANCE {
        return None;
    }
    let name = |system: usize| aligned.systems[system].name.as_str();
    let listed: Vec<String> =
        systems.iter().filter_map(|steps| listed(name(steps.first()?.system), steps)).collect();
    let differing: Vec<String> =
        systems.iter().filter_map(|steps| differing(name(steps.first()?.system), steps)).collect();
    let differing = if !differing.is_empty() {
        format!("The steps of one system differ: {}", differing.join(", "))
    } else if systems.iter().any(|steps| steps.len() > 1) {
        "The steps of each system agree: the systems did not perform the same transactions, or one is wrong"
            .to_owned()
    } else {
        "The systems did not perform the same transactions, or the figures of one are wrong".to_owned()
    };
    let sizes: Vec<f64> = systems.iter().flatten().map(|step| step.bytes).collect();
    let end = if let [one, other] = sizes[..] {
        // Neither of two is nearer to their median.
        format!("They differ by a factor of {}", three_digits(one.max(other) / one.min(other)))
    } else {
        format!(
            "{} with {} deviates most from the median of {}: residual {}",
            name(worst.system),
            counted(worst.users, "user"),
            kilobytes(typical),
            percent(residual(worst), 0)
        )
    };
    Some(format!(
        "rate x (response + think time) / users is the size of a transaction and must be equal in all steps (Little's law), \
         but it is {}. {differing}. {end}.",
        listed.join("; "),
    ))
}

fn implied_sizes(section: &Section, system: usize) -> Vec<ImpliedSize> {
    let closed = section.rows.iter().filter(|row| row.coordinates.get(axis::RATE).is_none());
    let implied = |row: &Row| {
        let outcome = row.outcomes[system].as_ref()?;
        let figures = outcome.reported.as_ref().filter(|_| section.unit == RateUnit::BytesPerSecond)?;
        // A size that the table states is checked step by step.
        if figures.transaction_bytes.is_some() || outcome.users_reported == 0 {
            return None;
        }
        let cycle_s = (outcome.response_mean_ns? + figures.think_ns? as f64) / 1e9;
        let bytes = outcome.rate.value * cycle_s / f64::from(outcome.users_reported);
        Some(ImpliedSize { system, users: row.coordinates.users_or_jobs()?, bytes }).filter(|_| bytes > 0.0)
    };
    closed.filter_map(implied).collect()
}

/// `nas 2220 kB with 50 users and 302 kB with 100`.
fn listed(name: &str, steps: &[ImpliedSize]) -> Option<String> {
    let (first, rest) = steps.split_first()?;
    let first = format!("{name} {} with {}", kilobytes(first.bytes), counted(first.users, "user"));
    let rest = rest.iter().map(|step| format!("{} with {}", kilobytes(step.bytes), step.users));
    Some(std::iter::once(first).chain(rest).collect::<Vec<_>>().join(", "))
}

/// The factor between the steps of one system; none where they agree.
fn differing(name: &str, steps: &[ImpliedSize]) -> Option<String> {
    let largest = steps.iter().map(|step| step.bytes).fold(0.0, f64::max);
    let smallest = steps.iter().map(|step| step.bytes).fold(f64::INFINITY, f64::min);
    let factor = largest / smallest;
    (factor > 1.0 + TOLERANCE).then(|| format!("{name} by a factor of {}", three_digits(factor)))
}

fn kilobytes(bytes: f64) -> String {
    format!("{} kB", three_digits(bytes / 1e3))
}
