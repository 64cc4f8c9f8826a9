//! The typical rate and the scatter of each cell.

use super::TimedSample;
use crate::median;

/// Fewest samples of a cell whose typical rate is known.
const FEWEST: usize = 4;
/// Smallest scatter of a cell: rates that are equal by rounding are not infinitely precise.
const FLOOR: f64 = 0.005;

/// What is typical of a cell.
#[derive(Clone, Copy)]
struct TypicalCell {
    /// Logarithm of the rate, and its robust standard deviation.
    rate: f64,
    scatter: f64,
    /// Time in seconds of the longest operation of a sample.
    longest_s: f64,
}

/// What is typical of each cell; none for cells with too few samples.
pub(super) struct Typical {
    cells: Vec<Option<TypicalCell>>,
}

impl Typical {
    /// `levels` are the logarithms by which each sample is known to differ from the typical rate.
    pub(super) fn new(samples: &[&TimedSample], levels: &[f64]) -> Self {
        let cells = samples.iter().map(|sample| sample.cell + 1).max().unwrap_or(0);
        let mut rates: Vec<(Vec<f64>, Vec<f64>)> = vec![(Vec::new(), Vec::new()); cells];
        for (sample, level) in samples.iter().zip(levels) {
            // Without work the logarithm is negative infinity, which the median bears.
            let (of_cell, longest) = &mut rates[sample.cell];
            of_cell.push((sample.work / sample.busy_s).ln() - level);
            longest.push(sample.longest_s);
        }
        Self { cells: rates.into_iter().map(|(rates, longest)| of_cell(rates, longest)).collect() }
    }

    fn cell(&self, sample: &TimedSample) -> Option<TypicalCell> {
        self.cells.get(sample.cell).copied().flatten()
    }

    pub(super) fn is_known(&self, sample: &TimedSample) -> bool {
        self.cell(sample).is_some()
    }

    /// Logarithm of the rate of `sample` as a multiple of the typical one of its cell, 0 where that is not known.
    pub(super) fn residual(&self, sample: &TimedSample) -> f64 {
        self.cell(sample).map_or(0.0, |cell| (sample.work / sample.busy_s).ln() - cell.rate)
    }

    /// Robust standard deviation of the logarithms of the rates of the cell of `sample`.
    pub(super) fn scatter(&self, sample: &TimedSample) -> f64 {
        self.cell(sample).map_or(FLOOR, |cell| cell.scatter)
    }

    /// Time in seconds that the work of `sample` takes at the typical rate of its cell.
    pub(super) fn expected_s(&self, sample: &TimedSample) -> f64 {
        self.cell(sample).map_or(sample.busy_s, |cell| sample.work / cell.rate.exp())
    }

    /// Time in seconds by which the longest operation of `sample` exceeds the typical longest one of its cell.
    pub(super) fn longer_s(&self, sample: &TimedSample) -> f64 {
        self.cell(sample).map_or(0.0, |cell| sample.longest_s - cell.longest_s)
    }
}

fn of_cell(mut rates: Vec<f64>, mut longest: Vec<f64>) -> Option<TypicalCell> {
    if rates.len() < FEWEST {
        return None;
    }
    let rate = median(&mut rates).filter(|middle| middle.is_finite())?;
    let mut deviations: Vec<f64> = rates.iter().map(|one| (one - rate).abs()).collect();
    let scatter = 1.4826 * median(&mut deviations).filter(|scatter| scatter.is_finite())?;
    Some(TypicalCell { rate, scatter: scatter.max(FLOOR), longest_s: median(&mut longest)? })
}
