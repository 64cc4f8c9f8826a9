//! Cache shares on the grid of a section: the largest rectangle of cells with a share in a range.

use std::collections::BTreeSet;
use std::ops::Range;

use sharebench_model::Value;
use sharebench_model::units::counted;

use crate::types::span::{place_words, spans_of};
use crate::types::{CacheShares, Section};

/// A rectangle of cells.
struct Block {
    rows: Range<usize>,
    columns: Range<usize>,
}

impl Block {
    fn area(&self) -> usize {
        self.rows.len() * self.columns.len()
    }
}

/// Shares on the grid of a section's two axes; none where nothing is known.
pub(crate) struct Shares {
    pub rows: Vec<Option<Value>>,
    pub columns: Vec<Option<Value>>,
    pub cells: Vec<Option<f64>>,
}

impl Shares {
    /// The shares that `share` finds in a system's cells.
    pub(crate) fn new(section: &Section, system: usize, share: impl Fn(&CacheShares) -> Option<f64>) -> Self {
        let at = |row: &crate::types::Row, axis: usize| row.position.get(axis).cloned().flatten();
        let values = |axis: usize| -> Vec<Option<Value>> {
            section.rows.iter().map(|row| at(row, axis)).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let rows = values(0);
        let columns = values(1);
        let mut shares = Self { cells: vec![None; rows.len() * columns.len()], rows, columns };
        for row in &section.rows {
            let found =
                row.outcomes[system].as_ref().and_then(|outcome| share(outcome.cache_shares.as_deref()?));
            let place =
                |values: &[Option<Value>], axis: usize| values.iter().position(|v| *v == at(row, axis));
            if let (Some(i), Some(j), Some(found)) =
                (place(&shares.rows, 0), place(&shares.columns, 1), found)
            {
                shares.cells[i * shares.columns.len() + j] = Some(found);
            }
        }
        shares
    }

    /// Cells whose share lies in `from..to`.
    pub(crate) fn count(&self, from: f64, to: f64) -> usize {
        self.cells.iter().flatten().filter(|share| from <= **share && **share < to).count()
    }

    /// `what` of the largest rectangle of cells in `from..to`, and how many others there are; none without any.
    pub(crate) fn part(&self, section: &Section, from: f64, to: f64, what: &str) -> Option<String> {
        let (n, Block { rows, columns }) = self.largest(from, to)?;
        let spans = spans_of(
            &section.axes,
            [
                (self.rows.as_slice(), (rows.start, rows.end)),
                (self.columns.as_slice(), (columns.start, columns.end)),
            ],
        );
        let elsewhere = match self.count(from, to) - n {
            0 => String::new(),
            more => format!(" and {} elsewhere", counted(more, "cell")),
        };
        let place = place_words(&spans);
        let place = place.strip_prefix("in ").unwrap_or(&place);
        Some(format!("{what} {place}{elsewhere}"))
    }

    /// The rectangle of most cells that all lie in `from..to`, with their number.
    fn largest(&self, from: f64, to: f64) -> Option<(usize, Block)> {
        let known = self.sums(|_| true);
        let inside = self.sums(|share| from <= share && share < to);
        let spans = |len: usize| (0..len).flat_map(move |low| (low + 1..=len).map(move |high| low..high));
        let mut best: Option<(usize, Block)> = None;
        for rows in spans(self.rows.len()) {
            for columns in spans(self.columns.len()) {
                let block = Block { rows: rows.clone(), columns };
                let n = self.within(&inside, &block);
                if n == 0 || n != self.within(&known, &block) {
                    continue;
                }
                // Of equal counts the smallest, which is the tightest around its cells.
                let better = best
                    .as_ref()
                    .is_none_or(|(most, best)| n > *most || n == *most && block.area() < best.area());
                if better {
                    best = Some((n, block));
                }
            }
        }
        best
    }

    /// How many cells of the first rows and columns `holds` is true of.
    fn sums(&self, holds: impl Fn(f64) -> bool) -> Vec<usize> {
        let height = self.rows.len();
        let width = self.columns.len();
        let mut sums = vec![0; (height + 1) * (width + 1)];
        for row in 0..height {
            for column in 0..width {
                let own = usize::from(self.cells[row * width + column].is_some_and(&holds));
                let at = row * (width + 1) + column;
                sums[at + width + 2] = own + sums[at + width + 1] + sums[at + 1] - sums[at];
            }
        }
        sums
    }

    fn within(&self, sums: &[usize], Block { rows, columns }: &Block) -> usize {
        let at = |row: usize, column: usize| sums[row * (self.columns.len() + 1) + column];
        at(rows.end, columns.end) + at(rows.start, columns.start)
            - at(rows.start, columns.end)
            - at(rows.end, columns.start)
    }
}
