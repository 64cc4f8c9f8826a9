//! The outputs of `gate` for CI systems.

use std::path::PathBuf;

use clap::Args;

use super::heading;

/// Files and annotations that `gate` writes next to its text.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::OUTPUT)]
pub struct GateOutputFlags {
    /// Write the verdict as JUnit XML to FILE.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the verdict as Markdown of at most 30 lines to FILE. If `GITHUB_STEP_SUMMARY` names a file, it is appended there
    /// too.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Print annotations for GitHub Actions; implied by `GITHUB_ACTIONS=true`.
    #[arg(long)]
    pub github: bool,
}
