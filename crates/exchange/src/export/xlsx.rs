//! A run as a workbook: one sheet per test, file sizes against record sizes, and the columns of the CSV.

use std::collections::BTreeSet;

use sharebench_model::{Value, axis};
use sharebench_results::{Entry, StoredRun, table};

use super::ExportError;
use super::grid::{Block, Cells, blocks};
use super::workbook::{Sheet, SheetCell as Cell, Workbook};

/// Name of the sheet with the columns of the CSV.
const FLAT: &str = "all steps";

/// The run as a workbook.
pub fn xlsx(run: &StoredRun) -> Result<Vec<u8>, ExportError> {
    let sized = run.steps.iter().any(|step| step.coordinates.get(axis::FILE_SIZE).is_some());
    let jobs = run.steps.iter().any(|step| step.coordinates.get(axis::JOBS).is_some());
    let (down, across) = if sized {
        (axis::FILE_SIZE, axis::RECORD_SIZE)
    } else if jobs {
        (axis::JOBS, axis::QUEUE_DEPTH)
    } else {
        (axis::USERS, axis::QUEUE_DEPTH)
    };
    let mut book = Workbook::default();
    for (block, cells) in &blocks(run, down, across) {
        let name = if block.test.eq_ignore_ascii_case(FLAT) { "test" } else { &block.test };
        write_block(book.sheet(name), run, block, cells, [down, across]);
    }
    flat(book.sheet(FLAT), run);
    book.bytes()
}

/// A title, the sizes across, and a row per size down: megabytes (1e6) per second.
fn write_block(sheet: &mut Sheet, run: &StoredRun, block: &Block, cells: &Cells, axes: [&str; 2]) {
    let target = run.header.targets.get(block.target as usize).map_or("", |target| target.name.as_str());
    let moved = run.steps.iter().any(|step| {
        step.measure.bytes.total() > 0
            && [axis::TEST, axis::WORKLOAD]
                .iter()
                .any(|axis| step.coordinates.text(axis) == Some(&block.test))
    });
    let (unit, factor) = if moved { ("MB/s", 1e-6) } else { ("ops/s", 1.0) };
    let title = format!("{target} {}", block.rest);
    sheet.row([Cell::Text(title.trim().to_owned()), Cell::Text(format!("median, {unit}"))]);
    let columns: BTreeSet<&Option<Value>> = cells.keys().map(|(_, column)| column).collect();
    let corner = format!("{} down, {} across", axes[0], axes[1]);
    let head = columns.iter().map(|value| label(value.as_ref()));
    sheet.row(std::iter::once(Cell::Text(corner)).chain(head));
    let rows: BTreeSet<&Option<Value>> = cells.keys().map(|(row, _)| row).collect();
    for row in rows {
        let rate = |column: &&Option<Value>| {
            let found = cells.get(&(row.clone(), (*column).clone()));
            found.map_or(Cell::Empty, |rate| Cell::Number(rate * factor))
        };
        sheet.row(std::iter::once(label(row.as_ref())).chain(columns.iter().map(rate)));
    }
    sheet.row([]);
}

fn label(value: Option<&Value>) -> Cell {
    match value {
        Some(Value::Count(count)) => Cell::Whole(*count),
        Some(other) => Cell::Text(other.to_string()),
        None => Cell::Empty,
    }
}

/// The columns of the CSV.
fn flat(sheet: &mut Sheet, run: &StoredRun) {
    let table = table(run);
    sheet.header(table.header);
    for row in table.rows {
        sheet.row(row.into_iter().map(|entry| match entry {
            Entry::Empty => Cell::Empty,
            Entry::Number(number) => Cell::Whole(number),
            Entry::Text(text) => Cell::Text(text),
        }));
    }
}
