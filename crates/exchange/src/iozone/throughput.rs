//! Throughput mode (`-t`): several processes at once, one number per test and number of processes.

use sharebench_model::ReportedFigures;

use super::header::Header;
use super::{run, step, test_name, warm_reads};
use crate::ImportError;
use crate::cell::{Cell, check_sizes};
use crate::iozone::columns::kib;
use crate::rate::milli_per_s;
use crate::source::{Source, SourceStep};

/// What its lines call the processes of a test, and our name of the test.
const TESTS: [(&str, &str); 11] = [
    ("initial writers", "write"),
    ("rewriters", "rewrite"),
    ("readers", "read"),
    ("re-readers", "reread"),
    ("reverse readers", "backward-read"),
    ("stride readers", "stride-read"),
    ("random readers", "random-read"),
    ("mixed workload", "random-mix"),
    ("random writers", "random-write"),
    ("fwriters", "fwrite"),
    ("freaders", "fread"),
];

const CHILDREN: &str = "Children see throughput for";

/// Every test of every number of processes; none where the file is of another mode.
pub(super) fn read(lines: &[(usize, &str)], header: &Header) -> Result<Option<Source>, ImportError> {
    let Some((first, _)) = lines.iter().find(|(_, line)| line.trim().starts_with(CHILDREN)) else {
        return Ok(None);
    };
    let each = lines.iter().find_map(|(_, line)| sizes(line.trim()));
    let Some((file, record)) = each else {
        let problem = "the line 'Each process writes a ... kByte file in ... kByte records' is missing";
        return Err(ImportError::at(*first, problem));
    };
    let mut steps: Vec<SourceStep> = Vec::new();
    let mut zeros = 0;
    for (number, line) in lines {
        let Some(rest) = line.trim().strip_prefix(CHILDREN) else { continue };
        let cell = cell(rest, file, record, header).map_err(|problem| ImportError::at(*number, problem))?;
        if cell.milli == 0 {
            zeros += 1;
            continue;
        }
        let step = step(&cell, header);
        if steps.iter().any(|other| other.coordinates == step.coordinates) {
            let problem = format!("{} is listed twice; import one run at a time", step.coordinates);
            return Err(ImportError::at(*number, problem));
        }
        steps.push(step);
    }
    if steps.is_empty() {
        return Err(ImportError::at(*first, "every number is zero: nothing was measured"));
    }
    let mut source = header.source();
    if zeros > 0 {
        source.notes.push(format!("{zeros} tests without throughput were left out"));
    }
    source.notes.extend(warm_reads(header, &steps));
    source.runs = vec![run(steps)];
    Ok(Some(source))
}

/// `Each process writes a 256 kByte file in 4 kByte records`, in KiB.
fn sizes(line: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words.as_slice() {
        ["Each", _, "writes", "a", file, _, "file", "in", record, _, "records"] => {
            Some((kib(file).ok()?, kib(record).ok()?))
        }
        _ => None,
    }
}

/// ` 2 initial writers   =  955451.50 kB/sec`.
fn cell(rest: &str, file: u64, record: u64, header: &Header) -> Result<Cell, String> {
    let odd = || format!("'{CHILDREN}{rest}' is not understood");
    let (who, rate) = rest.split_once('=').ok_or_else(odd)?;
    let (count, name) = who.trim().split_once(' ').ok_or_else(odd)?;
    let jobs: u64 = count.parse().ok().filter(|count| (1..=1_000_000).contains(count)).ok_or_else(odd)?;
    let name = name.trim();
    let (_, test) = TESTS
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| format!("the test '{name}' is not known; is it from a newer iozone?"))?;
    let (rate, unit) = rate.trim().split_once(' ').ok_or_else(odd)?;
    if !matches!(unit.trim(), "kB/sec" | "KB/sec" | "ops/sec") {
        return Err(format!("'{unit}' is not a known unit"));
    }
    check_sizes(Some(file * 1024), Some(record * 1024))?;
    Ok(Cell {
        test: test_name(test, header),
        file_size: Some(file * 1024),
        record_size: Some(record * 1024),
        queue_depth: 1,
        jobs: Some(jobs),
        users: None,
        milli: milli_per_s(rate, header.unit)?,
        unit: header.unit,
        reported: ReportedFigures::default(),
    })
}
