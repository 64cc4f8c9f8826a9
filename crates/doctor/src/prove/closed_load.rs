//! Known answer K5 (docs/measure/measurement-rules.md K5): users with think time, against exact mean value analysis
//! of the executed think and service times.

use std::sync::Arc;
use std::time::Duration;

use sharebench_model::units::show_nanos;
use sharebench_server::ServiceTime;

use crate::prove::fixture::{Fixture, flagged, mean_ns, run_one, single_reads};
use crate::prove::pauses::Pauses;
use crate::prove::{Attempt, Conditions, ProveError, Row};

/// Users below, at and above the knee, which is at 11 users.
const USERS: [u32; 5] = [1, 5, 8, 11, 20];
const SERVICE: Duration = Duration::from_millis(2);

/// K5: throughput and response time of 1 to 20 users with 20 ms of exponential think time at a server of 2 ms.
pub(super) fn thinking_users(conditions: Conditions) -> Result<Attempt, ProveError> {
    let mut rows = Vec::new();
    for users in USERS {
        rows.extend(step(users, conditions)?);
    }
    Ok(rows.into())
}

fn step(users: u32, conditions: Conditions) -> Result<[Row; 3], ProveError> {
    let measure = conditions.lasting(Duration::from_secs(6));
    let service = ServiceTime::Exponential { mean: SERVICE, seed: 5 };
    let fixture = Fixture::serving(conditions.protocol, service, users)?;
    let pauses = Pauses::new();
    let target = pauses.of_target(fixture.target());
    let pace = format!("users = [{users}]\nthink = 'exp 20ms'\nwarm_up = '500ms'\nmeasure = '{measure:?}'");
    let step = run_one(single_reads(&pace)?, &[Arc::new(target)])?;
    let window_ns = step.measure.window_ns;

    let mut reads = fixture.take_reads();
    let last = reads.last().map_or(0, |read| read.received_ns);
    reads.retain(|read| last - read.received_ns <= window_ns);
    let served = mean_ns(reads.iter().map(|read| read.service_ns));
    // The network path and late wake-ups add this time, which the model does not include.
    let path = step.measure.service.mean() - mean_ns(reads.iter().map(|read| read.due_ns - read.received_ns));
    let think = pauses.mean_ns(window_ns).unwrap_or_default();
    let (rate, response) = mean_value_analysis(users, served, think + path);
    let rate = rate * 1e9;
    let response = response + path;

    let measured_rate = step.measure.transaction_rate().unwrap_or_default();
    let measured = step.measure.response.mean();
    let off_rate = measured_rate / rate - 1.0;
    let off = measured / response - 1.0;
    let little = flagged(&step, "little");
    let residual = step.checks.iter().find(|check| check.name == "little").map(|check| check.detail.clone());
    let residual = residual.as_deref().and_then(|detail| detail.rsplit('(').next()).unwrap_or("unknown");
    let name = |what: &str| format!("{users} users: {what}");
    Ok([
        Row::new(
            name("rate"),
            format!("{rate:.2}/s"),
            format!("{measured_rate:.2}/s ({:+.1} %)", off_rate * 100.0),
            "5 %",
            off_rate.abs() <= 0.05,
        ),
        Row::new(
            name("response"),
            show_nanos(response),
            format!("{} ({:+.1} %)", show_nanos(measured), off * 100.0),
            "10 %",
            off.abs() <= 0.1,
        ),
        Row::new(name("Little's law"), "0", residual.trim_end_matches(')').to_owned(), "2 %", !little),
    ])
}

/// Returns throughput and response time of a closed network of one queue and a delay (Reiser and Lavenberg, J. ACM 27
/// (1980) 313). All times have the same unit.
fn mean_value_analysis(users: u32, service: f64, delay: f64) -> (f64, f64) {
    let mut queue = 0.0;
    let mut rate = 0.0;
    let mut response = 0.0;
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
    fn mean_value_analysis_gives_the_published_results() {
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
