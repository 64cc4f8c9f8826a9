//! One line per test: what a reader looks at before the cells.

use sharebench_analysis::{Analysis, Section};

use super::table::{Cell, Table};
use crate::show;

/// Per test: cells, slowest and fastest of each system if `rates`, and the summary of each of these comparisons.
pub fn tests_table(analysis: &Analysis, rates: bool, comparisons: &[usize]) -> Table {
    let shown = if rates || comparisons.is_empty() { 0..analysis.systems.len() } else { 0..0 };
    let mut header = vec!["test".to_owned(), "cells".to_owned()];
    header.extend(shown.clone().map(|system| analysis.systems[system].name.clone()));
    header.extend(comparisons.iter().map(|comparison| analysis.comparisons[*comparison].name.clone()));
    let rows = analysis.sections.iter().enumerate().map(|(index, section)| {
        let mut cells: Vec<Cell> = vec![section.title.clone().into(), section.rows.len().to_string().into()];
        cells.extend(shown.clone().map(|system| Cell::from(range(section, system))));
        cells.extend(comparisons.iter().map(|comparison| test_cell(analysis, *comparison, index)));
        cells
    });
    Table { caption: String::new(), header, keys: 1, rows: rows.collect(), notes: Vec::new() }
}

/// The summary of a comparison in one test.
pub fn test_cell(analysis: &Analysis, comparison: usize, section: usize) -> Cell {
    let summary = analysis.comparisons[comparison].sections.get(section).and_then(Option::as_ref);
    summary.map_or_else(
        || show::NOTHING.to_owned().into(),
        |summary| Cell { text: show::estimate(&summary.typical), standing: Some(summary.verdict) },
    )
}

/// Slowest to fastest cell of a system: `39.0 to 140 MB/s`.
fn range(section: &Section, system: usize) -> String {
    let rates = section.rows.iter().filter_map(|row| Some(row.outcomes[system].as_ref()?.rate.value));
    let (least, most) = rates.fold((f64::INFINITY, 0.0_f64), |(l, m), rate| (l.min(rate), m.max(rate)));
    if most == 0.0 {
        return show::NOTHING.to_owned();
    }
    section.unit.show_range(least, most)
}
