//! Proofs: the engine measures what is known already, and has to say the same.

mod bands;
mod barrier;
mod censor;
mod clock_step;
mod closed;
mod duet;
mod fixed;
mod generator;
mod integrity;
mod lying_volume;
mod open;
mod rig;
mod watched;
mod yardstick;

use std::time::Duration;

use serde::Serialize;
use sharebench_engine::{Clock, Health, HealthMeter, contaminated};
use sharebench_model::units::show_nanos;

pub(crate) use rig::ProveError;

/// Share of the time in which tasks may wait for a processor, and of stolen time, for a failure to count.
const MAX_PRESSURE: f64 = 0.1;
const MAX_STEAL: f64 = 0.02;
/// Attempts that an experiment gets.
const ATTEMPTS: u32 = 3;

/// How an experiment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Within every tolerance, on a machine that was quiet meanwhile.
    Pass,
    /// Outside, although the machine was quiet.
    Fail,
    /// The machine was never quiet for long enough: neither pass nor fail.
    TooNoisy,
    /// Something it needs is missing; why is said.
    NotRun,
}

/// One quantity of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What was measured.
    pub quantity: String,
    /// What it had to be.
    pub truth: String,
    /// What it was.
    pub measured: String,
    /// How far off it may be.
    pub tolerance: String,
    /// True when it is not further off.
    pub holds: bool,
}

impl Row {
    /// A quantity with its truth.
    pub(crate) fn new(
        quantity: impl Into<String>,
        truth: impl Into<String>,
        measured: impl Into<String>,
        tolerance: impl Into<String>,
        holds: bool,
    ) -> Self {
        let (quantity, truth) = (quantity.into(), truth.into());
        Self { quantity, truth, measured: measured.into(), tolerance: tolerance.into(), holds }
    }
}

/// What one attempt yielded.
pub(crate) struct Attempt {
    pub rows: Vec<Row>,
    /// Why it cannot be judged; experiments that look after their own noise say so here.
    pub noise: Option<String>,
}

impl Attempt {
    fn holds(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row.holds)
    }
}

impl From<Vec<Row>> for Attempt {
    fn from(rows: Vec<Row>) -> Self {
        Self { rows, noise: None }
    }
}

/// An experiment's end, with the rows of the attempt that decided it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Such as `K1`.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// Attempts made.
    pub attempts: u32,
    /// Truth beside measurement.
    pub rows: Vec<Row>,
    /// Why it could not be judged, or what failed; empty when it passed.
    pub why: String,
}

/// How to prove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Half the time, where that still proves something.
    pub quick: bool,
    /// May set the machine's wall clock back by an hour for a moment (K20).
    pub step_clock: bool,
}

impl Conditions {
    /// A duration, or half of it when in a hurry.
    fn lasting(self, full: Duration) -> Duration {
        if self.quick { full / 2 } else { full }
    }

    /// A number, or half of it when in a hurry.
    fn times(self, full: usize) -> usize {
        if self.quick { full / 2 } else { full }
    }
}

/// Who looks whether the machine was quiet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    /// The hiccup meter over the whole attempt.
    Meter,
    /// The experiment itself, window by window.
    Own,
    /// Nobody: no time decides it.
    None,
}

/// An experiment of the known-answer suite in its real-time form.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Such as `K1`.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// About how long one attempt takes.
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

/// All of them, in order.
pub const EXPERIMENTS: &[Experiment] = &[
    experiment("K1", "fixed service time, one in flight", 4, Gate::Meter, fixed::service_time),
    experiment("K2", "a link of 50 MB/s", 6, Gate::Meter, fixed::link),
    experiment("K3", "random arrivals at one server", 25, Gate::Meter, open::random_arrivals),
    experiment("K5", "thinking users of one server", 30, Gate::Meter, closed::thinking_users),
    experiment("K6", "a stall of a second, and who is charged for it", 21, Gate::Meter, open::stall),
    experiment("K7", "the same server twice", 330, Gate::Own, duet::same),
    experiment("K8", "servers that differ by 2 % and by 5 %", 330, Gate::Own, duet::different),
    experiment("K12", "a generator at its limit", 10, Gate::Meter, generator::saturation),
    experiment("K14", "replies of a third of the users are lost", 5, Gate::None, censor::lost_replies),
    experiment("K16", "a server's cache and its storage told apart", 210, Gate::Own, bands::attribution),
    experiment("K18", "a server that returns wrong blocks", 2, Gate::None, integrity::lies),
    experiment("K19", "three hosts with wrong clocks start together", 4, Gate::Meter, barrier::start),
    experiment("K20", "the wall clock is set back while measuring", 3, Gate::None, clock_step::attack),
];

/// Makes up to three attempts; a noisy one decides nothing.
pub fn prove(experiment: &Experiment, conditions: Conditions) -> Proof {
    let Experiment { id, title, gate, run, .. } = *experiment;
    let mut proof =
        Proof { id, title, verdict: Verdict::TooNoisy, attempts: 0, rows: Vec::new(), why: String::new() };
    while proof.attempts < ATTEMPTS {
        proof.attempts += 1;
        match attempt(gate, || run(conditions)) {
            Ok(attempt) if attempt.noise.is_some() => {
                // A failure in quiet says more than noise afterwards.
                if proof.verdict == Verdict::TooNoisy {
                    (proof.rows, proof.why) = (attempt.rows, attempt.noise.unwrap_or_default());
                }
            }
            Ok(attempt) => {
                let holds = attempt.holds();
                (proof.rows, proof.why) = (attempt.rows, String::new());
                if holds {
                    proof.verdict = Verdict::Pass;
                    return proof;
                }
                proof.verdict = Verdict::Fail;
                "measured on a quiet machine, and off".clone_into(&mut proof.why);
            }
            Err(ProveError::Missing(why)) => {
                (proof.verdict, proof.attempts, proof.why) = (Verdict::NotRun, 0, why);
                return proof;
            }
            Err(error) => {
                (proof.verdict, proof.rows, proof.why) = (Verdict::Fail, Vec::new(), error.to_string());
            }
        }
    }
    proof
}

/// One attempt under its gate.
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

/// Why an attempt decides nothing. Stalls spoil both ways; a crowd before the processors excuses a failure,
/// but takes nothing from numbers that hold in spite of it.
fn noise(gate: Gate, health: &Health, holds: bool) -> Option<String> {
    if gate == Gate::Meter && contaminated(health) {
        return Some(format!(
            "this machine stood still for {} at once and {:.1} % in all",
            show_nanos(health.worst_stall_ns as f64),
            health.stalled_ns as f64 * 100.0 / health.span_ns.max(1) as f64
        ));
    }
    let beyond = |share: Option<f64>, limit| share.filter(|share| !holds && *share > limit);
    let told = |what, share: f64| format!("off, but {what} was {:.1} %", share * 100.0);
    let pressure = match health.pressure {
        Some(_) => beyond(health.pressure, MAX_PRESSURE).map(|share| told("CPU pressure", share)),
        None => (gate == Gate::Meter && !holds).then(|| "off, but CPU pressure is not known".into()),
    };
    pressure.or(beyond(health.steal, MAX_STEAL).map(|share| told("CPU steal", share)))
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
    fn only_a_quiet_attempt_within_every_tolerance_passes() {
        assert_eq!(proof(|_| Ok(vec![row(true), row(true)].into())), (Verdict::Pass, 1, 2));
        assert_eq!(proof(|_| Ok(vec![row(true), row(false)].into())), (Verdict::Fail, 3, 2));
        assert_eq!(proof(|_| Ok(Vec::new().into())), (Verdict::Fail, 3, 0), "nothing proves nothing");
        assert_eq!(proof(|_| Ok(noisy())), (Verdict::TooNoisy, 3, 1), "a noisy pass is none");
        assert_eq!(proof(|_| Err(ProveError::Missing("root".into()))), (Verdict::NotRun, 0, 0));
    }

    #[test]
    fn a_later_quiet_attempt_decides_and_a_quiet_failure_is_not_forgotten() {
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
    fn stalls_spoil_both_ways_and_pressure_excuses_a_failure() {
        let quiet = Health { span_ns: 1_000_000_000, pressure: Some(0.01), ..Health::default() };
        let unknown = Health { pressure: None, ..quiet };
        let stalled = Health { worst_stall_ns: 21_000_000, ..quiet };
        let crowded = Health { pressure: Some(0.5), ..quiet };
        let spoilt = |gate, health, holds| noise(gate, health, holds).is_some();
        assert!(!spoilt(Gate::Meter, &quiet, true) && !spoilt(Gate::Meter, &quiet, false));
        assert!(spoilt(Gate::Meter, &stalled, true) && spoilt(Gate::Meter, &stalled, false));
        assert!(!spoilt(Gate::Meter, &crowded, true) && spoilt(Gate::Meter, &crowded, false));
        assert!(!spoilt(Gate::Meter, &unknown, true) && spoilt(Gate::Meter, &unknown, false));
        assert!(!spoilt(Gate::Own, &stalled, true), "it looks after its own windows");
        assert!(spoilt(Gate::Own, &Health { steal: Some(0.03), ..quiet }, false));
    }

    #[test]
    fn every_experiment_has_a_name_of_its_own() {
        let mut ids: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
        ids.dedup();
        assert_eq!(ids.len(), EXPERIMENTS.len());
    }
}
