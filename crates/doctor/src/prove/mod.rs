//! Known-answer tests: the engine measures servers with known behaviour, and its results must agree.

mod cache_attribution;
mod clock_step;
mod closed_load;
mod common_start;
mod conditions;
mod corrupting_volume;
mod fixed_service;
mod fixture;
mod generator;
mod integrity;
mod lost_replies;
mod open_load;
mod paired_comparison;
mod pauses;
mod proof;
mod queue_depth;
mod served_volume;
mod socket_baseline;
mod wall_clock;

use std::time::Duration;

use sharebench_engine::{Clock, Health, HealthMeter, health_has_warning};
use sharebench_model::units::{percent, show_nanos};

pub use conditions::{Conditions, Protocol};
pub(crate) use fixture::{ProveError, run};
pub(crate) use proof::Attempt;
pub use proof::{Proof, Row, Verdict};
pub(crate) use served_volume::ServedVolume;

/// Limits of CPU pressure and of steal time above which a failure does not count.
const MAX_PRESSURE: f64 = 0.1;
const MAX_STEAL: f64 = 0.02;
/// Maximum number of attempts per experiment.
const ATTEMPTS: u32 = 3;

/// How an experiment detects that the machine was not quiet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    /// The hiccup meter over the whole attempt.
    Meter,
    /// The experiment itself, window by window.
    Own,
    /// Not at all: no measured time decides the result.
    None,
}

/// An experiment of the known-answer suite in its real-time form.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Such as `K1`.
    pub id: &'static str,
    /// Short description.
    pub title: &'static str,
    /// Approximate duration of one attempt.
    pub duration: Duration,
    gate: Gate,
    run: fn(Conditions) -> Result<Attempt, ProveError>,
}

const fn experiment(
    id: &'static str,
    title: &'static str,
    seconds: u64,
    gate: Gate,
    run: fn(Conditions) -> Result<Attempt, ProveError>,
) -> Experiment {
    Experiment { id, title, duration: Duration::from_secs(seconds), gate, run }
}

/// All experiments, in the order of their ids.
pub const EXPERIMENTS: &[Experiment] = &[
    experiment("K1", "fixed service time, one in flight", 4, Gate::Meter, fixed_service::service_time),
    experiment("K2", "a link of 50 MB/s", 6, Gate::Meter, fixed_service::link),
    experiment("K3", "random arrivals at one server", 25, Gate::Meter, open_load::random_arrivals),
    experiment("K5", "users with think time at one server", 30, Gate::Meter, closed_load::thinking_users),
    experiment("K6", "a stall of one second in an open load", 21, Gate::Meter, open_load::stall),
    experiment("K7", "two equal servers", 330, Gate::Own, paired_comparison::same),
    experiment("K8", "servers that differ by 2 % and by 5 %", 330, Gate::Own, paired_comparison::different),
    experiment("K12", "a generator at its limit", 10, Gate::Meter, generator::saturation),
    experiment(
        "K14",
        "replies of a third of the users are lost",
        5,
        Gate::None,
        lost_replies::censored_users,
    ),
    experiment(
        "K16",
        "attribution to server cache and storage",
        210,
        Gate::Own,
        cache_attribution::attribution,
    ),
    experiment("K18", "a server that returns wrong blocks", 2, Gate::None, integrity::wrong_blocks),
    experiment("K19", "three hosts with wrong clocks start together", 4, Gate::Meter, common_start::start),
    experiment("K20", "the wall clock is set back while measuring", 3, Gate::None, clock_step::set_back),
    experiment(
        "K21",
        "a queue depth of 8 at a device with 8 servers",
        7,
        Gate::Meter,
        queue_depth::queue_depth,
    ),
];

/// Runs an experiment, with up to three attempts. A noisy attempt does not decide the verdict.
pub fn prove(experiment: &Experiment, conditions: Conditions) -> Proof {
    let Experiment { id, title, gate, run, .. } = *experiment;
    let mut proof =
        Proof { id, title, verdict: Verdict::TooNoisy, attempts: 0, rows: Vec::new(), why: String::new() };
    while proof.attempts < ATTEMPTS {
        proof.attempts += 1;
        match attempt(gate, || run(conditions)) {
            Ok(attempt) if attempt.noise.is_some() => {
                // A failure on the quiet machine outweighs a noisy attempt after it.
                if proof.verdict == Verdict::TooNoisy {
                    proof.rows = attempt.rows;
                    proof.why = attempt.noise.unwrap_or_default();
                }
            }
            Ok(attempt) => {
                let holds = attempt.holds();
                proof.rows = attempt.rows;
                proof.why = String::new();
                if holds {
                    proof.verdict = Verdict::Pass;
                    return proof;
                }
                proof.verdict = Verdict::Fail;
                "outside the tolerance on a quiet machine".clone_into(&mut proof.why);
            }
            Err(ProveError::Missing(why)) => {
                proof.verdict = Verdict::NotRun;
                proof.attempts = 0;
                proof.why = why;
                return proof;
            }
            Err(error) => {
                proof.verdict = Verdict::Fail;
                proof.rows = Vec::new();
                proof.why = error.to_string();
            }
        }
    }
    proof
}

/// Runs one attempt and judges the noise of the machine during it.
fn attempt(gate: Gate, run: impl FnOnce() -> Result<Attempt, ProveError>) -> Result<Attempt, ProveError> {
    if gate == Gate::None {
        return run();
    }
    let clock = Clock::start();
    let meter =
        HealthMeter::start(&clock).map_err(|error| ProveError::Missing(format!("hiccup meter: {error}")))?;
    let from = clock.now();
    let mut attempt = run()?;
    let health = meter.read(from, clock.now());
    if attempt.noise.is_none() {
        attempt.noise = noise(gate, &health, attempt.holds());
    }
    Ok(attempt)
}

/// Returns why an attempt cannot be judged.
///
/// A stall invalidates both a pass and a failure. CPU pressure and steal invalidate a failure only: numbers that are
/// within their tolerance in spite of it are valid.
fn noise(gate: Gate, health: &Health, holds: bool) -> Option<String> {
    if gate == Gate::Meter && health_has_warning(health) {
        return Some(format!(
            "this machine stalled for up to {} and {} of the time",
            show_nanos(health.worst_stall_ns as f64),
            percent(health.stalled_ns as f64 / health.span_ns.max(1) as f64, 1)
        ));
    }
    let beyond = |share: Option<f64>, limit| share.filter(|share| !holds && *share > limit);
    let cause = |what, share: f64| format!("outside the tolerance, but {what} was {}", percent(share, 1));
    let pressure = match health.pressure {
        Some(_) => beyond(health.pressure, MAX_PRESSURE).map(|share| cause("CPU pressure", share)),
        None => (gate == Gate::Meter && !holds)
            .then(|| "outside the tolerance, but CPU pressure is unknown".into()),
    };
    pressure.or(beyond(health.steal, MAX_STEAL).map(|share| cause("CPU steal", share)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn row(holds: bool) -> Row {
        Row::new("x", "1", "1", "0", holds)
    }

    thread_local! { static CALLS: Cell<u32> = const { Cell::new(0) } }

    fn proof(run: fn(Conditions) -> Result<Attempt, ProveError>) -> (Verdict, u32, usize) {
        CALLS.set(0);
        let proof = prove(&experiment("K0", "none", 0, Gate::Own, run), Conditions::default());
        (proof.verdict, proof.attempts, proof.rows.len())
    }

    fn noisy() -> Attempt {
        Attempt { rows: vec![row(true)], noise: Some("loud".into()) }
    }

    #[test]
    fn only_quiet_attempt_within_every_tolerance_passes() {
        assert_eq!(proof(|_| Ok(vec![row(true), row(true)].into())), (Verdict::Pass, 1, 2));
        assert_eq!(proof(|_| Ok(vec![row(true), row(false)].into())), (Verdict::Fail, 3, 2));
        assert_eq!(proof(|_| Ok(Vec::new().into())), (Verdict::Fail, 3, 0), "an attempt without rows");
        assert_eq!(proof(|_| Ok(noisy())), (Verdict::TooNoisy, 3, 1), "a noisy attempt does not pass");
        assert_eq!(proof(|_| Err(ProveError::Missing("root".into()))), (Verdict::NotRun, 0, 0));
    }

    #[test]
    fn later_quiet_attempt_decides_and_quiet_failure_is_kept() {
        let second = |_| {
            CALLS.set(CALLS.get() + 1);
            if CALLS.get() == 1 { Ok(noisy()) } else { Ok(vec![row(true)].into()) }
        };
        assert_eq!(proof(second), (Verdict::Pass, 2, 1));
        let first_fails = |_| {
            CALLS.set(CALLS.get() + 1);
            if CALLS.get() == 1 { Ok(vec![row(false); 2].into()) } else { Ok(noisy()) }
        };
        assert_eq!(proof(first_fails), (Verdict::Fail, 3, 2));
    }

    #[test]
    fn stall_invalidates_any_result_and_pressure_a_failure() {
        let quiet = Health { span_ns: 1_000_000_000, pressure: Some(0.01), ..Health::default() };
        let unknown = Health { pressure: None, ..quiet };
        let stalled = Health { worst_stall_ns: 21_000_000, ..quiet };
        let busy = Health { pressure: Some(0.5), ..quiet };
        let is_noisy = |gate, health, holds| noise(gate, health, holds).is_some();
        assert!(!is_noisy(Gate::Meter, &quiet, true) && !is_noisy(Gate::Meter, &quiet, false));
        assert!(is_noisy(Gate::Meter, &stalled, true) && is_noisy(Gate::Meter, &stalled, false));
        assert!(!is_noisy(Gate::Meter, &busy, true) && is_noisy(Gate::Meter, &busy, false));
        assert!(!is_noisy(Gate::Meter, &unknown, true) && is_noisy(Gate::Meter, &unknown, false));
        assert!(!is_noisy(Gate::Own, &stalled, true), "it judges its own windows");
        assert!(is_noisy(Gate::Own, &Health { steal: Some(0.03), ..quiet }, false));
    }

    #[test]
    fn every_experiment_has_a_unique_id() {
        let mut ids: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
        ids.dedup();
        assert_eq!(ids.len(), EXPERIMENTS.len());
    }
}
