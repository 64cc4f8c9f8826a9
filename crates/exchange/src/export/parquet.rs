//! A run as Parquet: the typed columns of the CSV in one row group, compressed with Snappy.

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use sharebench_results::{Entry, StoredRun, Table, table};

use super::ExportError;

/// Columns that hold text even if every step leaves them empty.
const TEXT_COLUMNS: [&str; 3] = ["target", "verdict", "checks"];

/// Writes the run's table as a Parquet file.
///
/// # Errors
/// The library cannot write the file.
pub fn parquet(run: &StoredRun) -> Result<Vec<u8>, ExportError> {
    written(run).map_err(|error| ExportError::Library { format: "Parquet", source: Box::new(error) })
}

fn written(run: &StoredRun) -> Result<Vec<u8>, ParquetError> {
    let table = table(run);
    let texts: Vec<bool> = (0..table.header.len()).map(|column| is_text(&table, column)).collect();
    let pair = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let metadata = vec![pair("title", run.header.title.clone()), pair("run", run.id.to_string())];
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("sharebench version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(metadata))
        .build();
    let mut file =
        SerializedFileWriter::new(Vec::new(), Arc::new(schema(&table, &texts)?), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (column, text) in texts.into_iter().enumerate() {
        let entries = || table.rows.iter().map(|row| &row[column]);
        // A definition level of 1 marks a value, 0 an empty entry.
        let levels: Vec<i16> = entries().map(|entry| i16::from(*entry != Entry::Empty)).collect();
        let Some(mut writer) = group.next_column()? else { break };
        if text {
            let values: Vec<ByteArray> = entries().filter_map(text_value).collect();
            let _ = writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
        } else {
            let values: Vec<i64> = entries().filter_map(number_value).collect();
            let _ = writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
        }
        writer.close()?;
    }
    let _ = group.close()?;
    file.into_inner()
}

fn is_text(table: &Table, column: usize) -> bool {
    TEXT_COLUMNS.contains(&table.header[column].as_str())
        || table.rows.iter().any(|row| matches!(row[column], Entry::Text(_)))
}

/// One nullable column per column of the table: UTF-8 text or unsigned 64-bit integers.
fn schema(table: &Table, texts: &[bool]) -> Result<Type, ParquetError> {
    let field = |(name, text): (&String, &bool)| {
        let (physical, converted) = if *text {
            (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8)
        } else {
            (PhysicalType::INT64, ConvertedType::UINT_64)
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted)
            .build()?;
        Ok(Arc::new(field))
    };
    let fields = table.header.iter().zip(texts).map(field).collect::<Result<_, ParquetError>>()?;
    Type::group_type_builder("run").with_fields(fields).build()
}

fn text_value(entry: &Entry) -> Option<ByteArray> {
    match entry {
        Entry::Empty => None,
        Entry::Number(number) => Some(number.to_string().into_bytes().into()),
        Entry::Text(text) => Some(text.as_str().into()),
    }
}

/// The bits of an unsigned number: Parquet stores unsigned integers in its signed type.
fn number_value(entry: &Entry) -> Option<i64> {
    match entry {
        Entry::Number(number) => Some(number.cast_signed()),
        Entry::Empty | Entry::Text(_) => None,
    }
}
