//! The table: a file size, a record size and one column per test on every line.
//!
//! Tests that were not run leave their columns blank, so numbers find their test by where they stand.

use super::header::Header;
use super::{Grid, ReportedRate};
use crate::ImportError;
use crate::cell::check_sizes;
use crate::rate::{decimal, milli_per_s};

/// Columns as the two lines of headings name them: upper word, lower word, our name.
const COLUMNS: [(&str, &str, &str); 13] = [
    ("", "write", "write"),
    ("", "rewrite", "rewrite"),
    ("", "read", "read"),
    ("", "reread", "reread"),
    ("random", "read", "random-read"),
    ("random", "write", "random-write"),
    ("bkwd", "read", "backward-read"),
    ("record", "rewrite", "record-rewrite"),
    ("stride", "read", "stride-read"),
    ("", "fwrite", "fwrite"),
    ("", "frewrite", "frewrite"),
    ("", "fread", "fread"),
    ("", "freread", "freread"),
];

/// Words of the two lines of headings belong together when they end this close.
const SLACK: usize = 3;
/// A number ends at most this far from the end of its heading: one letter more of it would be a cut number.
const MAX_COLUMN_OFFSET: usize = 1;

/// A heading: the column of its last letter, and its test.
type Heading = (usize, &'static str);

/// Words with the position after their last letter.
fn words(line: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for word in line.split_ascii_whitespace() {
        let start = word.as_ptr() as usize - line.as_ptr() as usize;
        found.push((start + word.len(), word));
    }
    found
}

fn is_heading(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    matches!((words.next(), words.next()), (Some("kB" | "KB"), Some("reclen")))
}

pub(super) fn is_in(text: &str) -> bool {
    text.lines().any(is_heading)
}

/// Every number of the table; none where there is no table.
pub(super) fn read(lines: &[(usize, &str)], header: &Header) -> Result<Option<Grid>, ImportError> {
    let Some(at) = lines.iter().position(|(_, line)| is_heading(line)) else { return Ok(None) };
    let (number, heading) = lines[at];
    if let Some((second, _)) = lines[at + 1..].iter().find(|(_, line)| is_heading(line)) {
        return Err(ImportError::at(
            *second,
            format!("a second table (the first at line {number}); split the file"),
        ));
    }
    let upper = if at == 0 { "" } else { lines[at - 1].1 };
    let headings = headings(number, upper, heading)?;
    let sizes_end = words(heading)[1].0;
    let mut grid = Grid::new();
    let rows = lines[at + 1..].iter().skip_while(|(_, line)| line.trim().is_empty());
    for (number, line) in rows.take_while(|(_, line)| !line.trim().is_empty()) {
        if line.trim_start().starts_with("iozone test complete") {
            break;
        }
        read_row(*number, line, &headings, sizes_end, header, &mut grid)?;
    }
    if grid.is_empty() {
        return Err(ImportError::at(number, "the table has headings and no row"));
    }
    Ok(Some(grid))
}

fn headings(number: usize, upper: &str, lower: &str) -> Result<Vec<Heading>, ImportError> {
    let upper = words(upper);
    let mut found: Vec<Heading> = Vec::new();
    for (end, word) in words(lower).into_iter().skip(2) {
        let above =
            upper.iter().find(|(above, _)| above.abs_diff(end) <= SLACK).map_or("", |(_, word)| *word);
        let known = COLUMNS.iter().find(|(one, other, _)| *one == above && *other == word);
        let Some((.., test)) = known else {
            let problem = format!(
                "the column '{above} {word}' is not known; was the table's spacing changed, or is it a newer iozone's?"
            );
            return Err(ImportError::at(number, problem.replace("' ", "'")));
        };
        if found.iter().any(|(_, other)| other == test) {
            return Err(ImportError::at(number, format!("two columns for {test}")));
        }
        found.push((end, test));
    }
    Ok(found)
}

fn read_row(
    number: usize,
    line: &str,
    headings: &[Heading],
    sizes_end: usize,
    header: &Header,
    grid: &mut Grid,
) -> Result<(), ImportError> {
    let wrong = |problem: String| ImportError::at(number, problem);
    let words = words(line);
    let [(_, file), (record_end, record), numbers @ ..] = words.as_slice() else {
        return Err(wrong(format!("'{}' is not a row of the table", line.trim())));
    };
    let file = kib(file).map_err(wrong)?;
    let record = kib(record).map_err(wrong)?;
    check_sizes(Some(file * 1024), Some(record * 1024)).or_else(|problem| {
        // It writes a row of zeros for a record that does not fit its file.
        if numbers.iter().all(|(_, number)| *number == "0") { Ok(()) } else { Err(wrong(problem)) }
    })?;
    if numbers.len() < headings.len() && record_end.abs_diff(sizes_end) > MAX_COLUMN_OFFSET {
        let problem = "its spacing was changed, so that the test of each number is unknown";
        return Err(wrong(format!(
            "{} numbers for {} columns, and {problem}",
            numbers.len(),
            headings.len()
        )));
    }
    if numbers.is_empty() {
        return Err(wrong("the row has no numbers: it was cut".to_owned()));
    }
    if numbers.len() > headings.len() {
        return Err(wrong(format!("{} numbers for {} columns", numbers.len(), headings.len())));
    }
    let whole = numbers.len() == headings.len();
    for (index, (end, text)) in numbers.iter().enumerate() {
        let by_place = || headings.iter().find(|(heading, _)| heading.abs_diff(*end) <= MAX_COLUMN_OFFSET);
        let Some((_, test)) = (if whole { headings.get(index) } else { by_place() }) else {
            return Err(wrong(format!("the number {text} is below no heading")));
        };
        let milli = milli_per_s(text, header.unit).map_err(wrong)?;
        if grid.insert(((*test).to_owned(), file, record), ReportedRate { line: number, milli }).is_some() {
            let problem = format!("{test} with {file} kB and records of {record} kB is listed twice");
            return Err(wrong(format!("{problem}; import one run at a time")));
        }
    }
    Ok(())
}

/// A whole number of KiB.
pub(super) fn kib(text: &str) -> Result<u64, String> {
    match decimal(text) {
        Some((kib, 0)) if kib <= 1 << 50 => Ok(kib as u64),
        _ => Err(format!("'{text}' is not a size in kB")),
    }
}
