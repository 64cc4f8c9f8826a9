//! A run as Parquet: the columns of the CSV, typed; one row group, plain pages, no compression.
//!
//! Apache Parquet format 2.x, `parquet.thrift` and `Encodings.md`; numbers in brackets are its field ids.

use sharebench_results::{Entry, StoredRun, table};

use super::ExportError;
use super::thrift::{Struct, varint};

const MAGIC: &[u8] = b"PAR1";
/// Columns that hold text even where every step leaves them empty.
const TEXTS: [&str; 3] = ["target", "verdict", "checks"];

/// `Type`: 64-bit integers and byte arrays.
const INT64: i32 = 2;
const BYTE_ARRAY: i32 = 6;
/// `ConvertedType`: UTF-8 text and unsigned integers.
const UTF8: i32 = 0;
const UINT_64: i32 = 14;
/// `FieldRepetitionType`: the column may be null.
const OPTIONAL: i32 = 1;
/// `Encoding` of values and of levels.
const PLAIN: i32 = 0;
const RLE: i32 = 3;

struct Column<'a> {
    name: &'a str,
    text: bool,
    /// Bytes in front of its page.
    offset: usize,
    /// Its page, header included.
    len: usize,
}

/// The run's table as a Parquet file.
pub fn parquet(run: &StoredRun) -> Result<Vec<u8>, ExportError> {
    let table = table(run);
    let mut out = MAGIC.to_vec();
    let mut columns = Vec::new();
    for (index, name) in table.header.iter().enumerate() {
        let entries: Vec<&Entry> = table.rows.iter().map(|row| &row[index]).collect();
        let text =
            TEXTS.contains(&name.as_str()) || entries.iter().any(|entry| matches!(entry, Entry::Text(_)));
        let page = page(&entries, text);
        let size = i32::try_from(page.len()).map_err(|_| ExportError::TooLarge {
            form: "a Parquet page",
            limit: "2 GiB",
            found: page.len(),
        })?;
        let header = page_header(size, (entries.len() as u32).cast_signed());
        columns.push(Column { name, text, offset: out.len(), len: header.len() + page.len() });
        out.extend(header);
        out.extend(page);
    }
    let footer = footer(run, &columns, table.rows.len());
    out.extend(&footer);
    out.extend((footer.len() as u32).to_le_bytes());
    out.extend(MAGIC);
    Ok(out)
}

/// Definition levels, then the values that are not null.
fn page(entries: &[&Entry], text: bool) -> Vec<u8> {
    let mut levels = Vec::new();
    for equal in entries.chunk_by(|one, next| is_null(one) == is_null(next)) {
        varint(&mut levels, (equal.len() as u64) << 1);
        levels.push(u8::from(!is_null(equal[0])));
    }
    let mut page = (levels.len() as u32).to_le_bytes().to_vec();
    page.extend(levels);
    for entry in entries {
        match entry {
            Entry::Empty => {}
            Entry::Number(number) if text => push_text(&mut page, &number.to_string()),
            Entry::Number(number) => page.extend(number.to_le_bytes()),
            Entry::Text(value) => push_text(&mut page, value),
        }
    }
    page
}

fn is_null(entry: &Entry) -> bool {
    matches!(entry, Entry::Empty)
}

fn push_text(page: &mut Vec<u8>, text: &str) {
    page.extend((text.len() as u32).to_le_bytes());
    page.extend(text.as_bytes());
}

/// `PageHeader`: type (1), sizes (2, 3), `DataPageHeader` (5).
fn page_header(size: i32, values: i32) -> Vec<u8> {
    let data = Struct::default().i32(1, values).i32(2, PLAIN).i32(3, RLE).i32(4, RLE);
    Struct::default().i32(1, 0).i32(2, size).i32(3, size).nested(5, data).end()
}

/// `FileMetaData`: version (1), schema (2), rows (3), row groups (4), key-value metadata (5), writer (6).
fn footer(run: &StoredRun, columns: &[Column<'_>], rows: usize) -> Vec<u8> {
    let root = Struct::default().text(4, "run").i32(5, (columns.len() as u32).cast_signed());
    let leaf = |column: &Column<'_>| {
        let (kind, converted) = if column.text { (BYTE_ARRAY, UTF8) } else { (INT64, UINT_64) };
        Struct::default().i32(1, kind).i32(3, OPTIONAL).text(4, column.name).i32(6, converted)
    };
    let schema = std::iter::once(root).chain(columns.iter().map(leaf)).collect();
    let chunk = |column: &Column<'_>| {
        let (len, offset) = (column.len as u64, column.offset as u64);
        let meta = Struct::default()
            .i32(1, if column.text { BYTE_ARRAY } else { INT64 })
            .i32s(2, &[PLAIN, RLE])
            .texts(3, &[column.name])
            .i32(4, 0)
            .i64(5, rows as u64)
            .i64(6, len)
            .i64(7, len)
            .i64(9, offset);
        Struct::default().i64(2, offset).nested(3, meta)
    };
    let total: usize = columns.iter().map(|column| column.len).sum();
    let group = Struct::default()
        .structs(1, columns.iter().map(chunk).collect())
        .i64(2, total as u64)
        .i64(3, rows as u64);
    let pair = |key: &str, value: &str| Struct::default().text(1, key).text(2, value);
    let metadata = vec![pair("title", &run.header.title), pair("run", &run.id.to_string())];
    Struct::default()
        .i32(1, 1)
        .structs(2, schema)
        .i64(3, rows as u64)
        .structs(4, vec![group])
        .structs(5, metadata)
        .text(6, concat!("sharebench version ", env!("CARGO_PKG_VERSION")))
        .end()
}
