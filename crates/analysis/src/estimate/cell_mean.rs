//! The mean of cells with different numbers of repetitions.

use sharebench_stats::{CellSeries, Estimate, Map, MapOptions, TestGrid, partition_map};

/// Mean log ratio of all cells, at the level and at the wider level.
pub(crate) fn cell_mean(cells: &[CellSeries], level: f64, wider_level: f64) -> Option<(Estimate, Estimate)> {
    let test = TestGrid { rows: 1, columns: cells.len(), cells: cells.to_vec(), axes: 0 };
    let options = MapOptions { tolerance: 0.02_f64.ln_1p(), level, wider_level, seed: 1 };
    let found = partition_map(&Map { tests: vec![test] }, &options)?;
    Some((found.mean, found.mean_wider))
}
