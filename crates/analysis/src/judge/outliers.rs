//! Cells of imported tables that do not fit the surface of their neighbours (docs/measure/measurement-rules.md R11).

use std::collections::{BTreeMap, BTreeSet};

use sharebench_model::Value;
use sharebench_model::units::three_digits;
use sharebench_stats::{LogTable, Outlier, outliers};

use crate::align::Aligned;
use crate::estimate::Estimated;
use crate::judge::tables::{Table, tables};
use crate::types::span::position_words;
use crate::types::{Sentence, Tone};

/// Fewest positions of an axis on which a surface has a shape.
const FEWEST: usize = 3;
/// Factors from here on are errors of units even if several systems show them in the same cell.
const PREFIX: f64 = 1000.0;

/// A cell that does not fit: its table, its row of the section, and the error.
struct Found {
    table: usize,
    row: usize,
    outlier: Outlier,
}

/// A line of a table: its index, and the rows of the section on the line.
type StackedLine = (usize, Vec<Option<usize>>);

/// What the lines of a stack have in common: the axes of their section, and the values along a line.
type StackKey<'a> = (&'a [String], &'a [Option<Value>]);

/// The outliers of all imported tables. Runs that this program measured are left alone: their units are right, and their
/// scatter is known from repetitions.
pub(super) fn sentences(aligned: &Aligned<'_>, estimated: &Estimated) -> Vec<Sentence> {
    let tables = tables(aligned, estimated);
    let mut found = Vec::new();
    // Tables of fewer rows than a surface needs are stacked: what the systems and tests have in common predicts a cell.
    let mut stacks: BTreeMap<StackKey<'_>, Vec<StackedLine>> = BTreeMap::new();
    for (index, table) in tables.iter().enumerate() {
        let rows = table.rows.len();
        let columns = table.columns.len();
        if rows >= FEWEST && columns >= FEWEST {
            found.extend(of_surface(index, table));
        } else if rows.max(columns) >= FEWEST {
            let axes = estimated.sections[table.section].axes.as_slice();
            let (lines, values) = if columns >= FEWEST {
                ((0..rows).map(|row| table.row(row)).collect::<Vec<_>>(), &table.columns)
            } else {
                ((0..columns).map(|column| table.column(column)).collect(), &table.rows)
            };
            let stack = stacks.entry((axes, values.as_slice())).or_default();
            stack.extend(lines.into_iter().map(|line| (index, line)));
        }
    }
    for lines in stacks.values() {
        found.extend(of_stack(&tables, lines));
    }
    let is_alone = |one: &&Found| is_explained(one) || !is_shared(&tables, &found, one);
    found.iter().filter(is_alone).map(|one| sentence(aligned, estimated, &tables, one)).collect()
}

/// Outliers of one table.
fn of_surface(index: usize, table: &Table<'_>) -> Vec<Found> {
    let rows = table.rows.len();
    let columns = table.columns.len();
    let log = |cell: usize| Some(table.rate(table.at(cell / columns, cell % columns)?)?.ln());
    let logs = (0..rows * columns).map(log).collect();
    let found = outliers(&LogTable { rows, columns, logs, ordered_rows: true }).into_iter();
    found
        .filter_map(|outlier| {
            Some(Found { table: index, row: table.at(outlier.row, outlier.column)?, outlier })
        })
        .collect()
}

/// Outliers of stacked lines, each with the index of its table.
fn of_stack(tables: &[Table<'_>], lines: &[StackedLine]) -> Vec<Found> {
    let columns = lines.first().map_or(0, |(_, line)| line.len());
    let log = |(table, row): (usize, Option<usize>)| Some(tables[table].rate(row?)?.ln());
    let cells = lines.iter().flat_map(|(table, line)| line.iter().map(move |row| (*table, *row)));
    let logs = cells.map(log).collect();
    let found = outliers(&LogTable { rows: lines.len(), columns, logs, ordered_rows: false });
    let of = |outlier: Outlier| {
        let (table, line) = &lines[outlier.row];
        Some(Found { table: *table, row: line[outlier.column]?, outlier })
    };
    found.into_iter().filter_map(of).collect()
}

/// A prefix of a unit explains it, which no server does.
fn is_explained(found: &Found) -> bool {
    found.outlier.factors.iter().any(|factor| *factor >= PREFIX)
}

/// Half of the systems or more show it: a property of the test.
fn is_shared(tables: &[Table<'_>], all: &[Found], one: &Found) -> bool {
    let section = tables[one.table].section;
    let same = |other: &&Found| {
        (tables[other.table].section, other.row) == (section, one.row)
            && other.outlier.log_factor * one.outlier.log_factor > 0.0
    };
    let showing: BTreeSet<usize> = all.iter().filter(same).map(|other| tables[other.table].system).collect();
    let measured =
        tables.iter().filter(|table| table.section == section && table.rate(one.row).is_some()).count();
    showing.len() > 1 && showing.len() * 2 >= measured
}

fn sentence(aligned: &Aligned<'_>, estimated: &Estimated, tables: &[Table<'_>], found: &Found) -> Sentence {
    let table = &tables[found.table];
    let section = &estimated.sections[table.section];
    let at = section.axes.iter().zip(&section.rows[found.row].position);
    let place: Vec<String> = at
        .filter(|(_, value)| value.is_some())
        .map(|(axis, value)| position_words(axis, value.as_ref()))
        .collect();
    let log = found.outlier.log_factor;
    let rate = table.rate(found.row).unwrap_or_default();
    let text = format!(
        "{}: {} shows {} at {}, {} times {} than the cells around it suggest ({}): {}.",
        section.title,
        aligned.systems[table.system].name,
        section.unit.show(rate),
        place.join(", "),
        three_digits(log.abs().exp()),
        if log < 0.0 { "less" } else { "more" },
        section.unit.show(rate / log.exp()),
        reason(&found.outlier.factors),
    );
    Sentence::new(Tone::Note, text).about(table.section)
}

/// What may have caused it.
fn reason(factors: &[f64]) -> String {
    if factors.is_empty() {
        return "a slip in the table, or a stall".to_owned();
    }
    let factors: Vec<String> = factors.iter().map(f64::to_string).collect();
    format!("a factor of {}, as a wrong unit or a lost digit makes it", factors.join(" or "))
}
