//! Whether the scalability law predicts the rates of a load better than simpler curves do.

use std::fmt;

use crate::usl::{ErrorScale, LoadPoint, Usl};

/// A curve with fewer parameters than the scalability law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SimpleCurve {
    /// The same rate at every load.
    Flat,
    /// In proportion to the load.
    Proportional,
    /// In proportion to the load up to a limit, and constant from there.
    Limited,
}

impl fmt::Display for SimpleCurve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flat => "a constant rate",
            Self::Proportional => "a rate in proportion to the load",
            Self::Limited => "a rate in proportion to the load up to a limit",
        })
    }
}

/// Largest error of the law as a share of that of a simple curve. Where both are the noise of measurements, the shares scatter
/// around 1, and the curve with fewer parameters is the answer.
const CLEARLY: f64 = 0.5;

/// The simple curve that predicts each load from the others better than the scalability law does, by the sum of squared
/// logarithmic errors; none if the law predicts best. With three loads or fewer nothing can be left out, so that the law is
/// not tested; the best simple curve is returned if it misses no rate by more than 5 %.
pub fn better_than_the_law(points: &[LoadPoint]) -> Option<SimpleCurve> {
    let all = [SimpleCurve::Flat, SimpleCurve::Proportional, SimpleCurve::Limited];
    let error = |fit: &dyn Fn(&[LoadPoint], f64) -> Option<f64>| -> f64 {
        let left_out = |point: &LoadPoint| {
            let others: Vec<LoadPoint> =
                points.iter().copied().filter(|other| other.load.total_cmp(&point.load).is_ne()).collect();
            fit(&others, point.load).map_or(f64::INFINITY, |rate| (rate / point.throughput).ln().powi(2))
        };
        points.iter().map(left_out).sum()
    };
    let of_law = error(&|others, load| Some(Usl::fit(others, ErrorScale::Relative)?.throughput(load)));
    let of_curves = all.map(|curve| (curve, error(&|others, load| curve.predict(others, load))));
    let best = of_curves.into_iter().min_by(|x, y| x.1.total_cmp(&y.1))?;
    let is_better = if of_law.is_finite() {
        best.1 < of_law / CLEARLY
    } else {
        best.1 <= points.len() as f64 * 0.05_f64.ln_1p().powi(2)
    };
    is_better.then_some(best.0)
}

impl SimpleCurve {
    /// The rate at a load, by other loads.
    fn predict(self, others: &[LoadPoint], load: f64) -> Option<f64> {
        let mean = |values: &dyn Fn(&LoadPoint) -> f64| {
            let weight: f64 = others.iter().map(|point| point.weight).sum();
            let sum: f64 = others.iter().map(|point| point.weight * values(point).ln()).sum();
            (weight > 0.0).then(|| (sum / weight).exp())
        };
        match self {
            Self::Flat => mean(&|point| point.throughput),
            Self::Proportional => Some(mean(&|point| point.throughput / point.load)? * load),
            Self::Limited => {
                let slope = others.iter().map(|point| point.throughput / point.load).fold(0.0, f64::max);
                let highest = others.iter().map(|point| point.throughput).fold(0.0, f64::max);
                // The limit is the mean of the rates that a rate in proportion would exceed by far.
                let limited: Vec<f64> = others
                    .iter()
                    .filter(|point| slope * point.load > highest)
                    .map(|point| point.throughput.ln())
                    .collect();
                let limit = if limited.is_empty() {
                    f64::INFINITY
                } else {
                    (limited.iter().sum::<f64>() / limited.len() as f64).exp()
                };
                (slope > 0.0).then(|| (slope * load).min(limit))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;

    /// Loads 1 to 64 with 1 % noise.
    fn points(law: impl Fn(f64) -> f64, seed: u64) -> Vec<LoadPoint> {
        let mut random = Random::new(seed, 0);
        let mut noisy = |load: f64| law(load) * (1.0 + 0.02 * (random.unit() - 0.5));
        [1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 64.0].map(|load| LoadPoint::new(load, noisy(load))).to_vec()
    }

    #[test]
    fn a_server_that_is_flat_or_limited_gets_no_law() {
        for seed in 0..20 {
            assert_eq!(better_than_the_law(&points(|_| 800.0, seed)), Some(SimpleCurve::Flat), "{seed}");
            let limited = better_than_the_law(&points(|load| (100.0 * load).min(800.0), seed));
            assert_eq!(limited, Some(SimpleCurve::Limited), "{seed}");
            let straight = better_than_the_law(&points(|load| 100.0 * load, seed));
            assert!(straight.is_some(), "{seed}: {straight:?}");
        }
    }

    #[test]
    fn contention_and_coherency_are_the_law() {
        for seed in 0..20 {
            for (alpha, beta) in [(0.05, 0.0), (0.03, 0.0005), (0.1, 0.002)] {
                let law = |n: f64| 100.0 * n / (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0));
                assert_eq!(better_than_the_law(&points(law, seed)), None, "{alpha} {beta} {seed}");
            }
        }
    }

    #[test]
    fn three_loads_do_not_distinguish_the_law_from_a_constant_rate() {
        let flat = [2.0, 4.0, 8.0].map(|load| LoadPoint::new(load, 800.0));
        assert_eq!(better_than_the_law(&flat), Some(SimpleCurve::Flat));
        let bent = [LoadPoint::new(1.0, 100.0), LoadPoint::new(4.0, 280.0), LoadPoint::new(16.0, 300.0)];
        assert_eq!(better_than_the_law(&bent), None);
    }
}
