//! Cells that are not measured on every target.

use std::collections::BTreeSet;

/// Cells that a target cannot measure because of its limits, such as the largest record of one request. The run
/// measures them on the other targets. It is filled once, after the targets are connected and before the first step, so
/// that a resumed run skips the same cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedCells {
    /// Index into [`crate::ResolvedPlan::cells`], then into its targets.
    pairs: BTreeSet<(usize, u32)>,
}

impl SkippedCells {
    /// Skips a cell on a target.
    pub fn skip(&mut self, cell: usize, target: u32) {
        self.pairs.insert((cell, target));
    }

    /// True if the target does not measure the cell.
    pub fn contains(&self, cell: usize, target: u32) -> bool {
        // Nearly always empty; then this costs a comparison.
        !self.pairs.is_empty() && self.pairs.contains(&(cell, target))
    }
}
