//! The cells of a map as estimates and deviations by repetition, with outliers held.

use std::collections::BTreeSet;

use super::FEWEST_IN_MEANS;
use super::map::Map;
use crate::median;
use crate::signed_rank::hodges_lehmann_value;
use crate::winsorise::Robust;

/// A cell with enough repetitions.
pub(super) struct PreparedCell {
    /// Its test.
    pub test: usize,
    /// Its index in the grid of the test.
    pub index: usize,
    /// Hodges-Lehmann estimate of its log ratio.
    pub value: f64,
    /// Variance of `value`: the sum of the squared deviations.
    pub variance: f64,
    /// Its share of `value`'s error in each repetition: `sqrt(pi / 3) (w - mean w) / sqrt(n (n - 1))`, where `w` are
    /// the values with outliers held and `pi / 3` is the price of Hodges-Lehmann for normal noise. Their sum under
    /// random signs has the variance of `value`.
    pub deviations: Vec<(usize, f64)>,
}

impl PreparedCell {
    /// Its repetitions.
    pub fn n(&self) -> usize {
        self.deviations.len()
    }
}

/// All cells of a map that take part.
pub(super) struct PreparedMap {
    /// In the order of tests and cells.
    pub cells: Vec<PreparedCell>,
    /// Per test and cell of its grid, the index in `cells`.
    pub at: Vec<Vec<Option<usize>>>,
    /// Different repetitions.
    pub repetitions: usize,
    /// Cells with repetitions, but too few.
    pub excluded: Vec<(usize, usize)>,
}

/// What is known of a cell before the typical spread of all cells is.
struct RawCell {
    test: usize,
    index: usize,
    /// Number of the repetition and log ratio.
    values: Vec<(u32, f64)>,
    robust: Robust,
}

impl PreparedMap {
    /// Values that are not finite are left out.
    pub fn new(map: &Map) -> Self {
        let mut raw = Vec::new();
        let mut excluded = Vec::new();
        for (test, grid) in map.tests.iter().enumerate() {
            for (index, series) in grid.cells.iter().enumerate() {
                let values: Vec<(u32, f64)> =
                    series.0.iter().copied().filter(|(_, value)| value.is_finite()).collect();
                if values.len() >= FEWEST_IN_MEANS {
                    raw.push(RawCell::new(test, index, values));
                } else if !values.is_empty() {
                    excluded.push((test, index));
                }
            }
        }
        let numbers: BTreeSet<u32> =
            raw.iter().flat_map(|cell| cell.values.iter().map(|(number, _)| *number)).collect();
        let numbers: Vec<u32> = numbers.into_iter().collect();
        let mut spreads: Vec<f64> = raw.iter().map(|cell| cell.robust.spread).collect();
        let least = median(&mut spreads).unwrap_or(0.0) / 2.0;
        let cells: Vec<PreparedCell> = raw.into_iter().map(|cell| cell.prepare(&numbers, least)).collect();
        let mut at: Vec<Vec<Option<usize>>> =
            map.tests.iter().map(|grid| vec![None; grid.cells.len()]).collect();
        for (position, cell) in cells.iter().enumerate() {
            at[cell.test][cell.index] = Some(position);
        }
        Self { cells, at, repetitions: numbers.len(), excluded }
    }
}

impl RawCell {
    fn new(test: usize, index: usize, values: Vec<(u32, f64)>) -> Self {
        let logs: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        Self { test, index, values, robust: Robust::from_values(&logs) }
    }

    fn prepare(self, numbers: &[u32], least_spread: f64) -> PreparedCell {
        let n = self.values.len() as f64;
        let hold = |value: f64| self.robust.hold(value, least_spread);
        let mean = self.values.iter().map(|(_, value)| hold(*value)).sum::<f64>() / n;
        let scale = (std::f64::consts::PI / 3.0 / (n * (n - 1.0))).sqrt();
        let deviations: Vec<(usize, f64)> = self
            .values
            .iter()
            .map(|(number, value)| (numbers.partition_point(|x| x < number), scale * (hold(*value) - mean)))
            .collect();
        let values: Vec<f64> = self.values.iter().map(|(_, value)| *value).collect();
        PreparedCell {
            test: self.test,
            index: self.index,
            value: hodges_lehmann_value(&values),
            variance: deviations.iter().map(|(_, u)| u * u).sum(),
            deviations,
        }
    }
}
