//! The imported tables of an analysis: the rates of one system in one section, on their grid.

use std::collections::BTreeSet;

use sharebench_model::Value;

use crate::align::Aligned;
use crate::estimate::Estimated;
use crate::types::{Row, Section};

/// A place without a row.
const NOT_MEASURED: u32 = u32::MAX;

/// The rates of one system in one section.
pub(super) struct Table<'a> {
    pub section: usize,
    pub system: usize,
    /// Values of the first axis, or none alone where the section has one axis.
    pub rows: Vec<Option<Value>>,
    /// Values of the last axis.
    pub columns: Vec<Option<Value>>,
    /// Row of the section per place, line by line, or [`NOT_MEASURED`].
    places: Vec<u32>,
    described: &'a Section,
}

/// All of them, those of runs that this program measured left out.
pub(super) fn tables<'a>(aligned: &Aligned<'_>, estimated: &'a Estimated) -> Vec<Table<'a>> {
    let imported = |system: &usize| aligned.runs[aligned.systems[*system].run].header.is_imported();
    let systems: Vec<usize> = (0..aligned.systems.len()).filter(imported).collect();
    let sections = estimated.sections.iter().enumerate();
    sections
        .flat_map(|(index, section)| systems.iter().map(move |system| Table::new(index, section, *system)))
        .collect()
}

impl<'a> Table<'a> {
    fn new(index: usize, described: &'a Section, system: usize) -> Self {
        // A list of the measured rows would take more memory than the table.
        let measured = || described.rows.iter().enumerate().filter(|(_, row)| row.outcomes[system].is_some());
        let last = described.axes.len().saturating_sub(1);
        let of = |row: &Row, axis: usize| row.position.get(axis).cloned().flatten();
        let first = |row: &Row| if last == 0 { None } else { of(row, 0) };
        let rows: BTreeSet<Option<Value>> = measured().map(|(_, row)| first(row)).collect();
        let columns: BTreeSet<Option<Value>> = measured().map(|(_, row)| of(row, last)).collect();
        let rows: Vec<Option<Value>> = rows.into_iter().collect();
        let columns: Vec<Option<Value>> = columns.into_iter().collect();
        let mut places = vec![NOT_MEASURED; rows.len() * columns.len()];
        for (at, row) in measured() {
            let line = rows.binary_search(&first(row));
            if let (Ok(line), Ok(column)) = (line, columns.binary_search(&of(row, last))) {
                places[line * columns.len() + column] = at as u32;
            }
        }
        Self { section: index, system, rows, columns, places, described }
    }

    /// Row of the section at a place, if it was measured there.
    pub fn at(&self, row: usize, column: usize) -> Option<usize> {
        let place = self.places[row * self.columns.len() + column];
        (place != NOT_MEASURED).then_some(place as usize)
    }

    /// Rows of the section in one line of the table.
    pub fn row(&self, row: usize) -> Vec<Option<usize>> {
        (0..self.columns.len()).map(|column| self.at(row, column)).collect()
    }

    /// Rows of the section in one column of the table.
    pub fn column(&self, column: usize) -> Vec<Option<usize>> {
        (0..self.rows.len()).map(|row| self.at(row, column)).collect()
    }

    /// The rate at a row of the section.
    pub fn rate(&self, row: usize) -> Option<f64> {
        let outcome = self.described.rows[row].outcomes[self.system].as_ref()?;
        Some(outcome.rate.value).filter(|rate| *rate > 0.0)
    }

    /// The time from which that rate was computed, nanoseconds.
    pub fn measured_ns(&self, row: usize) -> f64 {
        self.described.rows[row].outcomes[self.system].as_ref().map_or(0.0, |outcome| outcome.measured_ns)
    }
}
