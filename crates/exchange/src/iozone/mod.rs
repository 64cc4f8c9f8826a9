//! Results of `IOzone`: the table of a run, its `-R` matrices, its throughput mode.
//!
//! Written from its manual and from outputs of version 3.489; its source was never read.

mod columns;
mod header;
mod matrices;
mod throughput;

use std::collections::BTreeMap;

use sharebench_model::{Facts, ReportedFigures, Value, axis};

use crate::cell::{Cell, writes};
use crate::iozone::header::Header;
use crate::source::{Source, SourceRun, SourceStep};
use crate::{ImportError, text};

pub(crate) use matrices::TITLES;

/// Which of its forms is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The table; matrices in the same file must agree with it.
    Table,
    /// The matrices; a table in the same file is not looked at.
    Matrices,
}

/// Test, file size in KiB, record size in KiB.
type Position = (String, u64, u64);

/// A number of a table, in the file's own unit, with its line. Zero means: not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReportedRate {
    line: usize,
    milli: u64,
}

/// All numbers of a table or of its matrices.
type Grid = BTreeMap<Position, ReportedRate>;

/// True when the text looks like one of `IOzone`'s outputs.
pub(crate) fn looks_like(text: &str) -> bool {
    text.contains("Iozone: Performance Test") || text.contains("Writer report\"") || columns::is_in(text)
}

/// Reads the text that `IOzone` printed.
pub(crate) fn read(text: &str, form: Form) -> Result<Source, ImportError> {
    let lines = text::lines(text);
    let header = Header::read(&lines)?;
    if let Some(source) = throughput::read(&lines, &header)? {
        return Ok(source);
    }
    let table = columns::read(&lines, &header)?;
    let matrices = matrices::read(&lines, &header)?;
    let grid = match form {
        Form::Table => table.or_else(|| matrices.clone()).ok_or_else(nothing)?,
        Form::Matrices => matrices.clone().ok_or_else(|| {
            ImportError::whole("there is no matrix such as \"Writer report\"; was iozone run with -R?")
        })?,
    };
    if let (Form::Table, Some(matrices)) = (form, &matrices) {
        check_agreement(&grid, matrices)?;
    }
    source(&header, &grid)
}

fn nothing() -> ImportError {
    ImportError::whole("neither IOzone's table ('kB reclen write ...') nor its -R matrices are in the file")
}

/// Table and matrices of one output say the same.
fn check_agreement(table: &Grid, matrices: &Grid) -> Result<(), ImportError> {
    for (position, rate) in matrices.iter().filter(|(_, rate)| rate.milli > 0) {
        let (test, file, record) = position;
        if table.get(position).is_none_or(|other| other.milli != rate.milli) {
            let problem = format!(
                "the matrix says something else of {test} with {file} kB and records of {record} kB than the table"
            );
            return Err(ImportError::at(rate.line, problem));
        }
    }
    Ok(())
}

/// The name of a test as its options make it.
fn test_name(test: &str, header: &Header) -> String {
    if header.mmap { format!("mmap-{test}") } else { test.to_owned() }
}

fn source(header: &Header, grid: &Grid) -> Result<Source, ImportError> {
    let mut steps = Vec::new();
    for ((test, file_kib, record_kib), rate) in grid.iter().filter(|(_, rate)| rate.milli > 0) {
        let cell = Cell {
            test: test_name(test, header),
            file_size: Some(file_kib * 1024),
            record_size: Some(record_kib * 1024),
            queue_depth: 1,
            jobs: None,
            users: None,
            milli: rate.milli,
            unit: header.unit,
            reported: ReportedFigures::default(),
        };
        steps.push(step(&cell, header));
    }
    if steps.is_empty() {
        return Err(ImportError::whole("every number is zero: nothing was measured"));
    }
    let zeros = grid.len() - steps.len();
    let mut source = header.source();
    if zeros > 0 {
        source
            .notes
            .push(format!("{zeros} zero cells were left out: IOzone writes 0 where it did not measure"));
    }
    source.notes.extend(warm_reads(header, &steps));
    source.runs = vec![run(steps)];
    Ok(source)
}

/// Says that `IOzone`'s first read is no cold one, where the file has such reads.
fn warm_reads(header: &Header, steps: &[SourceStep]) -> Option<String> {
    let first = |step: &SourceStep| matches!(step.coordinates.text(axis::TEST), Some("read" | "fread"));
    let note = "IOzone reads what its writes left in the client's cache, unless it remounts (-U): compare its read \
                with our reread, since our read drops the cache first";
    (!header.reads_cold() && steps.iter().any(first)).then(|| note.to_owned())
}

fn run(steps: Vec<SourceStep>) -> SourceRun {
    SourceRun { name: String::new(), targets: vec![("iozone".to_owned(), Facts::new())], steps }
}

/// A cell with the axes that its options put it on.
fn step(cell: &Cell, header: &Header) -> SourceStep {
    let mut coordinates = cell.coordinates();
    if header.direct {
        coordinates = coordinates.with("cache", Value::text("unbuffered"));
    }
    if header.sync {
        coordinates = coordinates.with("sync", Value::text("write-through"));
    }
    // Closing and flushing are timed in its writing tests only.
    let included = match (header.flush, header.close) {
        (true, true) => "flush+close",
        (true, false) => "flush",
        (false, true) => "close",
        (false, false) => "",
    };
    if !included.is_empty() && writes(&cell.test) {
        coordinates = coordinates.with("included", Value::text(included));
    }
    SourceStep::new(coordinates, cell.measure())
}
