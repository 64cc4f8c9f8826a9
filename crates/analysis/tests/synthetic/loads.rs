//! Loads with a known law.

use sharebench_model::{Coordinates, Histogram, LoadDetail, Part, RateBase, Timeline, Value, axis};

use super::Synthetic;

pub fn users(n: u64) -> Coordinates {
    Coordinates::new().with(axis::WORKLOAD, Value::text("office")).with(axis::USERS, Value::Count(n))
}

/// Steps of users who think `think` seconds, with the transactions per second that `law` gives.
pub fn thinking(steps: &[u64], think: f64, law: impl Fn(u64) -> f64) -> Synthetic {
    let mut run = Synthetic::new("load", &["nas"], 4);
    for &n in steps {
        run.step(0, 0, users(n), law(n) * 1e5);
        let measure = &mut run.run.steps.last_mut().expect("a synthetic run has steps").measure;
        measure.rate_base = RateBase::Window;
        measure.window_ns = 60_000_000_000;
        measure.transactions = (law(n) * 60.0).round() as u64;
        let part =
            Part { count: measure.transactions, response: measure.response.clone(), ..Part::named("open") };
        *measure.load =
            LoadDetail { transactions: vec![part], think_ns: (think * 1e9) as u64, ..LoadDetail::default() };
    }
    run
}

/// When transactions begin.
#[derive(Clone, Copy, PartialEq)]
pub enum Gaps {
    Equal,
    /// Equal gaps with a little chance: users who mostly think.
    Jittered,
}

/// Steps in a window of `window_s`: per target its name, the transactions per second of ten users, and the response time in
/// milliseconds. The counts of the timeline follow from a seed.
pub fn counted(
    targets: &[(&str, f64, f64)],
    steps: &[u64],
    window_s: u64,
    think_ms: u64,
    gaps: Gaps,
) -> Synthetic {
    let names: Vec<&str> = targets.iter().map(|(name, ..)| *name).collect();
    let mut run = Synthetic::new("load", &names, 16);
    for &n in steps {
        for (target, (_, per_user_s, response_ms)) in targets.iter().enumerate() {
            run.step(target, 0, users(n), 1e6);
            let mut timeline = Timeline::over(window_s * 1_000_000_000);
            let mean = per_user_s * n as f64 / 10.0;
            let random = &mut run.random;
            let mut chance = || if gaps == Gaps::Jittered { random.unit() } else { 0.5 };
            let mut due = chance();
            for count in &mut timeline.transactions {
                due += mean * (0.9 + 0.2 * chance());
                *count = due as u64;
                due -= due.floor();
            }
            timeline.bytes = timeline.transactions.iter().map(|count| count * 100_000).collect();
            let total: u64 = timeline.transactions.iter().sum();
            let measure = &mut run.run.steps.last_mut().expect("a synthetic run has steps").measure;
            measure.rate_base = RateBase::Window;
            measure.window_ns = window_s * 1_000_000_000;
            measure.transactions = total;
            measure.bytes.read = total * 100_000;
            measure.response = Histogram::new();
            (0..total.max(1)).for_each(|_| measure.response.record((response_ms * 1e6) as u64));
            let part = Part { count: total, response: measure.response.clone(), ..Part::named("open") };
            *measure.load = LoadDetail {
                transactions: vec![part],
                think_ns: think_ms * 1_000_000,
                timeline,
                ..LoadDetail::default()
            };
        }
    }
    run
}
