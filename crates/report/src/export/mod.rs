//! The analysis as files for other programs and for people: CSV, JSON, Markdown, sheets of a workbook.

mod csv;
mod json;
mod markdown;
mod series;
mod sheets;

pub use csv::csv;
pub use json::json;
pub use markdown::markdown;
pub use series::{series_csv, series_json, series_markdown, series_text};
pub use sheets::{SheetRows, sheets};
