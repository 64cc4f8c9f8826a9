//! A workbook of sheets of rows.
//!
//! ECMA-376 Part 1, `SpreadsheetML`, with inline strings and no styles.

use std::fmt::Write;

use super::ExportError;
use super::zip::Archive;

/// Rows of a sheet and letters of a cell.
const MAX_ROWS: usize = 1_048_576;
const MAX_LETTERS: usize = 32_767;
/// Letters of a sheet's name.
const MAX_NAME: usize = 31;
/// Whole numbers above this are not exact in a workbook, and are written as text.
const EXACT: u64 = 1 << 53;
/// Sheets of tests; a run has a dozen.
const MAX_SHEETS: usize = 1000;

/// A workbook under construction.
#[derive(Debug, Default)]
pub struct Workbook {
    sheets: Vec<Sheet>,
}

/// A sheet under construction.
#[derive(Debug)]
pub struct Sheet {
    name: String,
    rows: String,
    next: usize,
}

/// What stands in a cell of a workbook.
#[derive(Debug, Clone, PartialEq)]
pub enum SheetCell {
    /// An empty cell.
    Nothing,
    /// Text, cut to what a cell can hold.
    Text(String),
    /// A number; nothing where it is not finite.
    Number(f64),
    /// A whole number; text where a workbook would round it.
    Whole(u64),
}

impl Workbook {
    /// The sheet of that name, made when there is none; names that sheets may not have are mended, and letters of
    /// either case are the same.
    ///
    /// # Panics
    /// Never: the sheet that is given back was found or made.
    pub fn sheet(&mut self, name: &str) -> &mut Sheet {
        let name = sheet_name(name);
        let found = self.sheets.iter().position(|sheet| sheet.name.eq_ignore_ascii_case(&name));
        let at = found.unwrap_or_else(|| {
            self.sheets.push(Sheet { name, rows: String::new(), next: 1 });
            self.sheets.len() - 1
        });
        &mut self.sheets[at]
    }

    /// The file.
    ///
    /// # Errors
    /// More rows, sheets or bytes than a workbook holds.
    pub fn bytes(&self) -> Result<Vec<u8>, ExportError> {
        let too_large = |limit, found| Err(ExportError::TooLarge { form: "a workbook", limit, found });
        if self.sheets.len() > MAX_SHEETS {
            return too_large("1000 sheets", self.sheets.len());
        }
        if let Some(sheet) = self.sheets.iter().find(|sheet| sheet.next > MAX_ROWS) {
            return too_large("1048576 rows", sheet.next);
        }
        let mut archive = Archive::default();
        for (name, content) in package(&self.sheets) {
            archive.add(&name, content.as_bytes());
        }
        let bytes = archive.end();
        if bytes.len() > u32::MAX as usize { too_large("4 GiB", bytes.len()) } else { Ok(bytes) }
    }
}

impl Sheet {
    /// Appends a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = SheetCell>) {
        let number = self.next;
        // Writing to a String cannot fail.
        let _ = write!(self.rows, "<row r=\"{number}\">");
        for (column, cell) in cells.into_iter().enumerate() {
            let at = format!("{}{number}", letters(column));
            let _ = match cell {
                SheetCell::Nothing => Ok(()),
                SheetCell::Number(value) if !value.is_finite() => Ok(()),
                SheetCell::Number(value) => write!(self.rows, "<c r=\"{at}\"><v>{value}</v></c>"),
                SheetCell::Whole(value) if value <= EXACT => {
                    write!(self.rows, "<c r=\"{at}\"><v>{value}</v></c>")
                }
                SheetCell::Whole(value) => write_text(&mut self.rows, &at, &value.to_string()),
                SheetCell::Text(text) => write_text(&mut self.rows, &at, &text),
            };
        }
        self.rows.push_str("</row>");
        self.next += 1;
    }
}

fn write_text(rows: &mut String, at: &str, text: &str) -> std::fmt::Result {
    let kept: String = text.chars().take(MAX_LETTERS).collect();
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
    let name: String = test.chars().map(allowed).take(MAX_NAME).collect();
    if name.is_empty() { "sheet".to_owned() } else { name }
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
