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
const BIAS: f64 = 1.5;
/// Largest correlation that is believed.
const MOST: f64 = 0.8;

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
        let degrees = degrees_of_freedom(&by_repetition);
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

/// Of a sum of squares whose terms have these variances, less one for the mean that was taken off.
fn degrees_of_freedom(variances: &[f64]) -> f64 {
    let sum: f64 = variances.iter().sum();
    let degrees = sum * sum / squares(variances) - 1.0;
    // Without any spread the quotient is not a number, and the interval has no width.
    if degrees.is_finite() { degrees.max(FEWEST_DEGREES) } else { FEWEST_DEGREES }
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
        if correlation > 0.0 && shared > 0.0 {
            let n = standard.len() as f64;
            let corrected = (correlation + BIAS / n).min(MOST);
            let beyond_chance = correlation > 1.645 / n.sqrt();
            return Self {
                correlation: beyond_chance.then_some(corrected),
                inflation: (1.0 + corrected) / (1.0 - corrected),
                shared,
            };
        }
        Self { correlation: None, inflation: 1.0, shared }
    }
}
