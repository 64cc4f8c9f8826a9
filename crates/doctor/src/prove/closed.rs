//! Known answer K5 (docs/measurement-rules.md K5): users who think, against exact mean value analysis of what was
//! thought and served.

use std::sync::Arc;
use std::time::Duration;

use sharebench_model::units::show_nanos;
use sharebench_server::ServiceTime;

use crate::prove::rig::{Rig, flagged, mean_ns, run_one, single_reads};
use crate::prove::watched::Watched;
use crate::prove::{Attempt, Conditions, ProveError, Row};

/// Below, at and above the knee, which lies at 11 users.
const USERS: [u32; 5] = [1, 5, 8, 11, 20];
const SERVICE: Duration = Duration::from_millis(2);

/// K5: X and R of 1 to 20 users with 20 ms of exponential think time at a server of 2 ms.
pub(super) fn thinking_users(conditions: Conditions) -> Result<Attempt, ProveError> {
    let measure = conditions.lasting(Duration::from_secs(6));
    let mut rows = Vec::new();
    for users in USERS {
        rows.extend(step(users, measure)?);
    }
    Ok(rows.into())
}

fn step(users: u32, measure: Duration) -> Result<[Row; 3], ProveError> {
    let service = ServiceTime::Exponential { mean: SERVICE, seed: 5 };
    let rig = Rig::serving(service, users)?;
    let watched = Arc::new(Watched::new(rig.nfs()));
    let pace = format!("users = [{users}]\nthink = 'exp 20ms'\nwarm_up = '500ms'\nmeasure = '{measure:?}'");
    let step = run_one(single_reads(&pace)?, &[Arc::clone(&watched) as _])?;
    let window_ns = step.measure.window_ns;

    let mut reads = rig.take_reads();
    let last = reads.last().map_or(0, |read| read.received_ns);
    reads.retain(|read| last - read.received_ns <= window_ns);
    let served = mean_ns(reads.iter().map(|read| read.service_ns));
    // What the way there and back and late wake-ups add to the model's own arithmetic.
    let way = step.measure.service.mean() - mean_ns(reads.iter().map(|read| read.due_ns - read.received_ns));
    let think = watched.mean_pause_ns(window_ns).unwrap_or_default();
    let (rate, response) = mean_value_analysis(users, served, think + way);
    let (rate, response) = (rate * 1e9, response + way);

    let (seen_rate, seen) =
        (step.measure.transaction_rate().unwrap_or_default(), step.measure.response.mean());
    let (off_rate, off) = (seen_rate / rate - 1.0, seen / response - 1.0);
    let little = flagged(&step, "little");
    let residual = step.checks.iter().find(|check| check.name == "little").map(|check| check.detail.clone());
    let residual = residual.as_deref().and_then(|detail| detail.rsplit('(').next()).unwrap_or("not known");
    let name = |what: &str| format!("{users} users: {what}");
    Ok([
        Row::new(
            name("rate"),
            format!("{rate:.2}/s"),
            format!("{seen_rate:.2}/s ({:+.1} %)", off_rate * 100.0),
            "5 %",
            off_rate.abs() <= 0.05,
        ),
        Row::new(
            name("response"),
            show_nanos(response),
            format!("{} ({:+.1} %)", show_nanos(seen), off * 100.0),
            "10 %",
            off.abs() <= 0.1,
        ),
        Row::new(name("Little's law"), "0", residual.trim_end_matches(')').to_owned(), "2 %", !little),
    ])
}

/// Throughput and response of a closed network of one queue and a delay, all in one unit of time (Reiser and
/// Lavenberg, J. ACM 27 (1980) 313).
fn mean_value_analysis(users: u32, service: f64, delay: f64) -> (f64, f64) {
    let (mut queue, mut rate, mut response) = (0.0, 0.0, 0.0);
    for n in 1..=users {
        response = service * (1.0 + queue);
        rate = f64::from(n) / (response + delay);
        queue = rate * response;
    }
    (rate, response)
}

#[cfg(test)]
mod tests {
    use super::mean_value_analysis;

    #[test]
    fn the_analysis_gives_the_published_answers() {
        for (users, rate, response) in
            [(1, 45.45, 2.0), (2, 90.16, 2.182), (11, 418.38, 6.292), (20, 499.07, 20.075), (30, 500.0, 40.0)]
        {
            let (x, r) = mean_value_analysis(users, 2.0, 20.0);
            assert!(
                (x * 1000.0 / rate - 1.0).abs() < 2e-4 && (r / response - 1.0).abs() < 1e-3,
                "{users}: {x} {r}"
            );
        }
    }
}
