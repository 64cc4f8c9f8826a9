//! `sharebench depth`: request sizes x queue depths.

use clap::Args;
use sharebench_model::units::ByteSize;
use sharebench_plan::{Depth, Plan, ResolvedPlan, Test, Values};

use crate::commands::from_flags::{base, flat, resolve};
use crate::exit::Failure;
use crate::flags::cache_probes::CacheProbeFlags;
use crate::flags::measuring::MeasuringFlags;
use crate::flags::policies::PolicyFlags;

#[derive(Debug, Args)]
pub struct DepthArgs {
    /// Systems under test.
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Bytes of the file [default: 64MiB].
    #[arg(long)]
    pub file_size: Option<ByteSize>,
    /// Bytes per operation [default: 2KiB to 1MiB by doubling].
    #[arg(long, value_delimiter = ',')]
    pub record_sizes: Option<Vec<Values<ByteSize>>>,
    /// Operations in flight [default: 1,2,4,8].
    #[arg(long, value_delimiter = ',')]
    pub depths: Option<Vec<Values<u32>>>,
    /// Tests [default: read,rewrite,random-read,random-write].
    #[arg(long, value_delimiter = ',', value_parser = Test::named)]
    pub tests: Option<Vec<Vec<Test>>>,
    #[command(flatten)]
    pub policies: PolicyFlags,
    #[command(flatten)]
    pub cache_probes: CacheProbeFlags,
    #[command(flatten)]
    pub measuring: MeasuringFlags,
}

/// The plan of `sharebench depth`.
pub fn plan(args: &DepthArgs) -> Result<ResolvedPlan, Failure> {
    let depth = Depth {
        file_size: args.file_size,
        record_sizes: flat(args.record_sizes.as_deref()),
        depths: flat(args.depths.as_deref()),
        tests: args.tests.as_deref().map(<[_]>::concat),
        policies: args.policies.typed(),
    };
    let cache_probes = args.cache_probes.typed();
    resolve(&Plan { depth: Some(depth), cache_probes, ..base("depth", &args.targets, &args.measuring) })
}
