//! The formats in which an analysis is printed.

use clap::ValueEnum;

/// Forms of an analysis.
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
