//! Every cell, line and rectangle of each test and of all tests together, with intervals that hold for all at once.

use std::collections::BTreeMap;

use super::FEWEST_ALONE;
use super::flips::{Statistic, largest_statistics};
use super::map::{Map, MapOptions};
use super::mean::Serial;
use super::series::PreparedMap;
use super::sheet::{QUANTITIES, Quantities, Sheet};
use crate::{Interval, Rectangle, median};

/// A t variable of `n - 1` degrees varies by `(n - 1) / (n - 3)`, more than the flips show; a little more holds the bars.
const LOST: f64 = 3.5;
/// The same where patterns of signs are few: six repetitions have 32 different ones.
const LOST_OF_FEW: f64 = 4.5;

/// A sheet with the cells' numbers: per repetition, one after the other, a number for each cell of the grid.
pub(super) struct FilledSheet {
    pub sheet: Sheet,
    /// Index of its first rectangle in the family.
    pub first: usize,
    /// Deviations of the cells.
    pub deviations: Vec<f64>,
    /// `1 / n` of the cells that have the repetition.
    design: Vec<f64>,
    /// Per cell: number of cells, sum of estimates, sum of variances.
    totals: Vec<[f64; 3]>,
}

/// The mean over a rectangle.
#[derive(Clone, Copy, Default)]
pub(super) struct RectangleMean {
    /// Cells that exist in it; 0 for a rectangle that only repeats another.
    pub cells: f64,
    /// Mean of the estimates of its cells.
    pub mean: f64,
    /// Variance if the cells were independent.
    independent: f64,
    variance: f64,
    /// Repetitions that would locate it as well if they all had the same weight.
    n: f64,
    /// Standard error, with the typical variance added.
    error: f64,
}

/// All rectangles of a map.
pub(super) struct Family {
    pub sheets: Vec<FilledSheet>,
    pub means: Vec<RectangleMean>,
    /// Standard errors to either side that hold for all at once.
    critical: f64,
    /// Per prepared cell, the index of its rectangle.
    pub cells: Vec<usize>,
}

impl Family {
    pub fn new(map: &Map, prepared: &PreparedMap, serial: Serial, options: &MapOptions) -> Self {
        let mut sheets: Vec<FilledSheet> = Vec::new();
        let mut first = 0;
        for sheet in sheets_of(map) {
            let rectangles = sheet.rectangles();
            sheets.push(FilledSheet::new(sheet, first, prepared));
            first += rectangles;
        }
        let mut means: Vec<RectangleMean> = sheets.iter().flat_map(|sheet| sheet.means(prepared)).collect();
        let typical = typical_variances(&means);
        let statistics: Vec<Statistic> =
            means.iter().map(|mean| mean.statistic(typical[mean.class()])).collect();
        let largest = largest_statistics(&sheets, &statistics, prepared.repetitions, options.seed);
        let index = ((options.level * largest.len() as f64).ceil() as usize).clamp(1, largest.len()) - 1;
        for mean in &mut means {
            mean.error = mean.standard_error(typical[mean.class()], serial);
        }
        let cells = cell_rectangles(&sheets, &means, prepared);
        Self { sheets, means, critical: largest[index], cells }
    }

    /// The interval of a rectangle's mean.
    pub fn interval(&self, rectangle: usize) -> Interval {
        let RectangleMean { mean, error, .. } = self.means[rectangle];
        Interval { low: mean - self.critical * error, high: mean + self.critical * error }
    }

    fn sheet(&self, rectangle: usize) -> &FilledSheet {
        &self.sheets[self.sheets.partition_point(|sheet| sheet.first <= rectangle) - 1]
    }

    /// Of a rectangle in several tests: the same rectangle in each of them. Of one in one test: nothing.
    pub fn in_each_test(&self, rectangle: usize) -> Vec<usize> {
        let sheet = self.sheet(rectangle);
        if sheet.sheet.tests.len() == 1 {
            return Vec::new();
        }
        // The sheets of single tests come first, and those with the same axes have the same rectangles.
        sheet.sheet.tests.iter().map(|test| self.sheets[*test].first + rectangle - sheet.first).collect()
    }

    /// The sheet of a rectangle, and its place in it.
    pub fn place(&self, rectangle: usize) -> (&Sheet, Rectangle) {
        let sheet = self.sheet(rectangle);
        (&sheet.sheet, sheet.sheet.place(rectangle - sheet.first))
    }
}

/// One sheet per test, and one for each group of tests with the same axes.
fn sheets_of(map: &Map) -> Vec<Sheet> {
    let mut sheets = Vec::new();
    let mut groups: BTreeMap<(usize, usize, usize), Vec<usize>> = BTreeMap::new();
    for (test, grid) in map.tests.iter().enumerate() {
        sheets.push(Sheet::new(vec![test], grid.rows, grid.columns));
        groups.entry((grid.axes, grid.rows, grid.columns)).or_default().push(test);
    }
    for ((_, rows, columns), tests) in groups {
        if tests.len() > 1 {
            sheets.push(Sheet::new(tests, rows, columns));
        }
    }
    sheets
}

/// The median variance of all rectangles with about as many cells: a variance that is small by chance must not look
/// significant. By the logarithm of the number of cells to base 2, rounded down.
fn typical_variances(means: &[RectangleMean]) -> Vec<f64> {
    let mut classes: Vec<Vec<f64>> = Vec::new();
    for mean in means.iter().filter(|mean| mean.cells > 0.0) {
        let class = mean.class();
        if classes.len() <= class {
            classes.resize(class + 1, Vec::new());
        }
        classes[class].push(mean.variance);
    }
    classes.iter_mut().map(|variances| median(variances).unwrap_or(0.0)).collect()
}

fn cell_rectangles(sheets: &[FilledSheet], means: &[RectangleMean], prepared: &PreparedMap) -> Vec<usize> {
    let mut found = vec![0; prepared.cells.len()];
    for sheet in sheets.iter().filter(|sheet| sheet.sheet.tests.len() == 1) {
        for index in 0..sheet.sheet.rectangles() {
            if means[sheet.first + index].is_cell() {
                let place = sheet.sheet.place(index);
                let cell = place.rows.0 * sheet.sheet.columns + place.columns.0;
                if let Some(position) = prepared.at[sheet.sheet.tests[0]][cell] {
                    found[position] = sheet.first + index;
                }
            }
        }
    }
    found
}

impl FilledSheet {
    fn new(sheet: Sheet, first: usize, prepared: &PreparedMap) -> Self {
        let size = sheet.rows * sheet.columns;
        let mut deviations = vec![0.0; prepared.repetitions * size];
        let mut design = vec![0.0; prepared.repetitions * size];
        let mut totals = vec![[0.0; 3]; size];
        for test in &sheet.tests {
            for (index, position) in prepared.at[*test].iter().enumerate() {
                let Some(position) = position else { continue };
                let cell = &prepared.cells[*position];
                totals[index][0] += 1.0;
                totals[index][1] += cell.value;
                totals[index][2] += cell.variance;
                for (repetition, deviation) in &cell.deviations {
                    deviations[repetition * size + index] += deviation;
                    design[repetition * size + index] += 1.0 / cell.n() as f64;
                }
            }
        }
        Self { sheet, first, deviations, design, totals }
    }

    /// Cells of the grid.
    pub fn size(&self) -> usize {
        self.totals.len()
    }

    fn means(&self, prepared: &PreparedMap) -> Vec<RectangleMean> {
        let exists: Vec<bool> = self.totals.iter().map(|total| total[0] > 0.0).collect();
        let distinct = self.sheet.distinct(&exists);
        let mut means = vec![RectangleMean::default(); distinct.len()];
        let table = self.sheet.table(|cell| {
            let [cells, value, variance] = self.totals[cell];
            [cells, value, variance, 0.0, 0.0, 0.0, 0.0, 0.0]
        });
        self.sheet.scan(&table, |index, sums| {
            if distinct[index] {
                let cells = sums[0].round();
                let independent = sums[2].max(0.0) / (cells * cells);
                means[index] =
                    RectangleMean { cells, mean: sums[1] / cells, independent, ..RectangleMean::default() };
            }
        });
        let mut squares = vec![[0.0; 3]; distinct.len()];
        for repetition in (0..prepared.repetitions).step_by(QUANTITIES) {
            let table = self.sheet.table(|cell| self.quantities(&self.deviations, repetition, cell));
            self.sheet.scan(&table, |index, sums| {
                squares[index][0] += sums.iter().map(|x| x * x).sum::<f64>();
            });
            let table = self.sheet.table(|cell| self.quantities(&self.design, repetition, cell));
            self.sheet.scan(&table, |index, sums| {
                squares[index][1] += sums.iter().map(|x| x * x).sum::<f64>();
                squares[index][2] += sums.iter().map(|x| x * x * x * x).sum::<f64>();
            });
        }
        for (mean, [deviations, second, fourth]) in means.iter_mut().zip(squares) {
            if mean.cells > 0.0 {
                mean.variance = (deviations / (mean.cells * mean.cells)).max(mean.independent);
                mean.n = second * second / fourth;
            }
        }
        means
    }

    /// Eight repetitions of a cell from this one on, those that do not exist as 0.
    fn quantities(&self, numbers: &[f64], repetition: usize, cell: usize) -> Quantities {
        std::array::from_fn(|quantity| {
            numbers.get((repetition + quantity) * self.size() + cell).copied().unwrap_or(0.0)
        })
    }
}

impl RectangleMean {
    /// True of a single cell; false of a rectangle that only repeats another.
    pub fn is_cell(&self) -> bool {
        (0.5..1.5).contains(&self.cells)
    }

    fn class(&self) -> usize {
        self.cells.max(1.0).log2() as usize
    }

    /// What the flips compare.
    fn statistic(&self, typical: f64) -> Statistic {
        if self.cells == 0.0 {
            return Statistic::NONE;
        }
        let degrees = (self.n - 1.0).max(1.0);
        let least = if self.is_cell() { 0.0 } else { self.independent };
        Statistic::new(self.cells, self.variance * self.n / degrees + typical, degrees, least + typical)
    }

    fn standard_error(&self, typical: f64, serial: Serial) -> f64 {
        let shared =
            if self.is_cell() { self.variance.min(serial.shared) } else { self.variance - self.independent };
        let variance = self.variance + shared * (serial.inflation - 1.0);
        let lost = if self.n < FEWEST_ALONE as f64 - 0.5 { LOST_OF_FEW } else { LOST };
        let correction = (self.n - 1.0).max(1.0) / (self.n - lost).max(1.0);
        ((variance + typical) * correction).sqrt()
    }
}
