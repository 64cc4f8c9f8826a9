//! The formats in which an analysis is printed.

use clap::ValueEnum;

/// Formats of `show` and `compare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for the terminal.
    Text,
    /// Markdown.
    Md,
    /// The whole analysis as JSON.
    Json,
    /// One row per cell.
    Csv,
}
