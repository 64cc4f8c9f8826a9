//! The options of `sharebench run`.

use std::path::PathBuf;

use clap::Args;
use sharebench_results::RunReference;

use crate::flags::monitoring::MonitoringFlags;
use crate::flags::ranks::RankFlags;

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The plan.
    #[arg(value_name = "PLAN.toml", required_unless_present = "resume", conflicts_with = "resume")]
    pub plan: Option<PathBuf>,
    /// Finish this interrupted or stopped run instead.
    #[arg(long, value_name = "RUN")]
    pub resume: Option<RunReference>,
    /// Let the plan run its own command (`pre_step_cmd`) on this machine; `plan check` shows it.
    #[arg(long)]
    pub allow_pre_step_cmd: bool,
    #[command(flatten)]
    pub monitoring: MonitoringFlags,
    /// Also write an HTML report.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub ranks: RankFlags,
}
