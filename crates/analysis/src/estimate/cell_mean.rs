//! The mean of cells with different numbers of repetitions.

use sharebench_stats::{CellSeries, Estimate, Map, TestGrid, map_mean};

/// Mean log ratio of all cells, at the level and at the wider level.
pub(crate) fn cell_mean(cells: Vec<CellSeries>, level: f64, wider_level: f64) -> Option<[Estimate; 2]> {
    let test = TestGrid { rows: 1, columns: cells.len(), cells, axes: 0 };
    map_mean(&Map { tests: vec![test] }, [level, wider_level])
}
