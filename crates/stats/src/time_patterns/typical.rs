//! The typical rate and the scatter of each cell.

use super::TimedSample;
use crate::median;

/// Fewest samples of a cell whose typical rate is known.
const FEWEST: usize = 4;
/// Smallest scatter of a cell: rates that are equal by rounding are not infinitely precise.
const FLOOR: f64 = 0.005;

/// The typical logarithm of the rate of each cell, and its robust standard deviation; none for cells with too few samples.
pub(super) struct Typical {
    cells: Vec<Option<(f64, f64)>>,
}

impl Typical {
    /// `levels` are the logarithms by which each sample is known to differ from the typical rate.
    pub(super) fn new(samples: &[TimedSample], levels: &[f64]) -> Self {
        let cells = samples.iter().map(|sample| sample.cell + 1).max().unwrap_or(0);
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); cells];
        for (sample, level) in samples.iter().zip(levels) {
            // Without work the logarithm is negative infinity, which the median bears.
            rates[sample.cell].push((sample.work / sample.busy_s).ln() - level);
        }
        Self { cells: rates.into_iter().map(of_cell).collect() }
    }

    fn of(&self, sample: &TimedSample) -> Option<(f64, f64)> {
        self.cells.get(sample.cell).copied().flatten()
    }

    pub(super) fn is_known(&self, sample: &TimedSample) -> bool {
        self.of(sample).is_some()
    }

    /// Logarithm of the rate of `sample` as a multiple of the typical one of its cell, 0 where that is not known.
    pub(super) fn residual(&self, sample: &TimedSample) -> f64 {
        self.of(sample).map_or(0.0, |(middle, _)| (sample.work / sample.busy_s).ln() - middle)
    }

    /// Robust standard deviation of the logarithms of the rates of the cell of `sample`.
    pub(super) fn scatter(&self, sample: &TimedSample) -> f64 {
        self.of(sample).map_or(FLOOR, |(_, scatter)| scatter)
    }

    /// Time in seconds that the work of `sample` takes at the typical rate of its cell.
    pub(super) fn expected_s(&self, sample: &TimedSample) -> f64 {
        self.of(sample).map_or(sample.busy_s, |(middle, _)| sample.work / middle.exp())
    }
}

fn of_cell(mut rates: Vec<f64>) -> Option<(f64, f64)> {
    if rates.len() < FEWEST {
        return None;
    }
    let middle = median(&mut rates).filter(|middle| middle.is_finite())?;
    let mut deviations: Vec<f64> = rates.iter().map(|rate| (rate - middle).abs()).collect();
    let scatter = 1.4826 * median(&mut deviations).filter(|scatter| scatter.is_finite())?;
    Some((middle, scatter.max(FLOOR)))
}
