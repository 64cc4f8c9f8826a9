//! Comma-separated values (RFC 4180) with the line of every record.

use crate::ImportError;

/// A record and the line it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub line: usize,
    pub fields: Vec<String>,
}

/// Heading and records: equally many fields in each; empty lines, and lines that begin with `#`, are skipped.
pub(super) fn read(text: &str) -> Result<(Record, Vec<Record>), ImportError> {
    let mut records = records(text)?.into_iter();
    let header = records.next().ok_or_else(|| ImportError::whole("there is no line of headings"))?;
    for (index, name) in header.fields.iter().enumerate() {
        if header.fields[..index].contains(name) {
            return Err(ImportError::at(header.line, format!("two columns are called '{name}'")));
        }
    }
    let rows: Vec<Record> = records.collect();
    if header.fields.len() < 2 {
        let problem = "the headings are one column; are the columns separated by commas?";
        return Err(ImportError::at(header.line, problem));
    }
    for row in &rows {
        let (found, wanted) = (row.fields.len(), header.fields.len());
        if found != wanted {
            return Err(ImportError::at(row.line, format!("{found} fields where the headings are {wanted}")));
        }
    }
    if rows.is_empty() {
        return Err(ImportError::at(header.line, "there is no row below the headings"));
    }
    Ok((header, rows))
}

fn records(text: &str) -> Result<Vec<Record>, ImportError> {
    let mut found = Vec::new();
    let mut letters = text.chars().peekable();
    let mut line = 1;
    while letters.peek().is_some() {
        let mut record = Record { line, fields: Vec::new() };
        let mut ended = false;
        while !ended {
            let (field, last, newlines) = field(&mut letters, line)?;
            record.fields.push(field);
            line += newlines;
            ended = last;
        }
        let blank = record.fields.len() == 1 && record.fields[0].trim().is_empty();
        if !blank && !record.fields[0].starts_with('#') {
            found.push(record);
        }
    }
    Ok(found)
}

/// One field, whether it ends its record, and how many lines it ended.
fn field(
    letters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    line: usize,
) -> Result<(String, bool, usize), ImportError> {
    let mut field = String::new();
    let mut newlines = 0;
    let quoted = letters.next_if_eq(&'"').is_some();
    if quoted {
        loop {
            match letters.next() {
                Some('"') if letters.next_if_eq(&'"').is_some() => field.push('"'),
                Some('"') => break,
                Some(letter) => {
                    newlines += usize::from(letter == '\n');
                    field.push(letter);
                }
                None => return Err(ImportError::at(line, "a quote is never closed: the file was cut")),
            }
        }
    }
    loop {
        match letters.next() {
            Some(',') => return Ok((field, false, newlines)),
            Some('\r') if letters.peek() == Some(&'\n') => {}
            Some('\n' | '\r') => return Ok((field, true, newlines + 1)),
            None => return Ok((field, true, newlines)),
            Some(_) if quoted => {
                return Err(ImportError::at(line + newlines, "text follows a closing quote within a field"));
            }
            Some('"') => {
                return Err(ImportError::at(line, "a quote within a field that does not begin with one"));
            }
            Some(letter) => field.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_line_ends_and_comments() {
        let text = "# told by hand\r\na,\"b,\"\"c\"\r\n1,\"x\ny\"\r\n\r\n2,\n";
        let (header, rows) = read(text).unwrap();
        assert_eq!(header.fields, ["a", "b,\"c"]);
        assert_eq!((rows[0].line, rows[0].fields[1].as_str()), (3, "x\ny"));
        assert_eq!((rows[1].line, rows[1].fields.as_slice()), (6, &["2".to_owned(), String::new()][..]));
    }

    #[test]
    fn mistakes_stand_on_their_line() {
        for (text, line, word) in [
            ("a,b\n1,2,3\n", 2, "3 fields"),
            ("a,b\n1,2\n3\n", 3, "1 fields"),
            ("a,b\n1,\"2\n", 2, "never closed"),
            ("a,b\n1,\"2\"x\n", 2, "closing quote"),
            ("a,b\n1,2\"x\n", 2, "quote within"),
            ("a,a\n1,2\n", 1, "two columns"),
            ("a;b\n1;2\n", 1, "commas"),
            ("a,b\n", 1, "no row"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.line == Some(line) && error.problem.contains(word), "{text:?}: {error}");
        }
    }
}
