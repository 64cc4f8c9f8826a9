//! Known answers K10 and K11 (docs/measure/measurement-rules.md K10, K11): the scalability law on published and exact data,
//! the choice of models, and rejected forecasts.

use sharebench_model::Random;
use sharebench_stats::{
    Capacity, ErrorScale, ForecastError, LoadPoint, Usl, fit_capacity, forecast, mean_value_analysis,
    normal_quantile,
};

fn points(loads: &[f64], throughputs: &[f64]) -> Vec<LoadPoint> {
    loads.iter().zip(throughputs).map(|(&load, &throughput)| LoadPoint::new(load, throughput)).collect()
}

/// SPEC SDM91 on a Sun `SPARCcenter` 2000 (Gunther; data set `specsdm91` of the R package `usl`).
fn specsdm91() -> Vec<LoadPoint> {
    points(
        &[1.0, 18.0, 36.0, 72.0, 108.0, 144.0, 216.0],
        &[64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2],
    )
}

#[expect(clippy::print_stdout, reason = "the figures of the known answers are asked for")]
fn check(what: &str, found: f64, wanted: f64, tolerance: f64) {
    println!("K10 {what}: {found:.7} (wanted {wanted} ± {tolerance})");
    assert!((found - wanted).abs() <= tolerance, "{what}: {found} is not {wanted}");
}

#[test]
fn published_scalability_of_specsdm91() {
    let usl = Usl::fit(&specsdm91(), ErrorScale::Absolute).unwrap();
    check("alpha", usl.alpha, 0.027_728_5, 1e-5);
    check("beta", usl.beta, 0.000_104_4, 1e-6);
    check("gamma", usl.gamma, 89.995, 0.01);
    check("alpha's error", usl.errors[0].unwrap(), 0.0091, 5e-5);
    check("beta's error", usl.errors[1].unwrap(), 2.0e-5, 5e-7);
    check("gamma's error", usl.errors[2].unwrap(), 14.21, 0.02);
    check("residual", usl.residual, 82.85, 0.05);
    let (load, throughput) = usl.peak().unwrap();
    check("peak load", load, 96.52, 0.01);
    check("peak throughput", throughput, 1884.0, 1.0);
    check("limit", usl.limit().unwrap(), 3246.0, 1.0);
    check("optimal load", usl.optimal_load().unwrap(), 36.06, 0.01);
}

#[test]
fn exact_data_gives_its_parameters_back() {
    let data = points(&[1.0, 2.0, 4.0, 6.0, 8.0, 10.0], &[1.0, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557]);
    for scale in [ErrorScale::Absolute, ErrorScale::Relative] {
        let usl = Usl::fit(&data, scale).unwrap();
        check("exact alpha", usl.alpha, 0.02, 5e-4);
        check("exact beta", usl.beta, 0.02, 5e-4);
        check("exact gamma", usl.gamma, 1.0, 5e-4);
    }
}

#[test]
fn without_coherency_there_is_no_peak_and_no_crash() {
    let amdahl = |n: f64| 100.0 * n / (1.0 + 0.05 * (n - 1.0));
    let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    for bend in [0.0, 0.004] {
        // The second data set lies above any curve with a cost of coherency.
        let data: Vec<LoadPoint> =
            loads.iter().map(|&n| LoadPoint::new(n, amdahl(n) * (bend * n).exp())).collect();
        let usl = Usl::fit(&data, ErrorScale::Relative).unwrap();
        println!("K10 beta to 0: beta {:.3e}, peak {:?}", usl.beta, usl.peak());
        assert!(usl.beta >= 0.0 && usl.throughput(64.0).is_finite());
        assert!(usl.peak().is_none_or(|(load, _)| load > 1_000.0), "{usl:?}");
        assert!(bend == 0.0 || (usl.beta == 0.0 && usl.peak().is_none() && usl.errors[1].is_none()));
    }
    let linear: Vec<LoadPoint> = loads.iter().map(|&n| LoadPoint::new(n, 10.0 * n)).collect();
    let usl = Usl::fit(&linear, ErrorScale::Relative).unwrap();
    assert!(usl.peak().is_none() && (usl.throughput(5.0) - 50.0).abs() < 1e-6, "{usl:?}");
    assert_eq!(Usl::fit(&linear[..2], ErrorScale::Relative), None);
    assert_eq!(Usl::fit(&points(&[1.0, 2.0, 3.0], &[1.0, 0.0, 2.0]), ErrorScale::Relative), None);
}

#[test]
fn forecasts_end_at_twice_the_largest_load() {
    let usl = |n: f64| 100.0 * n / (1.0 + 0.03 * (n - 1.0) + 0.0005 * n * (n - 1.0));
    let up_to = |most: usize| -> Vec<LoadPoint> {
        [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 44.0]
            .iter()
            .take(most)
            .map(|&n| LoadPoint::new(n, usl(n)))
            .collect()
    };
    // K11: measured to 8, asked for 64.
    let refused = forecast(&up_to(6), 0.0, 64.0, 1).unwrap_err();
    println!("K11: {refused}");
    assert_eq!(refused, ForecastError::TooFar(8.0));
    let allowed = forecast(&up_to(9), 0.0, 64.0, 1).unwrap();
    assert!((allowed.throughput.value / usl(64.0) - 1.0).abs() < 1e-3, "{allowed:?}");
    let straight: Vec<LoadPoint> =
        (1..=8).map(|n| LoadPoint::new(f64::from(n), 10.0 * f64::from(n))).collect();
    assert!(
        matches!(forecast(&straight, 0.0, 10.0, 1), Err(ForecastError::NeverBent(share)) if share > 0.99)
    );
    assert_eq!(forecast(&up_to(4), 0.0, 5.0, 1), Err(ForecastError::TooFewSteps(4)));
}

/// Throughput with 2 % noise.
fn noisy(loads: &[u32], law: impl Fn(u32) -> f64, seed: u64) -> Vec<LoadPoint> {
    let mut random = Random::new(seed, 10);
    let mut noise = || (0.02 * normal_quantile(random.unit().max(f64::MIN_POSITIVE))).exp();
    loads.iter().map(|&n| LoadPoint::new(f64::from(n), law(n) * noise())).collect()
}

#[test]
fn a_closed_queue_is_recognised_and_its_knee_found() {
    // K5's queue: D = 2 ms, Z = 20 ms, knee at 11 users, ceiling 500/s.
    let loads = [1, 2, 5, 8, 11, 15, 20, 30];
    let data = noisy(&loads, |n| mean_value_analysis(&[0.002], 0.020, n).0, 3);
    let model = fit_capacity(&data, 0.020).unwrap();
    println!("{model:?}, knee {:?}", model.knee());
    assert!((model.knee().unwrap() / 11.0 - 1.0).abs() < 0.15, "{model:?}");
    let found = forecast(&data, 0.020, 50.0, 3).unwrap();
    assert!((found.throughput.value / 500.0 - 1.0).abs() < 0.05, "{found:?}");
    assert!(found.throughput.interval.unwrap().half_width() < 50.0);
}

#[test]
fn a_curve_that_falls_again_is_no_hinge() {
    let law = |n: u32| {
        let n = f64::from(n);
        90.0 * n / (1.0 + 0.028 * (n - 1.0) + 0.0005 * n * (n - 1.0))
    };
    let model = fit_capacity(&noisy(&[1, 4, 8, 16, 32, 48, 64, 96], law, 5), 0.0).unwrap();
    assert!(matches!(model, Capacity::Usl(_)), "{model:?}");
    // sqrt((1 - 0.028) / 0.0005) = 44.1.
    assert!((model.knee().unwrap() / 44.1 - 1.0).abs() < 0.1, "{:?}", model.knee());
}
