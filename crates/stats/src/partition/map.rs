//! The types of a map and of its answer.

use crate::{Estimate, Interval, Rectangle};

/// The repetitions of one cell: the number of each repetition, and its log ratio.
///
/// Cells may have different numbers of repetitions. Equal numbers of repetitions belong together: what disturbs one
/// repetition may disturb all of its cells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CellSeries(pub Vec<(u32, f64)>);

/// The cells of one test on its (one or two) axes, row by row. A cell without repetitions does not exist.
#[derive(Debug, Clone, PartialEq)]
pub struct TestGrid {
    /// Cells along the first axis.
    pub rows: usize,
    /// Cells along the second.
    pub columns: usize,
    /// `rows x columns` cells.
    pub cells: Vec<CellSeries>,
    /// Tests with the same number have the same axes, so a rectangle may cover all of them.
    pub axes: usize,
}

/// Two systems over all cells that both have.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Map {
    /// One grid per test.
    pub tests: Vec<TestGrid>,
}

/// Which system is faster in a part: the sign of its log ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Log ratios above zero.
    Faster,
    /// Log ratios below zero.
    Slower,
}

/// What a statement about a part claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The own interval of each of its cells excludes the opposite direction.
    EachCell,
    /// Only the mean over its cells is known to differ. No single cell is resolved in the opposite direction.
    OnAverage,
}

/// A part of the map with one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Indices of the tests that it covers. A part of several tests covers the same rectangle in each.
    pub tests: Vec<usize>,
    /// The rectangle.
    pub place: Rectangle,
    /// The cells that exist in it: test and index of the cell.
    pub cells: Vec<(usize, usize)>,
    /// Which system is faster.
    pub direction: Direction,
    /// What is known.
    pub evidence: Evidence,
    /// Mean over its cells with the simultaneous interval; `n` counts repetitions.
    pub mean: Estimate,
    /// From the lowest lower to the highest upper bound of its cells; for [`Evidence::OnAverage`] the interval of the
    /// mean.
    pub range: Interval,
    /// `|mean| sqrt(cells)`: the order of parts.
    pub weight: f64,
}

/// What the whole map shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapAnswer {
    /// Parts in both directions.
    Depends,
    /// Parts in one direction only.
    OneDirection(Direction),
    /// No part: the mean is the answer.
    Mean,
}

/// The answer, and the parts that a headline names.
#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    /// What the map shows.
    pub answer: MapAnswer,
    /// At most three indices into [`PartitionedMap::parts`], heaviest first, with each direction that occurs.
    pub parts: Vec<usize>,
}

/// A cell with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellInterval {
    /// Hodges-Lehmann estimate of the cell's log ratio, from all of its own repetitions.
    pub value: f64,
    /// Interval that holds for all cells, lines, rectangles and means of the map together.
    pub interval: Interval,
    /// Its repetitions.
    pub n: usize,
    /// True with too few repetitions to be named as different alone (six or seven): it counts in means.
    pub only_in_means: bool,
}

/// A map with its mean, its cells' intervals, its parts and the answer that follows from them.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionedMap {
    /// Mean of the cells' estimates with its own interval (not one of the simultaneous ones); `n` counts repetitions.
    pub mean: Estimate,
    /// The same at the level that shows a difference of any size.
    pub mean_wider: Estimate,
    /// Per test, per cell; none where a cell does not exist or was excluded.
    pub cells: Vec<Vec<Option<CellInterval>>>,
    /// Cells with fewer than six repetitions, which are in no mean: test and index of the cell.
    pub excluded: Vec<(usize, usize)>,
    /// The parts, heaviest first.
    pub parts: Vec<Part>,
    /// What the map shows.
    pub headline: Headline,
    /// The largest difference that a cell outside the parts may still have in either direction, as a log ratio.
    pub largest_hidden: f64,
    /// The same for the direction opposite to that of the only direction that occurs.
    pub largest_opposite: f64,
    /// Correlation of neighbouring repetitions where it is positive beyond chance: the intervals are wider for it.
    pub drift: Option<f64>,
}

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapOptions {
    /// Log ratios within this of zero are "about the same": `ln 1.02` by default.
    pub tolerance: f64,
    /// Level of the intervals.
    pub level: f64,
    /// Level of [`PartitionedMap::mean_wider`].
    pub wider_level: f64,
    /// Seed of the drawn patterns of signs.
    pub seed: u64,
}
