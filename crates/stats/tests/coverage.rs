//! Seeded simulations: how often the intervals hold the truth.

use sharebench_stats::{Rng, Work, hodges_lehmann, sample_median, total_work_log_ratio};

const TRIALS: usize = 2000;

/// Share of `TRIALS` in which `covers` says yes.
fn share(seed: u64, mut covers: impl FnMut(&mut Rng) -> bool) -> f64 {
    let mut rng = Rng::new(seed);
    (0..TRIALS).filter(|_| covers(&mut rng)).count() as f64 / TRIALS as f64
}

/// A log ratio around `centre`: 2 % noise, and 8 % of the pairs disturbed by up to a third.
fn disturbed(rng: &mut Rng, centre: f64) -> f64 {
    let stall = if rng.uniform() < 0.08 { 0.3 * (rng.uniform() * 2.0 - 1.0) } else { 0.0 };
    centre + 0.02 * rng.normal() + stall
}

#[test]
fn hodges_lehmann_covers_at_its_level() {
    for n in [6, 8, 10, 20] {
        let covered = share(11, |rng| {
            let sample: Vec<f64> = (0..n).map(|_| disturbed(rng, 0.05)).collect();
            hodges_lehmann(&sample, 0.95).unwrap().interval.unwrap().contains(0.05)
        });
        assert!((0.94..=0.985).contains(&covered), "n {n}: {covered}");
    }
}

#[test]
fn ten_pairs_find_five_percent_and_do_not_invent_it() {
    let above_zero = |n: usize, draw: fn(&mut Rng) -> f64| {
        share(12, |rng| {
            let sample: Vec<f64> = (0..n).map(|_| draw(rng)).collect();
            hodges_lehmann(&sample, 0.95).unwrap().interval.unwrap().low > 0.0
        })
    };
    let (clean, stalled) =
        (above_zero(10, |r| 0.05 + 0.028 * r.normal()), above_zero(20, |r| disturbed(r, 0.05)));
    assert!(clean > 0.97, "2 % noise on both sides, 10 pairs: {clean}");
    assert!(stalled > 0.95, "8 % of pairs disturbed, 20 pairs: {stalled}");
    let invented = above_zero(10, |r| disturbed(r, 0.0));
    assert!(invented < 0.035, "no difference: {invented}");
}

#[test]
fn order_statistics_cover_the_median_of_skewed_times() {
    let covered = share(13, |rng| {
        let sample: Vec<f64> = (0..15).map(|_| -(1.0 - rng.uniform()).ln()).collect();
        sample_median(&sample, 0.95).unwrap().interval.unwrap().contains(2f64.ln())
    });
    assert!((0.945..=0.98).contains(&covered), "{covered}");
}

#[test]
fn total_work_covers_when_windows_vary() {
    let covered = (0..400)
        .filter(|trial| {
            let mut rng = Rng::new(1_000 + trial);
            let pairs: Vec<(Work, Work)> = (0..20)
                .map(|_| {
                    let mut window =
                        |mean: f64| Work { amount: 1.0, time: mean * (0.1 * rng.normal()).exp() };
                    (window(1.0), window(1.1))
                })
                .collect();
            total_work_log_ratio(&pairs, 0.95, 600, *trial).unwrap().interval.unwrap().contains(1.1f64.ln())
        })
        .count();
    assert!((360..=392).contains(&covered), "{covered} of 400");
}
