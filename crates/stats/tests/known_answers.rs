//! Published tables and worked examples.

use sharebench_stats::{
    Ranks, Work, attainable_level, hodges_lehmann, median, median_of_sorted, median_or_zero, quantile_ranks,
    sample_median, signed_rank_p_value, total_work_log_ratio, upper_median, upper_tail,
};

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b}");
}

#[test]
fn signed_rank_tails_of_hollander_and_wolfe_table_a4() {
    // Hollander & Wolfe, Table A.4: P(T+ >= x) to three digits.
    for (n, x, tail) in [
        (3, 6, 0.125),
        (5, 15, 0.031),
        (6, 21, 0.016),
        (6, 19, 0.047),
        (7, 26, 0.023),
        (8, 32, 0.027),
        (9, 39, 0.027),
        (10, 47, 0.024),
        (10, 44, 0.053),
        (15, 95, 0.024),
    ] {
        close(upper_tail(n, x), tail, 0.0006);
    }
}

#[test]
fn depression_scale_example_of_hollander_and_wolfe() {
    // Hollander & Wolfe examples 3.1, 3.3 and 3.4 (Salsburg's Hamilton depression scale factors, 9 patients,
    // y - x): T+ = 5, one-sided p = 0.020; Hodges-Lehmann -0.46; 96 % interval (-0.786, -0.010).
    let differences = [-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010];
    close(signed_rank_p_value(&differences), 2.0 * 0.0195, 0.0005);
    let estimate = hodges_lehmann(&differences, 0.95).unwrap();
    close(estimate.value, -0.460, 0.0005);
    let interval = estimate.interval.unwrap();
    close(interval.low, -0.786, 0.0005);
    close(interval.high, -0.010, 0.0005);
}

#[test]
fn ties_and_zeros_match_enumeration() {
    let differences = [1.0, 1.0, -1.0, 2.0, 0.0, 3.0, 3.0];
    let ranks = [2.0, 2.0, 2.0, 4.0, 5.5, 5.5];
    let observed: f64 = 2.0 + 2.0 + 4.0 + 5.5 + 5.5;
    let as_extreme = (0u32..64)
        .filter(|signs| {
            let sum: f64 =
                ranks.iter().enumerate().filter(|(i, _)| signs >> i & 1 == 1).map(|(_, r)| r).sum();
            sum >= observed
        })
        .count();
    close(signed_rank_p_value(&differences), 2.0 * as_extreme as f64 / 64.0, 1e-12);
    close(signed_rank_p_value(&[0.0, 0.0]), 1.0, 0.0);
}

#[test]
fn five_pairs_have_no_interval_and_six_have_the_whole_range() {
    let pairs = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06];
    assert_eq!(hodges_lehmann(&pairs[..5], 0.95).unwrap().interval, None);
    close(attainable_level(5), 0.9375, 1e-12);
    let interval = hodges_lehmann(&pairs, 0.95).unwrap().interval.unwrap();
    close(interval.low, 0.01, 0.0);
    close(interval.high, 0.06, 0.0);
    assert!(hodges_lehmann(&[], 0.95).is_none());
    assert!(hodges_lehmann(&[f64::NAN], 0.95).is_none());
}

#[test]
fn sample_sizes_at_which_quantile_intervals_begin_to_exist() {
    // Two-sided 95 %: p^n <= 2.5 % (the upper bound exists).
    for (p, n) in [(0.5, 6), (0.95, 72), (0.99, 368), (0.999, 3688)] {
        assert!(quantile_ranks(n, p, 0.95).is_some(), "p{p} n{n}");
        assert!(quantile_ranks(n - 1, p, 0.95).is_none(), "p{p} n{}", n - 1);
    }
}

#[test]
fn median_ranks_of_the_sign_test_table() {
    // Dixon and Mood's sign test table at 5 %, two-sided: n = 10 -> 1, n = 20 -> 5, n = 25 -> 7 (ranks one above).
    assert_eq!(quantile_ranks(10, 0.5, 0.95), Some(Ranks { low: 2, high: 9 }));
    assert_eq!(quantile_ranks(20, 0.5, 0.95), Some(Ranks { low: 6, high: 15 }));
    assert_eq!(quantile_ranks(25, 0.5, 0.95), Some(Ranks { low: 8, high: 18 }));
    let sample: Vec<f64> = (1..=10).rev().map(f64::from).collect();
    let estimate = sample_median(&sample, 0.95).unwrap();
    close(estimate.value, 5.5, 0.0);
    close(estimate.interval.unwrap().high, 9.0, 0.0);
}

#[test]
fn normal_and_exact_ranks_agree_where_they_meet() {
    let exact = quantile_ranks(5_000, 0.99, 0.95).unwrap();
    let limit = quantile_ranks(5_001, 0.99, 0.95).unwrap();
    assert!(
        exact.low.abs_diff(limit.low) <= 2 && exact.high.abs_diff(limit.high) <= 2,
        "{exact:?} {limit:?}"
    );
}

#[test]
fn medians_of_none_one_and_two() {
    assert_eq!(median(&mut []), None);
    assert_eq!(median(&mut [3.0]), Some(3.0));
    assert_eq!(median(&mut [4.0, 3.0]), Some(3.5));
    assert_eq!(median_of_sorted(&[3.0, 4.0, 9.0]), Some(4.0));
    assert!(median_or_zero(&[]).abs() < 1e-12);
    assert!((median_or_zero(&[9.0, 3.0, 4.0]) - 4.0).abs() < 1e-12);
}

#[test]
fn the_median_of_integers_is_one_of_them() {
    assert_eq!(upper_median::<u64>(&mut []), None);
    assert_eq!(upper_median(&mut [7_u64]), Some(7));
    assert_eq!(upper_median(&mut [9_u64, 3, 4, 8]), Some(8));
}

#[test]
fn total_work_sees_the_stall_that_the_typical_ratio_ignores() {
    let window = |time| Work { amount: 100.0, time };
    let pairs: Vec<(Work, Work)> = (0..10)
        .map(|i| (window(1.0), window(if i == 4 { 6.0 } else { 1.0 + 0.001 * f64::from(i) })))
        .collect();
    let total = total_work_log_ratio(&pairs, 0.95, 2000, 7).unwrap();
    close(total.value, (15.041_f64 / 10.0).ln(), 1e-3);
    let interval = total.interval.unwrap();
    assert!(interval.low < 0.02 && interval.high > 0.4, "{interval:?}");
    assert_eq!(total_work_log_ratio(&pairs, 0.95, 2000, 7), Some(total), "the same seed repeats it");
    assert!(total_work_log_ratio(&pairs[..3], 0.95, 2000, 7).unwrap().interval.is_none());
    assert!(total_work_log_ratio(&[], 0.95, 2000, 7).is_none());
}
