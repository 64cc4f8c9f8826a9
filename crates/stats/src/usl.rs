//! The universal scalability law: throughput against load, with contention and coherency.
//!
//! Source: Gunther: Guerrilla Capacity Planning, 4-6; estimation as R package `usl` (Möding), absolute errors.

use crate::least_squares::{Fit, least_squares};

/// A measured load and its throughput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPoint {
    /// Users (or operations in flight); positive.
    pub load: f64,
    /// Work per time; positive.
    pub throughput: f64,
    /// Weight: one over its variance, or 1 if all points count the same.
    pub weight: f64,
}

impl LoadPoint {
    /// A point that counts as much as any other.
    pub fn new(load: f64, throughput: f64) -> Self {
        Self { load, throughput, weight: 1.0 }
    }
}

/// Which error of the throughput the fit minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorScale {
    /// In units of throughput.
    Absolute,
    /// As a share: where noise grows with throughput, as it usually does.
    Relative,
}

/// X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usl {
    /// Throughput of one user.
    pub gamma: f64,
    /// Contention: the share of work that is serialised.
    pub alpha: f64,
    /// Coherency: the cost of every user for every other; not below 0.
    pub beta: f64,
    /// Standard errors of alpha, beta and gamma; none where a parameter rests on its bound of 0, or where
    /// there are no more points than parameters.
    pub errors: [Option<f64>; 3],
    /// Residual standard error, in the scale of the fit.
    pub residual: f64,
}

impl Usl {
    /// Fits at least three different loads; none with fewer, or when a point is not positive.
    pub fn fit(points: &[LoadPoint], scale: ErrorScale) -> Option<Self> {
        let usable = |p: &LoadPoint| {
            p.load > 0.0
                && p.throughput > 0.0
                && p.weight > 0.0
                && p.throughput.is_finite()
                && p.load.is_finite()
        };
        let mut loads: Vec<f64> = points.iter().map(|point| point.load).collect();
        loads.sort_unstable_by(f64::total_cmp);
        loads.dedup();
        if loads.len() < 3 || !points.iter().all(usable) {
            return None;
        }
        let per_user = points.iter().map(|p| p.throughput / p.load).fold(0.0, f64::max);
        let largest = loads.last().copied().unwrap_or(1.0);
        let residuals = |&[alpha, beta, gamma]: &[f64; 3]| -> Vec<f64> {
            let residual = |p: &LoadPoint| {
                let model = law(gamma, alpha, beta, p.load);
                let error = match scale {
                    ErrorScale::Absolute => model - p.throughput,
                    ErrorScale::Relative => (model / p.throughput).ln(),
                };
                error * p.weight.sqrt()
            };
            points.iter().map(residual).collect()
        };
        // Several starts: with few points the valley bends, and a start far from it may end at a bound.
        let starts = [(0.02, 0.1), (0.2, 1.0), (0.002, 0.01)];
        let fits = starts.iter().filter_map(|(alpha, beta)| {
            least_squares(
                [*alpha, beta / (largest * largest), per_user],
                [0.0, 0.0, per_user * 1e-6],
                residuals,
            )
        });
        let best = fits.min_by(|a, b| a.residual.total_cmp(&b.residual))?;
        let Fit { parameters: [alpha, beta, gamma], errors, residual } = best;
        Some(Self { gamma, alpha, beta, errors, residual })
    }

    /// Throughput at a load.
    pub fn throughput(&self, load: f64) -> f64 {
        law(self.gamma, self.alpha, self.beta, load)
    }

    /// Load and throughput of the peak, N* = sqrt((1 - alpha) / beta); none if coherency is negligible,
    /// so that throughput never falls, or if it falls from the start.
    pub fn peak(&self) -> Option<(f64, f64)> {
        // Below this the peak lies beyond any load of a file server.
        const MIN_BETA: f64 = 1e-12;
        let load = ((1.0 - self.alpha) / self.beta).sqrt();
        (self.beta > MIN_BETA && load.is_finite() && load > 1.0).then(|| (load, self.throughput(load)))
    }

    /// Throughput that contention alone would allow, gamma / alpha; none without contention.
    pub fn limit(&self) -> Option<f64> {
        (self.alpha > 1e-12).then(|| self.gamma / self.alpha)
    }

    /// Load at which contention alone bends the curve, 1 / alpha; none without contention.
    pub fn optimal_load(&self) -> Option<f64> {
        (self.alpha > 1e-12).then(|| 1.0 / self.alpha)
    }
}

fn law(gamma: f64, alpha: f64, beta: f64, n: f64) -> f64 {
    gamma * n / (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0))
}
