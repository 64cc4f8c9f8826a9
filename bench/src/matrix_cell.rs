//! Cells of IOzone's matrix.

use std::collections::BTreeMap;

/// Test, file size in KiB, record size in KiB.
pub type Cell = (usize, u64, u64);
/// KiB per second of each cell.
pub type Surface = BTreeMap<Cell, f64>;
