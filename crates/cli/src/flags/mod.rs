//! The groups of options that several commands share.

pub mod cache_probes;
pub mod format;
pub mod measuring;
pub mod monitoring;
pub mod plan_file;
pub mod policies;
pub mod ranks;
pub mod repetition;

use std::path::PathBuf;

use clap::Args;

/// Flags of every command.
#[derive(Debug, Args)]
pub struct GlobalFlags {
    /// The results database: one SQLite file of runs.
    #[arg(long, global = true, default_value = "sharebench.db", value_name = "FILE")]
    pub db: PathBuf,
    /// File with the password of SMB and NCP targets in its first line.
    #[arg(long, global = true, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Print no progress.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Commands that measure: print what happens as JSON lines on standard output, and nothing else there.
    #[arg(long, global = true, conflicts_with = "quiet")]
    pub json: bool,
}
