//! The cells of a section on its axes, as the statistics of maps take them.

use std::collections::BTreeSet;

use sharebench_model::Value;
use sharebench_stats::{CellSeries, Map, TestGrid};

use crate::estimate::pairing::Pairs;
use crate::types::{Row, Section};

/// One section's cells, laid out on its (one or two) axes.
pub(crate) struct Grid<'a> {
    /// Index of the section.
    pub index: usize,
    pub section: &'a Section,
    /// Positions on the first axis.
    pub rows: Vec<Option<Value>>,
    /// Positions on the second axis.
    pub columns: Vec<Option<Value>>,
    /// Row of the section and its pairs, per place; none where there is nothing to compare.
    pub cells: Vec<Option<(usize, &'a Pairs)>>,
}

/// Where a row lies on one of its section's axes.
fn position(row: &Row, axis: usize) -> Option<&Value> {
    row.position.get(axis)?.as_ref()
}

impl<'a> Grid<'a> {
    pub(crate) fn new(
        index: usize,
        section: &'a Section,
        pairs: &'a [Option<Pairs>],
        is_wanted: impl Fn(&&Pairs) -> bool,
    ) -> Self {
        let values = |axis: usize| -> Vec<Option<Value>> {
            let all: BTreeSet<Option<&Value>> = section.rows.iter().map(|row| position(row, axis)).collect();
            all.into_iter().map(Option::<&Value>::cloned).collect()
        };
        let rows = values(0);
        let columns = values(1);
        let mut cells: Vec<_> = (0..rows.len() * columns.len()).map(|_| None).collect();
        for (at, (row, pair)) in section.rows.iter().zip(pairs).enumerate() {
            let Some(pair) = pair.as_ref().filter(|pair| is_wanted(pair)) else { continue };
            let place = |values: &[Option<Value>], axis: usize| {
                values.binary_search_by(|value| value.as_ref().cmp(&position(row, axis))).ok()
            };
            if let (Some(i), Some(j)) = (place(&rows, 0), place(&columns, 1)) {
                cells[i * columns.len() + j] = Some((at, pair));
            }
        }
        Self { index, section, rows, columns, cells }
    }

    fn has_axes_of(&self, other: &Self) -> bool {
        self.section.axes == other.section.axes && self.rows == other.rows && self.columns == other.columns
    }
}

/// The map of these sections. Sections with equal positions on equal axes have the same number of their axes.
pub(crate) fn map_of(grids: &[Grid<'_>]) -> Map {
    let series = |cell: &Option<(usize, &Pairs)>| cell.map_or_else(CellSeries::default, |(_, p)| p.series());
    let test = |grid: &Grid<'_>| TestGrid {
        rows: grid.rows.len(),
        columns: grid.columns.len(),
        cells: grid.cells.iter().map(series).collect(),
        axes: grids.iter().position(|other| other.has_axes_of(grid)).unwrap_or(0),
    };
    Map { tests: grids.iter().map(test).collect() }
}
