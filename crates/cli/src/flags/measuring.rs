//! The options of every command that measures and makes its plan from options.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sharebench_model::units::{BitRate, parse_duration};
use sharebench_plan::Verify;

use crate::flags::monitoring::MonitoringFlags;
use crate::flags::ranks::RankFlags;
use crate::flags::repetition::RepetitionFlags;

/// Flags of every command that measures; a missing one means the plan's default.
#[derive(Debug, Args, Default)]
pub struct MeasuringFlags {
    /// What to call the run.
    #[arg(long)]
    pub title: Option<String>,
    /// Seed of every random choice [default: a new one].
    #[arg(long)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub repetition: RepetitionFlags,
    /// Least measured time of a cell per repetition [default: 200ms].
    #[arg(long, value_parser = parse_duration)]
    pub min_sample_time: Option<Duration>,
    /// How reads are checked: stamps (of every 512 bytes), full, off [default: stamps].
    #[arg(long, value_parser = verify)]
    pub verify: Option<Verify>,
    /// Check no data.
    #[arg(long, conflicts_with = "verify")]
    pub no_verify: bool,
    /// Deadline of one operation and of connecting [default: 30s].
    #[arg(long, value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Run this command by `sh -c` on this machine before each step is measured, with no file open and no
    /// session on any target: to remount or purge [such as 'umount /mnt && mount /mnt'].
    #[arg(long, value_name = "COMMAND")]
    pub pre_step_cmd: Option<String>,
    #[command(flatten)]
    pub monitoring: MonitoringFlags,
    /// Rate of the link to the targets, such as 1Gbit [default: what the route's device says].
    #[arg(long, value_name = "RATE")]
    pub link: Option<BitRate>,
    /// Also write an HTML report.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub ranks: RankFlags,
}

fn verify(text: &str) -> Result<Verify, String> {
    let found = Verify::NAMES.iter().find(|(name, _)| *name == text);
    found.map(|(_, verify)| *verify).ok_or_else(|| "stamps, full or off".to_owned())
}
