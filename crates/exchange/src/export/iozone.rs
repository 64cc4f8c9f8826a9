//! A run as the `-R` matrices of `IOzone`, which older tools read.

use std::collections::BTreeSet;
use std::fmt::Write;

use sharebench_model::{Coordinates, Value, axis};
use sharebench_results::StoredRun;

use super::ExportError;
use super::grid::{Block, Cells, Rates};
use crate::iozone::TITLES;

/// Bytes of the unit of its sizes.
const KIB: u64 = 1024;

/// The text, and what had no place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IozoneText {
    /// The matrices.
    pub text: String,
    /// What was left out, in sentences for the user.
    pub notes: Vec<String>,
}

/// One matrix per test that `IOzone` knows: whole KiB per second, medians over repetitions, 0 where nothing was
/// measured. The run must have one target, and one step at most for each test, file size and record size.
pub fn iozone_text(run: &StoredRun) -> Result<IozoneText, ExportError> {
    let unrepresentable = |problem: String| Err(ExportError::Unrepresentable(problem));
    if run.header.targets.len() > 1 {
        let names: Vec<&str> = run.header.targets.iter().map(|target| target.name.as_str()).collect();
        return unrepresentable(format!(
            "IOzone's text holds one system, and the run has {}; choose one with --target",
            names.join(", ")
        ));
    }
    let mut rates = Rates::new(axis::FILE_SIZE, axis::RECORD_SIZE);
    run.steps.iter().for_each(|step| rates.add(step));
    let blocks = rates.blocks();
    let rests: BTreeSet<&Coordinates> = blocks.keys().map(|block| &block.rest).collect();
    if rests.len() > 1 {
        let found: Vec<String> = rests.iter().take(3).map(|rest| format!("'{rest}'")).collect();
        return unrepresentable(format!(
            "IOzone's text has file and record sizes only, and the run varies more: {} ...",
            found.join(", ")
        ));
    }
    let mut text = format!("\tsharebench {}\n\tOutput is in kBytes/sec\n", env!("CARGO_PKG_VERSION"));
    let clock = run.header.environment.get("clock_resolution_ns").and_then(|fact| fact.parse::<u64>().ok());
    if let Some(nanos) = clock.filter(|nanos| *nanos > 0) {
        let seconds = nanos / 1_000_000_000;
        let rest = nanos % 1_000_000_000;
        let _ = writeln!(text, "\tTime Resolution = {seconds}.{rest:09} seconds.");
    }
    text.push_str("Excel output is below:\n");
    let mut notes = Vec::new();
    let mut written = 0;
    for (title, test) in TITLES {
        let Some((_, cells)) = blocks.iter().find(|(block, _)| block.test == test) else { continue };
        let (matrix, odd) = matrix(cells);
        if odd > 0 {
            notes.push(format!("{test}: {odd} cells have sizes that are no whole number of kB"));
        }
        if let Some(matrix) = matrix {
            let _ = write!(text, "\n\"{title}\"\n{matrix}");
            written += 1;
        }
    }
    let known = |block: &&Block| TITLES.iter().any(|(_, test)| *test == block.test);
    for block in blocks.keys().filter(|block| !known(block)) {
        notes.push(format!("{}: IOzone has no matrix of it", block.test));
    }
    if written == 0 {
        return unrepresentable(format!(
            "nothing of the run has a place in IOzone's text; {}",
            notes.join("; ")
        ));
    }
    Ok(IozoneText { text, notes })
}

/// A matrix, none when no cell fits it, and how many do not.
fn matrix(cells: &Cells) -> (Option<String>, usize) {
    let whole = |value: &Option<Value>| match value {
        Some(Value::Bytes(bytes)) if bytes.is_multiple_of(KIB) => Some(bytes / KIB),
        _ => None,
    };
    let fitting =
        cells.iter().filter_map(|((file, record), rate)| Some(((whole(file)?, whole(record)?), *rate)));
    let fitting: std::collections::BTreeMap<(u64, u64), f64> = fitting.collect();
    let odd = cells.len() - fitting.len();
    let records: BTreeSet<u64> = fitting.keys().map(|(_, record)| *record).collect();
    let files: BTreeSet<u64> = fitting.keys().map(|(file, _)| *file).collect();
    if fitting.is_empty() {
        return (None, odd);
    }
    let quoted: Vec<String> = records.iter().map(|record| format!("\"{record}\"")).collect();
    let mut text = format!("        {}\n", quoted.join("  "));
    for file in files {
        let row = records.iter().filter(|record| **record <= file);
        let rate =
            |record: &u64| fitting.get(&(file, *record)).map_or(0.0, |rate| (rate / KIB as f64).round());
        let row: Vec<String> = row.map(|record| format!("{:.0}", rate(record))).collect();
        let _ = writeln!(text, "\"{file}\"   {} ", row.join("  "));
    }
    (Some(text), odd)
}
