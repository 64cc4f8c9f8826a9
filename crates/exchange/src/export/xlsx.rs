//! A run as a workbook: one sheet per test, file sizes against record sizes, and the columns of the CSV.
//!
//! ECMA-376 Part 1, `SpreadsheetML`, with inline strings and no styles.

use std::collections::BTreeSet;
use std::fmt::Write;

use sharebench_model::{Value, axis};
use sharebench_results::{Entry, StoredRun, table};

use super::ExportError;
use super::grid::{Block, Cells, blocks};
use super::zip::Archive;

/// Rows of a sheet and letters of a cell.
const MOST_ROWS: usize = 1_048_576;
const MOST_LETTERS: usize = 32_767;
/// Letters of a sheet's name.
const MOST_NAME: usize = 31;
/// Whole numbers above this are not exact in a workbook, and are written as text.
const EXACT: u64 = 1 << 53;
/// Sheets of tests; a run has a dozen.
const MOST_SHEETS: usize = 1000;

/// A sheet under construction.
struct Sheet {
    name: String,
    rows: String,
    next: usize,
}

/// What stands in a cell.
enum Cell {
    Nothing,
    Text(String),
    Number(f64),
    Whole(u64),
}

/// The run as a workbook.
pub fn xlsx(run: &StoredRun) -> Result<Vec<u8>, ExportError> {
    let too_large = |limit, found| Err(ExportError::TooLarge { form: "a workbook", limit, found });
    if run.steps.len() >= MOST_ROWS {
        return too_large("1048576 rows", run.steps.len());
    }
    let sized = run.steps.iter().any(|step| step.coordinates.get(axis::FILE_SIZE).is_some());
    let (down, across) =
        if sized { (axis::FILE_SIZE, axis::RECORD_SIZE) } else { (axis::MOTORS, axis::QUEUE_DEPTH) };
    let mut sheets: Vec<Sheet> = Vec::new();
    for (block, cells) in &blocks(run, down, across) {
        let name = sheet_name(&block.test);
        let at =
            sheets.iter().position(|sheet| sheet.name.eq_ignore_ascii_case(&name)).unwrap_or_else(|| {
                sheets.push(Sheet { name, rows: String::new(), next: 1 });
                sheets.len() - 1
            });
        write_block(&mut sheets[at], run, block, cells, [down, across]);
    }
    if sheets.len() > MOST_SHEETS {
        return too_large("1000 sheets", sheets.len());
    }
    sheets.push(flat(run));
    let mut archive = Archive::default();
    for (name, content) in package(&sheets) {
        archive.add(&name, content.as_bytes());
    }
    let bytes = archive.end();
    if bytes.len() > u32::MAX as usize { too_large("4 GiB", bytes.len()) } else { Ok(bytes) }
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
            found.map_or(Cell::Nothing, |rate| Cell::Number(rate * factor))
        };
        sheet.row(std::iter::once(label(row.as_ref())).chain(columns.iter().map(rate)));
    }
    sheet.row([]);
}

fn label(value: Option<&Value>) -> Cell {
    match value {
        Some(Value::Count(count)) => Cell::Whole(*count),
        Some(other) => Cell::Text(other.to_string()),
        None => Cell::Nothing,
    }
}

/// The columns of the CSV.
fn flat(run: &StoredRun) -> Sheet {
    let table = table(run);
    let mut sheet = Sheet { name: "all steps".to_owned(), rows: String::new(), next: 1 };
    sheet.row(table.header.into_iter().map(Cell::Text));
    for row in table.rows {
        sheet.row(row.into_iter().map(|entry| match entry {
            Entry::Empty => Cell::Nothing,
            Entry::Number(number) => Cell::Whole(number),
            Entry::Text(text) => Cell::Text(text),
        }));
    }
    sheet
}

impl Sheet {
    fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let number = self.next;
        // Writing to a String cannot fail.
        let _ = write!(self.rows, "<row r=\"{number}\">");
        for (column, cell) in cells.into_iter().enumerate() {
            let at = format!("{}{number}", letters(column));
            let _ = match cell {
                Cell::Nothing => Ok(()),
                Cell::Number(value) => write!(self.rows, "<c r=\"{at}\"><v>{value}</v></c>"),
                Cell::Whole(value) if value <= EXACT => write!(self.rows, "<c r=\"{at}\"><v>{value}</v></c>"),
                Cell::Whole(value) => write_text(&mut self.rows, &at, &value.to_string()),
                Cell::Text(text) => write_text(&mut self.rows, &at, &text),
            };
        }
        self.rows.push_str("</row>");
        self.next += 1;
    }
}

fn write_text(rows: &mut String, at: &str, text: &str) -> std::fmt::Result {
    let kept: String = text.chars().take(MOST_LETTERS).collect();
    write!(rows, "<c r=\"{at}\" t=\"inlineStr\"><is><t xml:space=\"preserve\">{}</t></is></c>", escape(&kept))
}

/// `A`, `B`, .. `Z`, `AA`, ..
fn letters(column: usize) -> String {
    let letter = char::from(b'A' + (column % 26) as u8);
    if column < 26 { letter.to_string() } else { letters(column / 26 - 1) + &letter.to_string() }
}

/// Text for XML 1.0, which has no place for most control characters.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\t' | '\n' | '\r' => safe.push(letter),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            letter if letter < ' ' => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

/// A name without the letters that sheets may not have.
fn sheet_name(test: &str) -> String {
    let allowed = |letter: char| if "[]:*?/\\'".contains(letter) { '-' } else { letter };
    let name: String = test.chars().map(allowed).take(MOST_NAME).collect();
    if name.is_empty() || name.eq_ignore_ascii_case("all steps") { "test".to_owned() } else { name }
}

/// The files of the package.
fn package(sheets: &[Sheet]) -> Vec<(String, String)> {
    const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
    const TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";
    let each = |text: &dyn Fn(usize, &Sheet) -> String| -> String {
        (1..).zip(sheets).map(|(number, sheet)| text(number, sheet)).collect()
    };
    let types = each(&|n, _| {
        format!("<Override PartName=\"/xl/worksheets/sheet{n}.xml\" ContentType=\"{TYPE}.worksheet+xml\"/>")
    });
    let names = each(&|n, sheet| {
        format!("<sheet name=\"{}\" sheetId=\"{n}\" r:id=\"rId{n}\"/>", escape(&sheet.name))
    });
    let relations = each(&|n, _| {
        format!(
            "<Relationship Id=\"rId{n}\" Type=\"{RELATIONS}/worksheet\" Target=\"worksheets/sheet{n}.xml\"/>"
        )
    });
    let mut files = vec![
        (
            "[Content_Types].xml".to_owned(),
            format!(
                "{XML}<Types xmlns=\"{PACKAGE}/content-types\">\
                 <Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
                 <Override PartName=\"/xl/workbook.xml\" ContentType=\"{TYPE}.sheet.main+xml\"/>{types}</Types>"
            ),
        ),
        (
            "_rels/.rels".to_owned(),
            format!(
                "{XML}<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"rId1\" \
                 Type=\"{RELATIONS}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/workbook.xml".to_owned(),
            format!(
                "{XML}<workbook xmlns=\"{MAIN}\" xmlns:r=\"{RELATIONS}\"><sheets>{names}</sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels".to_owned(),
            format!("{XML}<Relationships xmlns=\"{PACKAGE}/relationships\">{relations}</Relationships>"),
        ),
    ];
    for (n, sheet) in (1..).zip(sheets) {
        let content =
            format!("{XML}<worksheet xmlns=\"{MAIN}\"><sheetData>{}</sheetData></worksheet>", sheet.rows);
        files.push((format!("xl/worksheets/sheet{n}.xml"), content));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_in_letters() {
        assert_eq!([0, 25, 26, 51, 52, 701, 702].map(letters), ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }

    #[test]
    fn names_and_texts_are_what_xml_and_sheets_allow() {
        assert_eq!(escape("a<b> & \"c\"\u{1}"), "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd}");
        assert_eq!(sheet_name("a/b[c]"), "a-b-c-");
        assert_eq!(sheet_name(&"x".repeat(40)).len(), 31);
    }
}
