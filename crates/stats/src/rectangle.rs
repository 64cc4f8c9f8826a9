//! Neighbouring cells of a grid.

/// Cells `rows` x `columns`, ends excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rectangle {
    /// First row and the one after the last.
    pub rows: (usize, usize),
    /// First column and the one after the last.
    pub columns: (usize, usize),
}

impl Rectangle {
    /// True when the two have a cell in common.
    pub(crate) fn overlaps(self, other: Self) -> bool {
        let common = |a: (usize, usize), b: (usize, usize)| a.0 < b.1 && b.0 < a.1;
        common(self.rows, other.rows) && common(self.columns, other.columns)
    }
}
