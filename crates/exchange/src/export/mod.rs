//! A run for other programs: Parquet, a workbook, the text of `IOzone`.

mod grid;
mod iozone;
mod parquet;
mod thrift;
mod workbook;
mod xlsx;
mod zip;

pub use iozone::{IozoneText, iozone_text};
pub use parquet::parquet;
pub use workbook::{Sheet, SheetCell, Workbook};
pub use xlsx::xlsx;

/// Why a run cannot be written in a form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The form has a limit.
    #[error("{form} holds {limit} at most, and the run has {found}; use csv or json")]
    TooLarge {
        /// Name of the form.
        form: &'static str,
        /// Such as `1048576 rows`.
        limit: &'static str,
        /// As many as there are.
        found: usize,
    },
    /// Nothing of the run has a place in the form.
    #[error("{0}")]
    NoPlace(String),
}
