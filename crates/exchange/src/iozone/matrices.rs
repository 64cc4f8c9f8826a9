//! The `-R` matrices: one per test, record sizes along the top, file sizes down the side.

use super::columns::kib;
use super::header::Header;
use super::{Grid, ReportedRate};
use crate::ImportError;
use crate::cell::check_sizes;
use crate::rate::milli_per_s;

/// Titles of the matrices and the tests they are of, in `IOzone`'s order.
pub(crate) const TITLES: [(&str, &str); 13] = [
    ("Writer report", "write"),
    ("Re-writer report", "rewrite"),
    ("Reader report", "read"),
    ("Re-Reader report", "reread"),
    ("Random read report", "random-read"),
    ("Random write report", "random-write"),
    ("Backward read report", "backward-read"),
    ("Record rewrite report", "record-rewrite"),
    ("Stride read report", "stride-read"),
    ("Fwrite report", "fwrite"),
    ("Re-Fwrite report", "frewrite"),
    ("Fread report", "fread"),
    ("Re-Fread report", "freread"),
];

/// Every number of every matrix; none where there is no matrix.
pub(super) fn read(lines: &[(usize, &str)], header: &Header) -> Result<Option<Grid>, ImportError> {
    let mut grid = Grid::new();
    let mut seen: Vec<(&str, usize)> = Vec::new();
    let mut rest = lines.iter().peekable();
    while let Some((number, line)) = rest.next() {
        let Some(title) = title(line) else { continue };
        let Some((_, test)) = TITLES.iter().find(|(known, _)| known.eq_ignore_ascii_case(title)) else {
            return Err(ImportError::at(
                *number,
                format!("the matrix '{title}' is not known; is it a newer iozone's?"),
            ));
        };
        if let Some((_, first)) = seen.iter().find(|(other, _)| other == test) {
            let problem = format!("a second '{title}' (the first at line {first}); split the file");
            return Err(ImportError::at(*number, problem));
        }
        seen.push((test, *number));
        let records = match rest.next() {
            Some((number, line)) => quoted_sizes(*number, line)?,
            None => return Err(ImportError::at(*number, format!("the file ends within '{title}'"))),
        };
        let mut rows = Vec::new();
        while let Some((number, line)) = rest.next_if(|(_, line)| line.trim_start().starts_with('"')) {
            rows.push((*number, read_row(*number, line, test, &records, header, &mut grid)?));
        }
        check_rows(test, &rows, &records, &grid)?;
        if rows.is_empty() {
            return Err(ImportError::at(*number, format!("'{title}' has no row: the file was cut")));
        }
    }
    Ok((!seen.is_empty()).then_some(grid))
}

/// `"Writer report"`: one quoted text that names a report.
fn title(line: &str) -> Option<&str> {
    let inner = line.trim().strip_prefix('"')?.strip_suffix('"')?.trim();
    inner.to_ascii_lowercase().ends_with(" report").then_some(inner)
}

/// `"4"  "8"  "16"`: record sizes in KiB.
fn quoted_sizes(number: usize, line: &str) -> Result<Vec<u64>, ImportError> {
    let quoted = |word: &str| {
        let inner = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
        kib(inner.ok_or_else(|| format!("'{word}' is no record size in quotes"))?)
    };
    let sizes: Result<Vec<u64>, String> = line.split_ascii_whitespace().map(quoted).collect();
    let sizes = sizes.map_err(|problem| ImportError::at(number, problem))?;
    if sizes.is_empty() || !sizes.is_sorted_by(|one, next| one < next) {
        return Err(ImportError::at(number, "record sizes are expected here, in growing order"));
    }
    Ok(sizes)
}

/// The numbers of one file size, which is given back.
fn read_row(
    number: usize,
    line: &str,
    test: &str,
    records: &[u64],
    header: &Header,
    grid: &mut Grid,
) -> Result<u64, ImportError> {
    let wrong = |problem: String| ImportError::at(number, problem);
    let mut words = line.split_ascii_whitespace();
    let file = words.next().and_then(|word| word.strip_prefix('"')?.strip_suffix('"'));
    let file =
        kib(file.ok_or_else(|| wrong("a file size in quotes is expected".to_owned()))?).map_err(wrong)?;
    let numbers: Vec<&str> = words.collect();
    if numbers.is_empty() || numbers.len() > records.len() {
        return Err(wrong(format!("{} numbers for {} record sizes", numbers.len(), records.len())));
    }
    for (text, record) in numbers.iter().zip(records) {
        let milli = milli_per_s(text, header.unit).map_err(wrong)?;
        if milli > 0 {
            check_sizes(Some(file * 1024), Some(record * 1024)).map_err(wrong)?;
        }
        let position = (test.to_owned(), file, *record);
        if grid.insert(position, ReportedRate { line: number, milli }).is_some() {
            return Err(wrong(format!("the file size {file} is listed twice")));
        }
    }
    Ok(file)
}

/// Every record size that fits its file and has a number in another row has one in each.
fn check_rows(test: &str, rows: &[(usize, u64)], records: &[u64], grid: &Grid) -> Result<(), ImportError> {
    let has = |file: u64, record: u64| grid.contains_key(&(test.to_owned(), file, record));
    let largest = records.iter().rev().find(|record| rows.iter().any(|(_, file)| has(*file, **record)));
    for (number, file) in rows {
        let missing = records.iter().find(|record| {
            **record <= *file && largest.is_some_and(|largest| *record <= largest) && !has(*file, **record)
        });
        if let Some(record) = missing {
            return Err(ImportError::at(
                *number,
                format!("no number for records of {record} kB: the row was cut"),
            ));
        }
    }
    Ok(())
}
