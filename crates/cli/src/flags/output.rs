//! The options for results and progress.

use std::path::PathBuf;

use clap::Args;

use super::heading;

/// Results database of commands without `--db`.
pub const DEFAULT_DATABASE: &str = "sharebench.db";

/// The results database of a command that reads or writes runs.
#[derive(Debug, Args, Clone)]
pub struct DatabaseFlags {
    /// Results database: one SQLite file that contains all runs.
    #[arg(long, default_value = DEFAULT_DATABASE, value_name = "FILE")]
    pub db: PathBuf,
}

/// What a command that measures prints, and where it stores results.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = heading::OUTPUT)]
pub struct OutputFlags {
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// Print results, but no progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Print run events as JSON lines on standard output, and nothing else there.
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,
}

/// Suppression of progress and notes on standard error.
#[derive(Debug, Args, Clone, Copy)]
pub struct QuietFlags {
    /// Print no progress and no notes.
    #[arg(long, short)]
    pub quiet: bool,
}
