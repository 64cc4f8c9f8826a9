//! The options of `sharebench run`.

use std::path::PathBuf;

use clap::Args;
use sharebench_results::RunReference;

use super::ranks::RankFlags;
use super::run_flags::RunFlags;

/// A plan file or a run to finish.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Plan file.
    #[arg(value_name = "PLAN.toml", required_unless_present = "resume", conflicts_with = "resume")]
    pub plan: Option<PathBuf>,
    /// Check the plan, and print what it would run and for how long, without running it.
    #[arg(long, conflicts_with = "resume")]
    pub check: bool,
    /// Finish the interrupted or stopped run RUN.
    #[arg(long, value_name = "RUN")]
    pub resume: Option<RunReference>,
    /// Allow the plan to run its command (`pre_step_cmd`) on this machine; `--check` shows the command.
    #[arg(long)]
    pub allow_pre_step_cmd: bool,
    #[command(flatten)]
    pub run: RunFlags,
    #[command(flatten)]
    pub ranks: RankFlags,
}
