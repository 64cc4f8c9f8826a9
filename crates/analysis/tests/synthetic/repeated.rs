//! Loads that were repeated, with a known truth.

use sharebench_model::{
    Coordinates, Histogram, LoadDetail, ObjectiveReport, Part, Random, RateBase, Timeline, Value, axis,
};

use super::Synthetic;

/// Users of the steps.
pub const STEPS: [u64; 4] = [5, 10, 20, 40];

/// What a server does with a number of users.
#[derive(Clone, Copy)]
pub struct Truth {
    /// Transactions per second.
    pub rate: fn(u64) -> f64,
    /// Mean response time, milliseconds.
    pub response_ms: fn(u64) -> f64,
}

/// Standard deviations of logarithms: of each step, and of what the steps of a repetition share.
pub struct Noise {
    pub own: f64,
    pub shared: f64,
}

/// The objective: the mean response time is below 20 ms.
const LIMIT_MS: f64 = 20.0;

fn users(n: u64) -> Coordinates {
    Coordinates::new().with(axis::WORKLOAD, Value::text("office")).with(axis::USERS, Value::Count(n))
}

/// Repetitions of a series on each target, which take turns at each step.
pub fn repeated(
    truths: &[(&str, Truth)],
    steps: &[u64],
    repetitions: u32,
    noise: &Noise,
    seed: u64,
) -> Synthetic {
    let names: Vec<&str> = truths.iter().map(|(name, _)| *name).collect();
    let mut run = Synthetic::new("load", &names, seed);
    let mut random = Random::new(seed, 5);
    for repetition in 0..repetitions {
        let shared = noise.shared * super::normal(&mut random);
        for &n in steps {
            for (target, (_, truth)) in truths.iter().enumerate() {
                let factor = (shared + noise.own * super::normal(&mut random)).exp();
                let time = (truth.response_ms)(n) * (noise.own * super::normal(&mut random) - shared).exp();
                step(&mut run, (target, repetition), n, (truth.rate)(n) * factor, time);
            }
        }
    }
    run
}

fn step(run: &mut Synthetic, (target, repetition): (usize, u32), n: u64, rate: f64, time_ms: f64) {
    run.step(target, repetition, users(n), rate * 1e5);
    let mut timeline = Timeline::over(60_000_000_000);
    let each = (rate * 60.0 / timeline.transactions.len() as f64) as u64;
    timeline.transactions.fill(each);
    timeline.bytes.fill(each * 100_000);
    let Some(step) = run.run.steps.last_mut() else { return };
    let measure = &mut step.measure;
    measure.rate_base = RateBase::Window;
    measure.window_ns = 60_000_000_000;
    measure.transactions = (rate * 60.0).round() as u64;
    measure.bytes.read = (rate * 60.0 * 1e5) as u64;
    measure.response = Histogram::new();
    (0..20).for_each(|_| measure.response.record((time_ms * 1e6) as u64));
    let part =
        Part { count: measure.transactions, response: measure.response.clone(), ..Part::named("open") };
    let kept = time_ms < LIMIT_MS;
    let detail = format!("mean {time_ms:.1} ms of at most {LIMIT_MS} ms");
    let objective = Some(ObjectiveReport { wanted: format!("mean<{LIMIT_MS}ms"), kept, detail });
    *measure.load = LoadDetail { transactions: vec![part], timeline, objective, ..LoadDetail::default() };
}

/// 1 % of each step, 3 % of each repetition.
pub const QUIET: Noise = Noise { own: 0.01, shared: 0.03 };

/// A limit of 800/s from 20 users on.
pub const LIMITED: Truth = Truth { rate: |n| (40.0 * n as f64).min(800.0), response_ms: |n| 2.0 + n as f64 };
/// A limit of 600/s from 15 users on.
pub const SLOWER: Truth =
    Truth { rate: |n| (40.0 * n as f64).min(600.0), response_ms: |n| 2.0 + n as f64 * 1.5 };

/// The same steps as arrivals of an open load.
pub fn by_rate(mut run: Synthetic) -> Synthetic {
    for step in &mut run.run.steps {
        let rate = step.coordinates.number(axis::USERS).unwrap_or(0);
        step.coordinates =
            users(32).with(axis::ARRIVALS, Value::text("poisson")).with(axis::RATE, Value::Count(rate));
    }
    run
}
