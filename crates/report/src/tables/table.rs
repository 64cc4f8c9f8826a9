//! Tables of an analysis: the same cells for every format.

use sharebench_analysis::RatioVerdict;
use sharebench_model::{Value, axis};

use crate::show;

/// One cell.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// Its text.
    pub text: String,
    /// The finding of a ratio, so that formats can colour or mark it.
    pub standing: Option<RatioVerdict>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, standing: None }
    }
}

/// Cells in rows under headings; the first `keys` columns name the row.
#[derive(Debug, Clone)]
pub struct Table {
    /// One sentence on how to read it.
    pub caption: String,
    /// Column headings.
    pub header: Vec<String>,
    /// How many leading columns name the row.
    pub keys: usize,
    /// The cells.
    pub rows: Vec<Vec<Cell>>,
    /// Meaning of its marks, shown below it.
    pub notes: Vec<String>,
}

/// A position on an axis.
pub fn position(value: Option<&Value>) -> String {
    value.map_or_else(|| show::NOTHING.to_owned(), ToString::to_string)
}

/// Name of an axis in headings.
pub fn axis_name(name: &str) -> &str {
    match name {
        axis::FILE_SIZE => "file",
        axis::RECORD_SIZE => "record",
        axis::USERS => "users",
        axis::JOBS => "jobs",
        axis::RATE => "starts/s",
        axis::QUEUE_DEPTH => "depth",
        other => other,
    }
}
