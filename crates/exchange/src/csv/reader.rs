//! Comma-separated values (RFC 4180) with the line of every record.
//!
//! The `csv` crate parses. It accepts stray and unclosed quotes without a word, so each record is compared with its
//! text: a file that was cut or damaged must be an error, never a different number.

use csv::{ReaderBuilder, StringRecord};

use crate::ImportError;

/// Most columns of a table. Each may be an axis of every step, and no program measures along thousands of axes.
const MAX_COLUMNS: usize = 1000;

/// A record and the line it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub line: usize,
    pub fields: Vec<String>,
}

/// Reads headings and records: equally many fields in each. Empty lines, and lines that begin with `#`, are skipped.
pub(super) fn read(text: &str) -> Result<(Record, Vec<Record>), ImportError> {
    let mut records = records(text)?.into_iter();
    let header = records.next().ok_or_else(|| ImportError::whole("there is no line of headings"))?;
    let columns = header.fields.len();
    if columns > MAX_COLUMNS {
        return Err(ImportError::at(header.line, format!("{columns} columns are more than {MAX_COLUMNS}")));
    }
    for (index, name) in header.fields.iter().enumerate() {
        if header.fields[..index].contains(name) {
            return Err(ImportError::at(header.line, format!("two columns are called '{name}'")));
        }
    }
    let rows: Vec<Record> = records.collect();
    if columns < 2 {
        let problem = "the headings are one column; are the columns separated by commas?";
        return Err(ImportError::at(header.line, problem));
    }
    for row in &rows {
        let found = row.fields.len();
        if found != columns {
            return Err(ImportError::at(
                row.line,
                format!("{found} fields where the headings are {columns}"),
            ));
        }
    }
    if rows.is_empty() {
        return Err(ImportError::at(header.line, "there is no row below the headings"));
    }
    Ok((header, rows))
}

fn records(text: &str) -> Result<Vec<Record>, ImportError> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let mut found = Vec::new();
    let mut parsed = StringRecord::new();
    let mut rest = Rest { text, line: 1 };
    while reader.read_record(&mut parsed).map_err(|error| ImportError::at(rest.line, error.to_string()))? {
        rest.skip_ignored_lines();
        let record = Record { line: rest.line, fields: parsed.iter().map(str::to_owned).collect() };
        rest.check(&record.fields)?;
        let blank = record.fields.len() == 1 && record.fields[0].trim().is_empty();
        if !blank {
            found.push(record);
        }
    }
    Ok(found)
}

/// The text after the records that were checked, and the line it begins on.
struct Rest<'a> {
    text: &'a str,
    line: usize,
}

impl Rest<'_> {
    /// Passes the lines that the parser skips.
    fn skip_ignored_lines(&mut self) {
        while self.text.starts_with(['\n', '\r', '#']) {
            let end = self.text.find(['\n', '\r']).unwrap_or(self.text.len());
            self.text = &self.text[end..];
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let rest = self.text.strip_prefix("\r\n").or_else(|| self.text.strip_prefix(['\n', '\r']));
        if let Some(rest) = rest {
            self.text = rest;
            self.line += 1;
        }
    }

    /// Passes one record, if it is written as RFC 4180 writes these fields.
    fn check(&mut self, fields: &[String]) -> Result<(), ImportError> {
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                self.text = self.text.strip_prefix(',').unwrap_or(self.text);
            }
            self.field(field)?;
        }
        self.end_line();
        Ok(())
    }

    fn field(&mut self, field: &str) -> Result<(), ImportError> {
        let line = self.line;
        let Some(quoted) = self.text.strip_prefix('"') else {
            if field.contains('"') {
                return Err(ImportError::at(line, "a quote within a field that does not begin with one"));
            }
            let rest = self.text.strip_prefix(field);
            self.text =
                rest.ok_or_else(|| ImportError::at(line, format!("the field '{field}' is damaged")))?;
            return Ok(());
        };
        // Up to the first quote that is not doubled.
        let mut at = 0;
        let close = loop {
            let Some(quote) = quoted[at..].find('"') else {
                return Err(ImportError::at(line, "a quote is never closed: the file was cut"));
            };
            at += quote;
            if !quoted[at + 1..].starts_with('"') {
                break at;
            }
            at += 2;
        };
        self.line += quoted[..close].matches('\n').count();
        self.text = &quoted[close + 1..];
        if self.text.is_empty() || self.text.starts_with([',', '\n', '\r']) {
            return Ok(());
        }
        Err(ImportError::at(self.line, "text follows a closing quote within a field"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_line_ends_and_comments_are_read() {
        let text = "# typed by hand, \"so\r\na,\"b,\"\"c\"\r\n1,\"x\ny\"\r\n\r\n2,\n";
        let (header, rows) = read(text).unwrap();
        assert_eq!(header.fields, ["a", "b,\"c"]);
        assert_eq!((rows[0].line, rows[0].fields[1].as_str()), (3, "x\ny"));
        assert_eq!((rows[1].line, rows[1].fields.as_slice()), (6, &["2".to_owned(), String::new()][..]));
    }

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        let names: Vec<String> = (0..80_000).map(|column| format!("c{column}")).collect();
        let wide = names.join(",") + "\n";
        for (text, line, word) in [
            ("a,b\n1,2,3\n", 2, "3 fields"),
            ("a,b\n1,2\n3\n", 3, "1 fields"),
            ("a,b\r1,2\r3\r", 3, "1 fields"),
            ("a,b\n1,\"2\n", 2, "never closed"),
            ("a,b\n1,\"2\n3,4\"\"", 2, "never closed"),
            ("a,b\n1,\"2\"x\n", 2, "closing quote"),
            ("a,b\n1,\"2\n\"x\n", 3, "closing quote"),
            ("a,b\n1,2\"x\n", 2, "quote within"),
            ("a,a\n1,2\n", 1, "two columns"),
            ("a;b\n1;2\n", 1, "commas"),
            ("a,b\n", 1, "no row"),
            (&wide, 1, "80000 columns are more than 1000"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.line == Some(line) && error.problem.contains(word), "{text:?}: {error}");
        }
    }
}
