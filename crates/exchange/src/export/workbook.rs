//! Workbooks: sheets of typed cells, written as Office Open XML.

#[cfg(feature = "xlsx")]
use std::io;

#[cfg(feature = "xlsx")]
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Worksheet, XlsxError};
use sharebench_results::{Entry, StreamedTable};

use super::ExportError;

/// Rows of a sheet.
const MAX_ROWS: usize = 1_048_576;
/// UTF-16 code units of a cell.
#[cfg(feature = "xlsx")]
const MAX_CELL_UNITS: usize = 32_767;
/// UTF-16 code units of a sheet's name.
const MAX_NAME_UNITS: usize = 31;
/// Whole numbers above this are not exact in a workbook, which stores floating-point numbers.
#[cfg(feature = "xlsx")]
const MAX_EXACT: u64 = 1 << 53;
/// Sheets of one workbook; a run has a dozen.
const MAX_SHEETS: usize = 1000;
/// Width of the widest column, in pixels: a long sentence must not push the next column off the screen.
#[cfg(feature = "xlsx")]
const MAX_COLUMN_PIXELS: u32 = 480;

/// A workbook under construction.
///
/// It collects the rows of each sheet, and [`bytes`](Self::bytes) writes all of them at once. Limits of the format are
/// checked there, so that callers append rows without handling errors. Equal contents give equal bytes: the file
/// carries no time of creation.
#[derive(Debug, Default)]
pub struct Workbook {
    sheets: Vec<Sheet>,
}

/// A sheet under construction.
#[derive(Debug)]
pub struct Sheet {
    name: String,
    rows: Vec<Vec<SheetCell>>,
    /// Index of the heading row that stays visible and has filters.
    header: Option<usize>,
}

/// The content of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum SheetCell {
    /// An empty cell.
    Empty,
    /// Text, cut to the length that a cell can hold.
    Text(String),
    /// A number with decimals; the cell stays empty where it is not finite.
    Number(f64),
    /// A whole number; text where a workbook would round it.
    Whole(u64),
}

impl Workbook {
    /// Returns the sheet of that name, and adds it when there is none. Characters that names of sheets may not have are
    /// replaced; names that differ only in case are the same sheet.
    ///
    /// # Panics
    /// Never: the sheet was found or added.
    pub fn sheet(&mut self, name: &str) -> &mut Sheet {
        let name = sheet_name(name);
        let found = self.sheets.iter().position(|sheet| sheet.name.eq_ignore_ascii_case(&name));
        let at = found.unwrap_or_else(|| {
            self.sheets.push(Sheet { name, rows: Vec::new(), header: None });
            self.sheets.len() - 1
        });
        &mut self.sheets[at]
    }

    /// Writes the file.
    ///
    /// # Errors
    /// The workbook has more rows or sheets than the format holds, or the library rejects it.
    pub fn bytes(&self) -> Result<Vec<u8>, ExportError> {
        self.check_limits(0)?;
        self.written(None)
    }

    /// Writes the file with one more sheet at its end, whose rows are made while they are written. They are kept in a
    /// temporary file, so that the memory does not depend on their number.
    ///
    /// # Errors
    /// As [`Self::bytes`]; or the run of the table cannot be read.
    pub(super) fn bytes_with_table(
        &self,
        name: &str,
        table: &StreamedTable<'_>,
    ) -> Result<Vec<u8>, ExportError> {
        self.check_limits(1 + table.rows())?;
        self.written(Some((name, table)))
    }

    fn check_limits(&self, table_rows: usize) -> Result<(), ExportError> {
        let too_large = |limit, found| Err(ExportError::TooLarge { format: "a workbook", limit, found });
        if self.sheets.len() > MAX_SHEETS {
            return too_large("1000 sheets", self.sheets.len());
        }
        let rows =
            self.sheets.iter().map(|sheet| sheet.rows.len()).chain([table_rows]).max().unwrap_or_default();
        if rows > MAX_ROWS { too_large("1048576 rows", rows) } else { Ok(()) }
    }

    #[cfg(not(feature = "xlsx"))]
    fn written(&self, _table: Option<(&str, &StreamedTable<'_>)>) -> Result<Vec<u8>, ExportError> {
        Err(ExportError::NotBuilt { format: "a workbook", feature: "xlsx" })
    }

    #[cfg(feature = "xlsx")]
    fn written(&self, table: Option<(&str, &StreamedTable<'_>)>) -> Result<Vec<u8>, ExportError> {
        let mut book = rust_xlsxwriter::Workbook::new();
        // The library's default is the time of writing, which would make equal runs differ.
        let epoch = ExcelDateTime::from_ymd(1980, 1, 1)?;
        book.set_properties(&DocProperties::new().set_creation_datetime(&epoch));
        for sheet in &self.sheets {
            sheet.write(book.add_worksheet())?;
        }
        if let Some((name, table)) = table {
            write_table(book.add_worksheet_with_constant_memory()?, name, table)?;
        }
        Ok(book.save_to_buffer()?)
    }
}

#[cfg(feature = "xlsx")]
impl From<XlsxError> for ExportError {
    fn from(error: XlsxError) -> Self {
        Self::Library { format: "a workbook", source: Box::new(error) }
    }
}

/// Writes a table row by row; each row leaves the memory when the next one begins.
#[cfg(feature = "xlsx")]
fn write_table(sheet: &mut Worksheet, name: &str, table: &StreamedTable<'_>) -> Result<(), ExportError> {
    let formats = Formats::new();
    let _ = sheet.set_name(sheet_name(name))?.set_freeze_panes(1, 0)?;
    let header: Vec<SheetCell> = table.header().map(|name| SheetCell::Text(name.to_owned())).collect();
    if let Some(last) = header.len().checked_sub(1) {
        let _ = sheet.autofilter(0, 0, table.rows() as u32, last as u16)?;
    }
    formats.write_row(sheet, 0, &header, &formats.bold)?;
    // Only the current row is in memory, so that the columns are as wide as their headings.
    let _ = sheet.autofit();
    let mut number = 0;
    let mut rejected = None;
    let visited = table.visit(&mut |entries| {
        number += 1;
        let cells: Vec<SheetCell> = entries.map(SheetCell::from).collect();
        formats.write_row(sheet, number, &cells, &formats.plain).map_err(|error| {
            rejected = Some(error);
            io::Error::other("a row was rejected").into()
        })
    });
    match rejected {
        Some(error) => Err(error.into()),
        None => Ok(visited?),
    }
}

impl From<Entry> for SheetCell {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Empty => Self::Empty,
            Entry::Number(number) => Self::Whole(number),
            Entry::Text(text) => Self::Text(text),
        }
    }
}

/// The formats of cells.
#[cfg(feature = "xlsx")]
struct Formats {
    bold: Format,
    plain: Format,
    decimal: Format,
    whole: Format,
}

#[cfg(feature = "xlsx")]
impl Formats {
    fn new() -> Self {
        Self {
            bold: Format::new().set_bold(),
            plain: Format::new(),
            decimal: Format::new().set_num_format("#,##0.00"),
            whole: Format::new().set_num_format("0"),
        }
    }

    /// Writes a row, its texts in the format `text`.
    fn write_row(
        &self,
        sheet: &mut Worksheet,
        number: u32,
        cells: &[SheetCell],
        text: &Format,
    ) -> Result<(), XlsxError> {
        for (column, cell) in (0u16..).zip(cells) {
            let _ = match cell {
                SheetCell::Empty => continue,
                SheetCell::Number(value) if !value.is_finite() => continue,
                SheetCell::Number(value) => {
                    sheet.write_number_with_format(number, column, *value, &self.decimal)?
                }
                SheetCell::Whole(value) if *value <= MAX_EXACT => {
                    sheet.write_number_with_format(number, column, *value as f64, &self.whole)?
                }
                SheetCell::Whole(value) => sheet.write_string(number, column, value.to_string())?,
                SheetCell::Text(value) => {
                    sheet.write_string_with_format(number, column, cut(value, MAX_CELL_UNITS), text)?
                }
            };
        }
        Ok(())
    }
}

impl Sheet {
    /// Appends a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = SheetCell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Appends the row of headings: it is bold, stays visible while the rows below it scroll, and has filters.
    pub fn header(&mut self, headings: impl IntoIterator<Item = String>) {
        self.header = Some(self.rows.len());
        self.row(headings.into_iter().map(SheetCell::Text));
    }

    #[cfg(feature = "xlsx")]
    fn write(&self, sheet: &mut Worksheet) -> Result<(), XlsxError> {
        let formats = Formats::new();
        let _ = sheet.set_name(&self.name)?;
        for (number, cells) in (0u32..).zip(&self.rows) {
            let text = if self.header == Some(number as usize) { &formats.bold } else { &formats.plain };
            formats.write_row(sheet, number, cells, text)?;
        }
        if let Some(header) = self.header {
            let header = header as u32;
            let _ = sheet.set_freeze_panes(header + 1, 0)?;
            let width = self.rows.iter().map(Vec::len).max().unwrap_or_default();
            if width > 0 {
                let last = (self.rows.len() as u32).saturating_sub(1);
                let _ = sheet.autofilter(header, 0, last, (width - 1) as u16)?;
            }
        }
        let _ = sheet.set_autofit_max_width(MAX_COLUMN_PIXELS).autofit();
        Ok(())
    }
}

/// The longest start of a text with at most that number of UTF-16 code units, which is how Excel counts.
fn cut(text: &str, units: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, letter)| {
        used += letter.len_utf16();
        used > units
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// A name without the characters that Excel forbids.
fn sheet_name(test: &str) -> String {
    let allowed = |letter: char| {
        if "[]:*?/\\'".contains(letter) || letter.is_control() { '-' } else { letter }
    };
    let name: String = test.chars().map(allowed).collect();
    let name = cut(&name, MAX_NAME_UNITS);
    if name.is_empty() { "sheet".to_owned() } else { name.to_owned() }
}

#[cfg(all(test, feature = "xlsx"))]
mod tests {
    use super::*;

    #[test]
    fn sheet_names_are_what_excel_allows() {
        assert_eq!(sheet_name("a/b[c]"), "a-b-c-");
        assert_eq!(sheet_name(&"x".repeat(40)).len(), 31);
        assert_eq!(sheet_name(""), "sheet");
    }

    #[test]
    fn a_workbook_takes_hostile_texts_and_numbers() {
        let mut book = Workbook::default();
        book.sheet("\u{1}'a'\u{10ffff}").header(["=1+1".to_owned(), "\u{0}\u{1b}\u{fffe}".to_owned()]);
        book.sheet("x").row([SheetCell::Number(f64::NAN), SheetCell::Whole(u64::MAX), SheetCell::Empty]);
        book.sheet("X").row([SheetCell::Text("\u{1f600}".repeat(40_000)), SheetCell::Text("_x0001_".into())]);
        assert_eq!(book.sheets.len(), 2, "case does not distinguish sheets");
        assert!(book.bytes().unwrap().starts_with(b"PK\x03\x04"));
    }

    #[test]
    fn a_sheet_with_too_many_rows_is_an_error() {
        let mut book = Workbook::default();
        for _ in 0..=MAX_ROWS {
            book.sheet("rows").row([]);
        }
        assert!(book.bytes().unwrap_err().to_string().contains("1048576 rows"));
    }
}
