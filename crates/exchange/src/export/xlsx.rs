//! A run as a workbook: one sheet per test, file sizes against record sizes, and the columns of the CSV.

use std::collections::BTreeSet;

use sharebench_model::{Value, axis};
use sharebench_results::{Steps, StoredRun, StreamedTable};

use super::ExportError;
use super::grid::{Block, Cells, Rates};
use super::workbook::{Sheet, SheetCell as Cell, Workbook};

/// Name of the sheet with the columns of the CSV.
const FLAT: &str = "all steps";

/// The run as a workbook. Of the steps only their rates are kept in memory; the sheet of all steps grows on disk.
///
/// # Errors
/// The run cannot be read, or has more steps than a sheet has rows.
pub fn xlsx(steps: &dyn Steps) -> Result<Vec<u8>, ExportError> {
    let [down, across] = axes(steps)?;
    let mut rates = Rates::new(down, across);
    let mut moving = BTreeSet::new();
    steps.visit(&mut |step| {
        rates.add(step);
        let tests = [axis::TEST, axis::WORKLOAD].into_iter().filter_map(|axis| step.coordinates.text(axis));
        for test in tests.filter(|_| step.is_rated_in_bytes()) {
            if !moving.contains(test) {
                moving.insert(test.to_owned());
            }
        }
        Ok(())
    })?;
    let mut book = Workbook::default();
    for (block, cells) in &rates.blocks() {
        let name = if block.test.eq_ignore_ascii_case(FLAT) { "test" } else { &block.test };
        let moves = moving.contains(&block.test);
        write_block(book.sheet(name), steps.run(), block, cells, [down, across], moves);
    }
    book.bytes_with_table(FLAT, &StreamedTable::new(steps)?)
}

/// The axes of the sheets' rows and columns.
fn axes(steps: &dyn Steps) -> Result<[&'static str; 2], ExportError> {
    let mut has_sizes = false;
    let mut has_jobs = false;
    steps.visit(&mut |step| {
        has_sizes |= step.coordinates.get(axis::FILE_SIZE).is_some();
        has_jobs |= step.coordinates.get(axis::JOBS).is_some();
        Ok(())
    })?;
    Ok(if has_sizes {
        [axis::FILE_SIZE, axis::RECORD_SIZE]
    } else if has_jobs {
        [axis::JOBS, axis::QUEUE_DEPTH]
    } else {
        [axis::USERS, axis::QUEUE_DEPTH]
    })
}

/// A title, the sizes across, and a row per size down: megabytes (1e6) per second.
fn write_block(
    sheet: &mut Sheet,
    run: &StoredRun,
    block: &Block,
    cells: &Cells,
    axes: [&str; 2],
    moves: bool,
) {
    let target = run.header.targets.get(block.target as usize).map_or("", |target| target.name.as_str());
    let (unit, factor) = if moves { ("MB/s", 1e-6) } else { ("ops/s", 1.0) };
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
