//! The options that `sweep`, `depth` and `load` have in common: each becomes a key of the plan.

use std::time::Duration;

use clap::Args;
use sharebench_model::units::{BitRate, parse_duration};
use sharebench_plan::Verify;

use super::heading;
use super::vary::VaryFlags;

/// Keys of every plan. An option that is not given leaves the default of the plan.
#[derive(Debug, Args, Default)]
pub struct PlanFlags {
    /// Seed of all random choices [default: a new one].
    #[arg(long, value_name = "NUMBER", help_heading = heading::WORKLOAD)]
    pub seed: Option<u64>,
    /// Verify the data of reads: stamps (one per 512 bytes), full or off [default: stamps].
    #[arg(long, value_name = "MODE", value_parser = verify, help_heading = heading::WORKLOAD)]
    pub verify: Option<Verify>,
    /// Run COMMAND with `sh -c` on this machine before each step, for example to remount or to drop caches: 'umount /mnt
    /// && mount /mnt'. No file is open and no session exists while it runs.
    #[arg(long, value_name = "COMMAND", help_heading = heading::CACHES)]
    pub pre_step_cmd: Option<String>,
    /// Timeout of one operation and of connecting [default: 30s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = heading::TARGETS)]
    pub timeout: Option<Duration>,
    /// Bit rate of the link to the targets, such as 1Gbit [default: the rate of the network interface].
    #[arg(long, value_name = "RATE", help_heading = heading::TARGETS)]
    pub link: Option<BitRate>,
    #[command(flatten)]
    pub vary: VaryFlags,
    /// Title of the run.
    #[arg(long, value_name = "TEXT", help_heading = heading::OUTPUT)]
    pub title: Option<String>,
}

fn verify(text: &str) -> Result<Verify, String> {
    let found = Verify::NAMES.iter().find(|(name, _)| *name == text);
    found.map(|(_, verify)| *verify).ok_or_else(|| "expected stamps, full or off".to_owned())
}
