//! The oracle: it knows the true ratio of each cell and judges every statement about a map.

use sharebench_stats::{Direction, Evidence, Interval, MapAnswer, Part, PartitionedMap};

use crate::random_maps::truth::TrueGrid;

/// Statements that are off by less than this are right: ln 1.02.
pub const TOLERANCE: f64 = 0.019_802_627;

/// What the oracle found in one map.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one answer of the oracle each")]
pub struct Judgement {
    /// Statements about parts, and how many of them are wrong.
    pub sentences: u32,
    pub wrong_sentences: u32,
    /// A part that the headline names is wrong, or its mean, or what it says about the other cells.
    pub wrong_headline: bool,
    /// The intervals of all cells and of all parts' means hold at once.
    pub all_hold: bool,
    /// The interval of the mean holds.
    pub mean_holds: bool,
    /// Something differs by more than the tolerance.
    pub claims: bool,
    /// The wider interval of the mean, which states a difference of any size, excludes zero, or some part is named.
    pub significant: bool,
}

/// Judges all that a partitioned map states.
pub fn judge(map: &PartitionedMap, truth: &[TrueGrid]) -> Judgement {
    let wrong: Vec<bool> = map.parts.iter().map(|part| is_wrong(part, truth)).collect();
    let mean = mean(&all_cells(map, truth));
    let interval = map.mean.interval.unwrap();
    let hidden = hides_more(map, truth);
    let beyond_mean = beyond(interval, mean);
    let is_mean = map.headline.answer == MapAnswer::Mean;
    let wrong_headline =
        map.headline.parts.iter().any(|part| wrong[*part]) || is_mean && beyond_mean || hidden;
    Judgement {
        // The mean, and the largest difference of other cells, are statements too.
        sentences: map.parts.len() as u32 + 2,
        wrong_sentences: wrong.iter().filter(|wrong| **wrong).count() as u32
            + u32::from(beyond_mean)
            + u32::from(hidden),
        wrong_headline,
        all_hold: cells_hold(map, truth) && map.parts.iter().all(|part| mean_holds(part, truth)),
        mean_holds: interval.contains(mean),
        claims: !map.parts.is_empty() || interval.low > TOLERANCE || interval.high < -TOLERANCE,
        significant: !map.parts.is_empty() || !map.mean_wider.interval.unwrap().contains(0.0),
    }
}

/// The true values of a part's cells.
fn values(part: &Part, truth: &[TrueGrid]) -> Vec<f64> {
    part.cells.iter().map(|(test, cell)| truth[*test].cells[*cell].unwrap()).collect()
}

fn all_cells(map: &PartitionedMap, truth: &[TrueGrid]) -> Vec<f64> {
    let used = map.cells.iter().zip(truth).flat_map(|(cells, grid)| cells.iter().zip(&grid.cells));
    used.filter(|(cell, _)| cell.is_some()).map(|(_, value)| value.unwrap()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn beyond(interval: Interval, value: f64) -> bool {
    !interval.widened(TOLERANCE + 1e-9).contains(value)
}

fn towards(direction: Direction, value: f64) -> f64 {
    if direction == Direction::Faster { value } else { -value }
}

fn is_wrong(part: &Part, truth: &[TrueGrid]) -> bool {
    let values = values(part, truth);
    let judged = if part.evidence == Evidence::OnAverage { vec![mean(&values)] } else { values.clone() };
    let opposite = |value: &f64| towards(part.direction, *value) < -TOLERANCE - 1e-9;
    judged.iter().any(|value| opposite(value) || beyond(part.range, *value))
        || beyond(part.mean.interval.unwrap(), mean(&values))
}

fn mean_holds(part: &Part, truth: &[TrueGrid]) -> bool {
    part.mean.interval.unwrap().widened(1e-9).contains(mean(&values(part, truth)))
}

fn cells_hold(map: &PartitionedMap, truth: &[TrueGrid]) -> bool {
    map.cells.iter().zip(truth).all(|(cells, grid)| {
        let mut pairs = cells.iter().zip(&grid.cells);
        pairs.all(|(cell, value)| cell.is_none_or(|cell| cell.interval.contains(value.unwrap())))
    })
}

/// A cell outside the parts that state each cell exceeds `largest_hidden`, or some cell `largest_opposite`; a row or
/// a column is judged by its mean.
fn hides_more(map: &PartitionedMap, truth: &[TrueGrid]) -> bool {
    let named = |test: usize, cell: usize| {
        let each = map.parts.iter().filter(|part| part.evidence == Evidence::EachCell);
        each.flat_map(|part| &part.cells).any(|named| *named == (test, cell))
    };
    let opposite = |value: f64| match map.headline.answer {
        MapAnswer::OneDirection(direction) => -towards(direction, value) > map.largest_opposite + TOLERANCE,
        _ => false,
    };
    for (test, (cells, grid)) in map.cells.iter().zip(truth).enumerate() {
        for (index, value) in grid.cells.iter().enumerate().filter(|(index, _)| cells[*index].is_some()) {
            let value = value.unwrap();
            if opposite(value) || value.abs() > map.largest_hidden + TOLERANCE && !named(test, index) {
                return true;
            }
        }
        if lines(grid).iter().filter(|line| line.iter().all(|cell| cells[*cell].is_some())).any(|line| {
            let values: Vec<f64> = line.iter().map(|cell| grid.cells[*cell].unwrap()).collect();
            let open = line.iter().all(|cell| !named(test, *cell));
            opposite(mean(&values)) || open && mean(&values).abs() > map.largest_hidden + TOLERANCE
        }) {
            return true;
        }
    }
    false
}

/// Rows and columns as indices of cells.
fn lines(grid: &TrueGrid) -> Vec<Vec<usize>> {
    let row = |row: usize| (0..grid.columns).map(|column| row * grid.columns + column).collect();
    let column = |column: usize| (0..grid.rows).map(|row| row * grid.columns + column).collect();
    (0..grid.rows).map(row).chain((0..grid.columns).map(column)).collect()
}
