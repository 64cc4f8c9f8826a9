//! `sharebench depth`: record sizes x queue depths.

use clap::Args;
use sharebench_model::units::ByteSize;
use sharebench_plan::{Depth, Plan, ResolvedPlan, Test, Values};

use crate::commands::from_flags::{base, flat, repeated, resolve};
use crate::exit::Failure;
use crate::flags::cache_probes::CacheProbeFlags;
use crate::flags::cell_repetition::CellRepetitionFlags;
use crate::flags::heading;
use crate::flags::plan_flags::PlanFlags;
use crate::flags::policies::PolicyFlags;
use crate::flags::ranks::RankFlags;
use crate::flags::run_flags::RunFlags;

pub const DEPTH_HELP: &str = "Example: direct, mounted and local, as in the Windows 2000 study
  sharebench depth smb://alice@nas/share /mnt/nas /srv/disk --record-sizes 4KiB,64KiB --depths 1,2,4,8";

#[derive(Debug, Args)]
pub struct DepthArgs {
    /// Targets to measure: paths or URLs.
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub axes: DepthAxes,
    #[command(flatten)]
    pub repetition: CellRepetitionFlags,
    #[command(flatten)]
    pub policies: PolicyFlags,
    #[command(flatten)]
    pub cache_probes: CacheProbeFlags,
    #[command(flatten)]
    pub run: RunFlags,
    #[command(flatten)]
    pub plan: PlanFlags,
    #[command(flatten)]
    pub ranks: RankFlags,
}

/// The axes of a depth study.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::WORKLOAD)]
pub struct DepthAxes {
    /// File size [default: 64MiB].
    #[arg(long, value_name = "SIZE")]
    pub file_size: Option<ByteSize>,
    /// Record sizes: bytes per operation [default: 2KiB to 1MiB by doubling].
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub record_sizes: Option<Vec<Values<ByteSize>>>,
    /// Queue depths: operations in flight [default: 1,2,4,8].
    #[arg(long, value_name = "DEPTHS", value_delimiter = ',')]
    pub depths: Option<Vec<Values<u32>>>,
    /// Tests; docs/sweeps.md lists them [default: read,rewrite,random-read,random-write].
    #[arg(long, value_name = "TESTS", value_delimiter = ',', value_parser = Test::named)]
    pub tests: Option<Vec<Vec<Test>>>,
}

/// The plan of `sharebench depth`.
pub fn plan(args: &DepthArgs) -> Result<ResolvedPlan, Failure> {
    let depth = Depth {
        file_size: args.axes.file_size,
        record_sizes: flat(args.axes.record_sizes.as_deref()),
        depths: flat(args.axes.depths.as_deref()),
        tests: args.axes.tests.as_deref().map(<[_]>::concat),
        policies: args.policies.typed(),
    };
    let plan = repeated(base("depth", &args.targets, &args.plan), &args.repetition);
    resolve(&Plan { depth: Some(depth), cache_probes: args.cache_probes.typed(), ..plan })
}
