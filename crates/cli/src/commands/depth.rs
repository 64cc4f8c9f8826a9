//! `sharebench depth`: record sizes x queue depths.

use clap::Args;
use sharebench_model::units::ByteSize;
use sharebench_plan::{Depth, Plan, ResolvedPlan, Test, Values, record_tests};

use crate::commands::cell_args::CellArgs;
use crate::commands::from_flags::{flat, resolve};
use crate::exit::Failure;
use crate::flags::heading;
use crate::flags::short_help::{
    DATABASE, PASSWORD_FILE, PRECISION, QUICK, REPORT, ShortHelp, TIME_BUDGET, VARY,
};

/// What `depth -h` shows.
pub const DEPTH_SHORT_HELP: ShortHelp = ShortHelp {
    options: &[
        ("file_size", "Size of the file [default: 64MiB]"),
        ("record_sizes", "Bytes per operation, such as 4KiB,64KiB"),
        ("depths", "Queue depths, such as 1,2,4,8"),
        ("tests", "Tests, such as read,random-write"),
        QUICK,
        PRECISION,
        TIME_BUDGET,
        VARY,
        PASSWORD_FILE,
        DATABASE,
        REPORT,
    ],
    examples: "Examples:
  sharebench depth smb://alice@nas/share /mnt/nas /srv/disk
  sharebench depth nfs://nas/export --depths 1,8,32 --vary nconnect=1,4
  sharebench depth /mnt/nas --record-sizes 4KiB,64KiB --time-budget 10m
All options, by groups: sharebench depth --help",
};

pub const DEPTH_HELP: &str = "Example: direct, mounted and local, as in the Windows 2000 study
  sharebench depth smb://alice@nas/share /mnt/nas /srv/disk --record-sizes 4KiB,64KiB --depths 1,2,4,8";

pub type DepthArgs = CellArgs<DepthAxes>;

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
    /// Tests; docs/measure/sweeps.md lists them [default: read,rewrite,random-read,random-write].
    #[arg(long, value_name = "TESTS", value_delimiter = ',', value_parser = record_tests)]
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
    resolve::<DepthArgs>(&Plan { depth: Some(depth), ..args.plan_without_grid("depth")? })
}
