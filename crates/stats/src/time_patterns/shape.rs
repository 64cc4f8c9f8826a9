//! The shapes that explain rates over time, and their fit next to the levels of the cells.

use super::TimedSample;
use super::typical::Typical;

/// Residuals beyond this many standard deviations of their cell count as that distance.
const WINSOR: f64 = 5.0;
/// The scatter of a cell is at least this share of the middle one of all cells, so that no cell has all the weight.
const MIN_SCATTER: f64 = 0.5;
/// Rounds of the joint fit of several shapes.
const ROUNDS: usize = 8;

/// A shape over time; the logarithm of the rate follows it times a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape {
    /// A straight line, from 0 at the first sample to 1 at the last.
    Line,
    /// 1 between two instants (seconds), 0 elsewhere.
    Segment { from_s: f64, to_s: f64 },
    /// 1 in the first `duty` of each period, 0 in the rest of it.
    Wave { period_s: f64, phase_s: f64, duty: f64 },
}

impl Shape {
    /// The mean of the shape over the time of `sample`; all samples lie between `first_s` and `last_s`.
    pub(super) fn over(self, sample: &TimedSample, first_s: f64, last_s: f64) -> f64 {
        let from = sample.start_s;
        let to = sample.end_s().max(sample.start_s + 1e-9);
        match self {
            Self::Line => (f64::midpoint(from, to) - first_s) / (last_s - first_s).max(1e-9),
            Self::Segment { from_s, to_s } => (to.min(to_s) - from.max(from_s)).max(0.0) / (to - from),
            Self::Wave { period_s, phase_s, duty } => {
                // Time within the first part of the periods from the phase until `at`.
                let within = |at: f64| {
                    let cycles = (at - phase_s) / period_s;
                    let whole = cycles.floor();
                    (whole * duty + (cycles - whole).min(duty)) * period_s
                };
                (within(to) - within(from)) / (to - from)
            }
        }
    }
}

/// The samples, with the logarithm of their rate centred per cell.
pub(super) struct Centred<'a> {
    pub(super) samples: &'a [&'a TimedSample],
    pub(super) first_s: f64,
    pub(super) last_s: f64,
    pub(super) weights: Vec<f64>,
    /// The logarithm of the rate as a multiple of the typical one of the cell, centred.
    pub(super) values: Vec<f64>,
    /// Winsorised at this distance.
    limits: Vec<f64>,
    cells: usize,
}

impl<'a> Centred<'a> {
    pub(super) fn new(samples: &'a [&'a TimedSample], typical: &Typical) -> Self {
        let scatters: Vec<f64> = samples.iter().map(|sample| typical.scatter(sample)).collect();
        let middle = crate::median_or_zero(&scatters);
        let weight = |scatter: &f64| (middle / scatter.max(MIN_SCATTER * middle)).powi(2);
        let mut centred = Self {
            samples,
            first_s: samples.first().map_or(0.0, |sample| sample.start_s),
            last_s: samples.iter().map(|sample| sample.end_s()).fold(0.0, f64::max),
            weights: scatters.iter().map(weight).collect(),
            values: samples.iter().map(|sample| typical.residual(sample)).collect(),
            limits: scatters.iter().map(|scatter| WINSOR * scatter.max(MIN_SCATTER * middle)).collect(),
            cells: samples.iter().map(|sample| sample.cell + 1).max().unwrap_or(0),
        };
        centred.values = centred.centre(&centred.values);
        centred
    }

    /// `values` less the weighted mean of their cell.
    pub(super) fn centre(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.cells];
        for ((sample, value), weight) in self.samples.iter().zip(values).zip(&self.weights) {
            let (sum, weights) = &mut sums[sample.cell];
            *sum += value * weight;
            *weights += weight;
        }
        let mean = |cell: usize| sums[cell].0 / sums[cell].1;
        self.samples.iter().zip(values).map(|(sample, value)| value - mean(sample.cell)).collect()
    }

    /// What is left, winsorised: single samples do not decide whether there is a shape.
    pub(super) fn winsorised(&self, left: &[f64]) -> Vec<f64> {
        let clipped: Vec<f64> =
            left.iter().zip(&self.limits).map(|(left, limit)| left.clamp(-limit, *limit)).collect();
        self.centre(&clipped)
    }

    /// The shape at each sample, centred like the values.
    pub(super) fn column(&self, shape: Shape) -> Vec<f64> {
        let raw: Vec<f64> =
            self.samples.iter().map(|sample| shape.over(sample, self.first_s, self.last_s)).collect();
        self.centre(&raw)
    }

    /// Sum of the products of two columns, weighted.
    pub(super) fn product(&self, a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).zip(&self.weights).map(|((a, b), weight)| a * b * weight).sum()
    }

    /// Number of samples that are free after the level of each cell and `shapes` are known.
    pub(super) fn freedom(&self, shapes: usize) -> f64 {
        let mut has = vec![false; self.cells];
        for sample in self.samples {
            has[sample.cell] = true;
        }
        let known = has.iter().filter(|has| **has).count() + shapes;
        self.samples.len().saturating_sub(known).max(1) as f64
    }

    /// The factors of `columns` that fit together best, and what is left.
    pub(super) fn fit(&self, columns: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
        let mut factors = vec![0.0; columns.len()];
        let mut left = self.values.clone();
        for _ in 0..ROUNDS {
            for (column, factor) in columns.iter().zip(&mut factors) {
                let size = self.product(column, column);
                let more = if size > 1e-12 { self.product(column, &left) / size } else { 0.0 };
                *factor += more;
                for (left, value) in left.iter_mut().zip(column) {
                    *left -= more * value;
                }
            }
        }
        (factors, left)
    }
}
