//! The table of a depth study, with the columns of the Windows 2000 study: one line per cell and system.

use sharebench_analysis::{Analysis, Outcome, Row, Section, System, View};
use sharebench_model::axis;
use sharebench_model::units::{show_nanos, three_digits};

use super::table::{Cell, Table, axis_name, position};
use crate::show::{self, NOTHING};

/// The cell and system of a line.
struct Line<'a> {
    section: &'a Section,
    row: &'a Row,
    system: &'a System,
    outcome: &'a Outcome,
}

struct Column {
    heading: &'static str,
    cell: fn(&Line<'_>) -> String,
    /// Name in the note that replaces the column where all lines agree; none for columns that are always shown.
    folds_as: Option<&'static str>,
}

const fn column(heading: &'static str, cell: fn(&Line<'_>) -> String) -> Column {
    Column { heading, cell, folds_as: None }
}

const fn folding(heading: &'static str, folds_as: &'static str, cell: fn(&Line<'_>) -> String) -> Column {
    Column { heading, cell, folds_as: Some(folds_as) }
}

const COLUMNS: [Column; 14] = [
    column("access", |line| line.system.access.word().to_owned()),
    folding("operation", "operation", |line| line.section.title.clone()),
    folding("buf", "buffering", |line| line.outcome.buffering.letter().to_owned()),
    folding("users", "users", |line| line.outcome.users_assigned.to_string()),
    folding("asked", "time asked", |line| {
        line.system.min_sample_time.clone().unwrap_or_else(|| NOTHING.to_owned())
    }),
    folding("file", "file size", |line| position(line.row.coordinates.get(axis::FILE_SIZE))),
    column("actual", |line| show_nanos(line.outcome.measured_ns)),
    column("MB/s", |line| show::megabytes(line.outcome, line.section.unit)),
    column("IO/s", |line| or_nothing(line.outcome.operations_per_s.map(|rate| format!("{rate:.0}")))),
    column("user us", |line| microseconds(line.outcome.cpu.user_ns_per_operation)),
    column("kern us", |line| microseconds(line.outcome.cpu.kernel_ns_per_operation)),
    column("user ns/B", |line| per_byte(line.outcome.cpu.user_ns_per_byte)),
    column("kern ns/B", |line| per_byte(line.outcome.cpu.kernel_ns_per_byte)),
    folding("cached", "cached", |line| show::cached(line.outcome)),
];

fn or_nothing(text: Option<String>) -> String {
    text.unwrap_or_else(|| NOTHING.to_owned())
}

fn microseconds(nanos: Option<f64>) -> String {
    or_nothing(nanos.map(|nanos| three_digits(nanos / 1e3)))
}

const CAPTION: &str = "Client CPU is that of the measuring thread, per operation (us) and per byte (ns); buf: who \
    may buffer, Y client and beyond, S client but writes go through, H beyond the client only, N nobody; cached: share of \
    the bytes that did not cross the wire.";

/// The study's table of a depth section; none for other sections. With `folded`, columns in which all lines
/// agree become one note instead, so that the table fits a terminal.
pub fn study_table(analysis: &Analysis, section: &Section, folded: bool) -> Option<Table> {
    if section.view != View::Depth {
        return None;
    }
    let lines: Vec<Line<'_>> = section.rows.iter().flat_map(|row| lines(analysis, section, row)).collect();
    let mut header: Vec<String> = section.axes.iter().map(|axis| axis_name(axis).to_owned()).collect();
    header.push("target".to_owned());
    let keys = header.len();
    let mut rows: Vec<Vec<Cell>> = lines.iter().map(keys_of).collect();
    let mut agreed = Vec::new();
    for column in &COLUMNS {
        let texts: Vec<String> = lines.iter().map(column.cell).collect();
        let alike = texts.first().filter(|first| texts.iter().all(|text| text == *first));
        match (column.folds_as, alike) {
            (Some(name), Some(value)) if folded => agreed.push(format!("{name} {value}")),
            _ => {
                header.push(column.heading.to_owned());
                rows.iter_mut().zip(texts).for_each(|(row, text)| row.push(text.into()));
            }
        }
    }
    let mut notes = Vec::new();
    if folded {
        notes.push(CAPTION.to_owned());
    }
    if !agreed.is_empty() {
        notes.push(format!("In every line: {}.", agreed.join(", ")));
    }
    Some(Table { caption: CAPTION.to_owned(), header, keys, rows, notes })
}

/// One line per system with a result.
fn lines<'a>(analysis: &'a Analysis, section: &'a Section, row: &'a Row) -> impl Iterator<Item = Line<'a>> {
    let measured = analysis.systems.iter().zip(&row.outcomes);
    measured
        .filter_map(move |(system, outcome)| Some(Line { section, row, system, outcome: outcome.as_ref()? }))
}

fn keys_of(line: &Line<'_>) -> Vec<Cell> {
    let at = line.row.position.iter().map(|value| position(value.as_ref()));
    at.chain([line.system.name.clone()]).map(Cell::from).collect()
}

fn per_byte(nanos: Option<f64>) -> String {
    match nanos {
        None => NOTHING.to_owned(),
        Some(nanos) if nanos < 0.1 => format!("{nanos:.4}"),
        Some(nanos) => three_digits(nanos),
    }
}
