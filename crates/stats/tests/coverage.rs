//! Seeded simulations: how often the intervals cover the true value.

use sharebench_model::Random;
use sharebench_stats::{Work, hodges_lehmann, normal_quantile, sample_median, total_work_log_ratio};

const TRIALS: usize = 2000;

/// Share of `TRIALS` in which `covers` says yes.
fn share(seed: u64, mut covers: impl FnMut(&mut Random) -> bool) -> f64 {
    let mut random = Random::new(seed, 0);
    (0..TRIALS).filter(|_| covers(&mut random)).count() as f64 / TRIALS as f64
}

/// A standard normal variable (by inversion).
fn normal(random: &mut Random) -> f64 {
    normal_quantile(random.unit().max(f64::MIN_POSITIVE))
}

#[test]
fn normal_variables_have_mean_zero_and_variance_one() {
    let mut random = Random::new(5, 0);
    let sample: Vec<f64> = (0..20_000).map(|_| normal(&mut random)).collect();
    let mean = sample.iter().sum::<f64>() / 20_000.0;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
    assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
}

/// A log ratio around `centre`: 2 % noise, and 8 % of the pairs disturbed by up to a third.
fn disturbed(random: &mut Random, centre: f64) -> f64 {
    let stall = if random.unit() < 0.08 { 0.3 * (random.unit() * 2.0 - 1.0) } else { 0.0 };
    centre + 0.02 * normal(random) + stall
}

#[test]
fn hodges_lehmann_covers_at_its_level() {
    for n in [6, 8, 10, 20] {
        let covered = share(11, |random| {
            let sample: Vec<f64> = (0..n).map(|_| disturbed(random, 0.05)).collect();
            hodges_lehmann(&sample, 0.95).unwrap().interval.unwrap().contains(0.05)
        });
        assert!((0.94..=0.985).contains(&covered), "n {n}: {covered}");
    }
}

#[test]
fn ten_pairs_find_five_percent_and_do_not_invent_it() {
    let above_zero = |n: usize, draw: fn(&mut Random) -> f64| {
        share(12, |random| {
            let sample: Vec<f64> = (0..n).map(|_| draw(random)).collect();
            hodges_lehmann(&sample, 0.95).unwrap().interval.unwrap().low > 0.0
        })
    };
    let clean = above_zero(10, |r| 0.05 + 0.028 * normal(r));
    let stalled = above_zero(20, |r| disturbed(r, 0.05));
    assert!(clean > 0.99, "2 % noise on both sides, 10 pairs: {clean}");
    assert!(stalled > 0.97, "8 % of pairs disturbed, 20 pairs: {stalled}");
    let invented = above_zero(10, |r| disturbed(r, 0.0));
    assert!(invented < 0.035, "no difference: {invented}");
}

#[test]
fn order_statistics_cover_the_median_of_skewed_times() {
    let covered = share(13, |random| {
        let sample: Vec<f64> = (0..15).map(|_| -(1.0 - random.unit()).ln()).collect();
        sample_median(&sample, 0.95).unwrap().interval.unwrap().contains(2f64.ln())
    });
    assert!((0.945..=0.98).contains(&covered), "{covered}");
}

#[test]
fn total_work_covers_when_windows_vary() {
    let covered = (0..400)
        .filter(|trial| {
            let mut random = Random::new(1_000 + trial, 0);
            let pairs: Vec<(Work, Work)> = (0..20)
                .map(|_| {
                    let mut window =
                        |mean: f64| Work { amount: 1.0, time: mean * (0.1 * normal(&mut random)).exp() };
                    (window(1.0), window(1.1))
                })
                .collect();
            total_work_log_ratio(&pairs, 0.95, 600, *trial).unwrap().interval.unwrap().contains(1.1f64.ln())
        })
        .count();
    assert!((360..=392).contains(&covered), "{covered} of 400");
}
