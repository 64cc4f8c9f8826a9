//! A run for other programs: Parquet, a workbook, the text of `IOzone`.

mod grid;
mod iozone;
#[cfg(feature = "parquet")]
mod parquet;
mod workbook;
mod xlsx;

pub use iozone::{IozoneText, iozone_text};
#[cfg(feature = "parquet")]
pub use parquet::parquet;
pub use workbook::{Sheet, SheetCell, Workbook};
pub use xlsx::xlsx;

/// Why a run cannot be written in a format.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The format has a limit.
    #[error("{format} holds {limit} at most, and the run has {found}; use csv or json")]
    TooLarge {
        /// Name of the format.
        format: &'static str,
        /// Such as `1048576 rows`.
        limit: &'static str,
        /// The number that the run has.
        found: usize,
    },
    /// The library that writes the format failed.
    #[error("cannot write {format}: {source}")]
    Library {
        /// Name of the format.
        format: &'static str,
        /// The library's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// This program was built without the library that writes the format.
    #[error("this program cannot write {format}: it was built without the feature '{feature}'")]
    NotBuilt {
        /// Name of the format.
        format: &'static str,
        /// Feature of the build.
        feature: &'static str,
    },
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] sharebench_results::WriteError),
    /// The format can represent nothing of the run.
    #[error("{0}")]
    Unrepresentable(String),
}

/// Reports that this program was built without Parquet.
///
/// # Errors
/// Always.
#[cfg(not(feature = "parquet"))]
pub fn parquet(_run: &sharebench_results::StoredRun) -> Result<Vec<u8>, ExportError> {
    Err(ExportError::NotBuilt { format: "Parquet", feature: "parquet" })
}
