//! Known answer K13 (docs/measure/measurement-rules.md K13): shapes of warm-up, and how often each is called steady.

use sharebench_model::Random;
use sharebench_stats::{SteadyState, normal_quantile, steady_state};

const SECONDS: usize = 120;
const SEEDS: u64 = 400;

/// Two minutes of a shape under 3 % noise; one second in forty is a hiccup that halves it.
fn run(shape: fn(f64) -> f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed, 13);
    let mut second = |second: usize| {
        let noise = 0.03 * normal_quantile(random.unit().max(f64::MIN_POSITIVE));
        let hiccup = if random.unit() < 0.025 { 0.5 } else { 1.0 };
        shape(second as f64) * noise.exp() * hiccup
    };
    (0..SECONDS).map(&mut second).collect()
}

/// Percent of seeds called steady, and the mean error in percent of the level then reported against the last.
fn called_steady(shape: fn(f64) -> f64) -> (f64, f64) {
    let mut steady = 0u32;
    let mut bias = 0.0;
    for seed in 0..SEEDS {
        let rates = run(shape, seed);
        if let SteadyState::From { second, .. } = steady_state(&rates) {
            steady += 1;
            let mut kept = rates[second..].to_vec();
            kept.sort_unstable_by(f64::total_cmp);
            bias += kept[kept.len() / 2] / shape(SECONDS as f64 - 1.0) - 1.0;
        }
    }
    (f64::from(steady) / SEEDS as f64 * 100.0, bias / f64::from(steady.max(1)) * 100.0)
}

#[test]
fn drifts_and_late_cliffs_are_never_steady_and_flat_runs_are() {
    // Name, shape, least and most percent that may be called steady, largest error in percent.
    type Row = (&'static str, fn(f64) -> f64, f64, f64, f64);
    let table: [Row; 6] = [
        ("flat", |_| 100.0, 90.0, 100.0, 0.5),
        ("exponential warm-up", |t| 100.0 * (1.0 - 0.5 * (-t / 15.0).exp()), 50.0, 100.0, 1.5),
        ("cache full at 40 s", |t| if t < 40.0 { 160.0 } else { 100.0 }, 80.0, 100.0, 0.5),
        ("drift of 30 %", |t| 100.0 * (1.3 - 0.3 * t / 119.0), 0.0, 0.0, 0.0),
        ("cliff at 100 s", |t| if t < 100.0 { 167.0 } else { 100.0 }, 0.0, 0.0, 0.0),
        ("cliff at 106 s", |t| if t < 106.0 { 167.0 } else { 100.0 }, 0.0, 0.0, 0.0),
    ];
    for (name, shape, least, most, error) in table {
        let (steady, bias) = called_steady(shape);
        println!(
            "K13 {name}: {steady:.1} % called steady (tolerance {least:.0}..{most:.0} %), level off by {bias:+.2} %"
        );
        assert!((least..=most).contains(&steady), "{name}: {steady}");
        assert!(bias.abs() <= error, "{name}: {bias}");
    }
}
