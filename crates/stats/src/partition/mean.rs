//! The weighted mean over cells that share their repetitions, with its own interval.
//!
//! Source of the degrees of freedom: Satterthwaite, Biometrics Bulletin 2 (1946) 110.

use super::series::PreparedMap;
use crate::{Estimate, Interval, student_quantile};

/// Fewest degrees of freedom of an interval.
const FEWEST_DEGREES: f64 = 3.0;
/// Share of the largest weight from which on a repetition takes part in the correlation of neighbours.
const FULL_REPETITION: f64 = 0.2;
/// The estimated correlation of neighbours is too small by about this over the number of repetitions.
const BIAS: f64 = 2.0;
/// The same for repetitions without any correlation.
const BIAS_OF_NONE: f64 = 1.0;
/// Deviations whose squares add up to less are rounding errors.
const MIN_SQUARES: f64 = 1e-24;
/// Quantile of the normal distribution beyond which a correlation is no chance.
const ONE_SIDED_95: f64 = 1.645;
/// Largest correlation that is believed.
const MAX_CORRELATION: f64 = 0.8;

/// Mean over cells with the variance of its error.
pub(super) struct CellMean {
    value: f64,
    variance: f64,
    degrees_of_freedom: f64,
    repetitions: usize,
    serial: Serial,
}

/// What neighbouring repetitions have in common.
#[derive(Clone, Copy)]
pub(super) struct Serial {
    /// Correlation of neighbouring repetitions, if it is positive beyond chance.
    pub correlation: Option<f64>,
    /// The shared part of variances grows by this factor.
    pub inflation: f64,
    /// Shared part of the variance of the mean over all cells.
    pub shared: f64,
}

impl CellMean {
    /// `weights` per cell add up to 1. None without cells.
    pub fn new(map: &PreparedMap, weights: &[f64]) -> Option<Self> {
        if map.cells.is_empty() {
            return None;
        }
        let mut sums = vec![0.0; map.repetitions];
        let mut design = vec![0.0; map.repetitions];
        let mut own = vec![0.0; map.repetitions];
        let mut value = 0.0;
        for (cell, weight) in map.cells.iter().zip(weights) {
            let n = cell.n() as f64;
            value += weight * cell.value;
            for (repetition, deviation) in &cell.deviations {
                sums[*repetition] += weight * deviation;
                design[*repetition] += weight / n;
                own[*repetition] += weight * weight * cell.variance / n;
            }
        }
        let independent: f64 = own.iter().sum();
        let shared = (squares(&sums) - independent).max(0.0);
        let per_square = shared / squares(&design);
        let by_repetition: Vec<f64> =
            own.iter().zip(&design).map(|(own, a)| own + per_square * a * a).collect();
        // The part that cells do not share is known from all of their repetitions.
        let own_share = independent / (independent + shared);
        let degrees = 1.0
            / (own_share / own_degrees(map, weights)
                + (1.0 - own_share) / (degrees_of_freedom(&by_repetition) - 1.0).max(FEWEST_DEGREES));
        let degrees = if degrees.is_finite() { degrees } else { FEWEST_DEGREES };
        let serial = Serial::new(&sums, &by_repetition, &design, shared);
        Some(Self {
            value,
            variance: independent + shared * serial.inflation,
            degrees_of_freedom: (degrees / serial.inflation).max(FEWEST_DEGREES),
            repetitions: map.repetitions,
            serial,
        })
    }

    pub fn serial(&self) -> Serial {
        self.serial
    }

    /// The mean with its interval at `level`.
    pub fn estimate(&self, level: f64) -> Estimate {
        let reach =
            student_quantile(f64::midpoint(1.0, level), self.degrees_of_freedom) * self.variance.sqrt();
        let interval = Some(Interval { low: self.value - reach, high: self.value + reach });
        Estimate { value: self.value, interval, n: self.repetitions }
    }
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum()
}

/// Degrees of freedom of a sum of terms with these variances.
fn degrees_of_freedom(variances: &[f64]) -> f64 {
    let sum: f64 = variances.iter().sum();
    sum * sum / squares(variances)
}

/// Degrees of freedom of the variance of independent cells.
fn own_degrees(map: &PreparedMap, weights: &[f64]) -> f64 {
    let mut sum = 0.0;
    let mut weighted = 0.0;
    for (cell, weight) in map.cells.iter().zip(weights) {
        let variance = weight * weight * cell.variance;
        sum += variance;
        weighted += variance * variance / (cell.n() as f64 - 1.0);
    }
    sum * sum / weighted
}

impl Serial {
    fn new(sums: &[f64], variances: &[f64], design: &[f64], shared: f64) -> Self {
        let most = design.iter().copied().fold(0.0, f64::max);
        let standard: Vec<f64> = sums
            .iter()
            .zip(variances)
            .zip(design)
            .filter(|((_, variance), a)| **variance > 0.0 && **a > FULL_REPETITION * most)
            .map(|((sum, variance), _)| sum / variance.sqrt())
            .collect();
        let neighbours: f64 = standard.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let correlation = neighbours / squares(&standard);
        let n = standard.len() as f64;
        if correlation > -BIAS_OF_NONE / n && squares(sums) > MIN_SQUARES {
            let corrected = (correlation + BIAS / n).min(MAX_CORRELATION);
            let beyond_chance = correlation > ONE_SIDED_95 / n.sqrt();
            return Self {
                correlation: beyond_chance.then_some(corrected),
                inflation: (1.0 + corrected) / (1.0 - corrected),
                shared,
            };
        }
        Self { correlation: None, inflation: 1.0, shared }
    }
}
