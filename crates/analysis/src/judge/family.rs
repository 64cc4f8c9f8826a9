//! Differences that may be claimed of cells and of sections: all claims of an analysis hold together.

use std::collections::BTreeMap;

use sharebench_stats::{SMALLEST_SAMPLE_95, student_quantile};

use crate::estimate::Estimated;
use crate::estimate::pairing::Pairs;
use crate::types::Options;

/// Probability that one of the claims is wrong where all systems are equal.
const ERROR: f64 = 0.01;

/// The tests of an analysis: each cell and each section of each comparison, in both directions.
///
/// A cell that is picked because its own interval excludes one is a false alarm in 5 % of the comparisons of a system with
/// itself, and a map has hundreds of cells. So each test gets the same part of one probability of error (Bonferroni). The
/// mean over a section is tested as well, because it shows a difference that no cell resolves.
pub(crate) struct Family {
    tests: usize,
    tolerance: f64,
}

impl Family {
    /// Counts the tests.
    pub(crate) fn new(estimated: &Estimated, options: &Options) -> Self {
        let sections = estimated.pairs.iter().flatten();
        let tests = sections.map(|cells| cells.iter().flatten().count() + 1).sum();
        Self { tests, tolerance: options.tolerance.ln_1p() }
    }

    /// Mean log ratio of these cells if it lies beyond the tolerance; none if that is not known, or a cell has too few
    /// repetitions. Cells of one repetition share its conditions, so the variance comes from sums over repetitions.
    pub(crate) fn difference(&self, cells: &[&Pairs]) -> Option<f64> {
        let count = cells.len() as f64;
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        let mut mean = 0.0;
        let mut independent = 0.0;
        let mut fewest = usize::MAX;
        for cell in cells {
            let sweeps = cell.by_sweep();
            let n = sweeps.len();
            fewest = fewest.min(n);
            let log = |(a, b): &(f64, f64)| (a / b).ln();
            let of_cell = sweeps.values().map(log).sum::<f64>() / n as f64;
            mean += of_cell / count;
            for (sweep, rates) in &sweeps {
                let part = (log(rates) - of_cell) / (n as f64 * (n as f64 - 1.0)).sqrt() / count;
                *sums.entry(*sweep).or_default() += part;
                independent += part * part;
            }
        }
        if cells.is_empty() || fewest < SMALLEST_SAMPLE_95 {
            return None;
        }
        let variance = sums.values().map(|sum| sum * sum).sum::<f64>().max(independent);
        let quantile = student_quantile(1.0 - ERROR / 2.0 / self.tests.max(1) as f64, fewest as f64 - 1.0);
        let clocks = cells.iter().map(|cell| cell.clock_allowance()).sum::<f64>() / count;
        (mean.abs() > self.tolerance + clocks + quantile * variance.sqrt()).then_some(mean)
    }
}
