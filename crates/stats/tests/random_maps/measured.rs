//! What a measurement of a map shows: noise of each cell, disturbances that cells of one repetition share, outliers, and
//! as many repetitions as each cell needed.

use sharebench_model::Random;
use sharebench_stats::{CellSeries, Map, TestGrid, median_or_zero, student_quantile};

use crate::random_maps::truth::TrueGrid;

/// Most repetitions of a cell.
const MOST: usize = 60;
/// Share of repetitions with an outlier.
const OUTLIERS: f64 = 0.08;
/// Shift of the median of averages of two values, in standard deviations, when this share lies far above: the root of
/// `0.92^2 Phi(x sqrt 2) + 2 0.92 0.08 Phi((x - 2) sqrt 2) = 1/2`, with outliers from 4 standard deviations on.
const ONE_SIDED_SHIFT: f64 = 0.161;

/// How often a cell is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetitions {
    /// All cells equally often.
    Fixed(usize),
    /// 10 to 60, until the 95 % interval of the cell is within 2 %.
    WidthRule,
    /// 6 to 60, more for noisy cells.
    Unequal,
}

/// Properties of the noise.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    pub repetitions: Repetitions,
    /// Standard deviation of a typical cell's log ratios.
    pub deviation: f64,
    /// True if cells differ in noise.
    pub different: bool,
    /// 8 % outliers on both sides, or on one.
    pub outliers: Option<Side>,
    /// Standard deviation of what cells of one repetition share.
    pub shared: f64,
    /// True if each test has its own disturbances.
    pub by_test: bool,
    /// Correlation of neighbouring disturbances.
    pub serial: f64,
    /// Share of repetitions that are lost, anywhere in a cell's series.
    pub lost: f64,
}

/// Where outliers lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Both,
    One,
}

impl Noise {
    /// 1 to 15 %, with or without shared disturbances, outliers and different noise per cell.
    pub fn draw(random: &mut Random, repetitions: Repetitions) -> Self {
        let mut half = || random.unit() < 0.5;
        let different = half();
        let outliers = half();
        let shares = half();
        Self {
            repetitions,
            deviation: 0.01 * 15f64.powf(random.unit()),
            different,
            outliers: outliers.then_some(Side::Both),
            shared: if shares { 0.05 * random.unit() } else { 0.0 },
            by_test: random.unit() < 0.3,
            serial: 0.0,
            lost: 0.0,
        }
    }

    /// Measures a map. Outliers on one side move what the cells' medians estimate: the truth is moved with them.
    pub fn measure(&self, random: &mut Random, truth: &mut [TrueGrid]) -> Map {
        let common = self.disturbances(random);
        let mut tests = Vec::new();
        for grid in truth {
            let shared = if self.by_test { self.disturbances(random) } else { common.clone() };
            let mut cells = Vec::new();
            for value in &mut grid.cells {
                let Some(value) = value else {
                    cells.push(CellSeries::default());
                    continue;
                };
                let deviation = self.of_cell(random);
                let series = self.series(random, *value, deviation, &shared);
                if self.outliers == Some(Side::One) {
                    *value += ONE_SIDED_SHIFT * deviation.hypot(self.shared);
                }
                cells.push(series);
            }
            tests.push(TestGrid { rows: grid.rows, columns: grid.columns, cells, axes: grid.axes });
        }
        Map { tests }
    }

    fn of_cell(&self, random: &mut Random) -> f64 {
        let factor = if self.different { (0.6 * random.normal()).exp() } else { 1.0 };
        (self.deviation * factor).clamp(0.005, 0.2)
    }

    fn disturbances(&self, random: &mut Random) -> Vec<f64> {
        let mut last = random.normal();
        let mut next = || {
            let now = last;
            last = self.serial * last + (1.0 - self.serial * self.serial).sqrt() * random.normal();
            self.shared * now
        };
        (0..MOST).map(|_| next()).collect()
    }

    fn series(&self, random: &mut Random, value: f64, deviation: f64, shared: &[f64]) -> CellSeries {
        let longest = if let Repetitions::Fixed(n) = self.repetitions { n } else { MOST };
        let mut ratios: Vec<f64> = Vec::with_capacity(longest);
        for disturbance in &shared[..longest] {
            let outlier = match self.outliers {
                Some(side) if random.unit() < OUTLIERS => {
                    let size = 4.0 * deviation.hypot(self.shared) + 0.2 * random.exponential();
                    if side == Side::Both && random.unit() < 0.5 { -size } else { size }
                }
                _ => 0.0,
            };
            ratios.push(value + disturbance + deviation * random.normal() + outlier);
        }
        let n = match self.repetitions {
            Repetitions::Fixed(n) => n,
            Repetitions::WidthRule => stopped(&ratios),
            Repetitions::Unequal => {
                let noisy = (deviation / 0.01).ln() / 15f64.ln() + 0.2 * random.normal();
                6 + (54.0 * noisy.clamp(0.0, 1.0)) as usize
            }
        };
        let numbered = ratios.into_iter().take(n).enumerate().map(|(number, ratio)| (number as u32, ratio));
        CellSeries(numbered.filter(|_| self.lost == 0.0 || random.unit() >= self.lost).collect())
    }
}

/// The first number of repetitions from ten on at which a t interval of the values, with outliers held, is within 2 %.
fn stopped(ratios: &[f64]) -> usize {
    let centre = median_or_zero(ratios);
    let spread: Vec<f64> = ratios.iter().map(|ratio| (ratio - centre).abs()).collect();
    let reach = 3.0 * 1.4826 * median_or_zero(&spread);
    let held: Vec<f64> =
        ratios.iter().map(|ratio| ratio.clamp(centre - reach, centre + reach) - centre).collect();
    let mut sum = held[..9].iter().sum::<f64>();
    let mut squares = held[..9].iter().map(|x| x * x).sum::<f64>();
    for n in 10..=held.len() {
        sum += held[n - 1];
        squares += held[n - 1] * held[n - 1];
        let count = n as f64;
        let variance = (squares - sum * sum / count) / (count - 1.0);
        if T_975[n - 10] * (variance / count).sqrt() <= 0.02 {
            return n;
        }
    }
    held.len()
}

/// Quantiles of Student's t for 10 to 60 values.
static T_975: std::sync::LazyLock<Vec<f64>> =
    std::sync::LazyLock::new(|| (10..=MOST).map(|n| student_quantile(0.975, n as f64 - 1.0)).collect());
