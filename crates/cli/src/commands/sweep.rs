//! `sharebench sweep`: file sizes x record sizes x tests.

use clap::Args;
use sharebench_model::units::ByteSize;
use sharebench_plan::{Auto, Plan, ResolvedPlan, Sweep, Test, Values};

use crate::commands::cell_args::CellArgs;
use crate::commands::from_flags::{flat, resolve};
use crate::exit::Failure;
use crate::flags::heading;

pub const SWEEP_HELP: &str = "Examples:
  sharebench sweep /mnt/nas
  sharebench sweep smb://alice@nas/share nfs://nas/export --file-sizes 1MiB,64MiB --record-sizes 4KiB,64KiB
  sharebench sweep /mnt/nas --auto               # IOzone's 126 cells, 13 tests
  sharebench sweep /mnt/nas --tests random-mix --read-percent 30,70 --record-sizes '4KiB..1MiB x4'
  sharebench sweep smb://alice@nas/share --tests write,read --jobs 1,2,4 --shared-file";

pub type SweepArgs = CellArgs<SweepAxes>;

/// The axes of a sweep. An option with several values is an axis; every combination of values is a cell.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::WORKLOAD)]
pub struct SweepAxes {
    /// Use IOzone's matrix of file and record sizes: full (126 cells) or the form of 1993.
    #[arg(long, value_name = "MATRIX", num_args = 0..=1, default_missing_value = "full")]
    pub auto: Option<Auto>,
    /// File sizes; lists and ranges such as 64KiB..512MiB x2 [default: 64KiB,1MiB,16MiB].
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub file_sizes: Option<Vec<Values<ByteSize>>>,
    /// Record sizes: bytes per operation [default: 4KiB,64KiB,1MiB].
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub record_sizes: Option<Vec<Values<ByteSize>>>,
    /// Tests or groups of tests: usual, requests, streams, mmap, all; docs/sweeps.md lists them [default: usual].
    #[arg(long, value_name = "TESTS", value_delimiter = ',', value_parser = Test::named)]
    pub tests: Option<Vec<Vec<Test>>>,
    /// Queue depths: operations in flight per job [default: 1].
    #[arg(long, value_name = "DEPTHS", value_delimiter = ',')]
    pub depths: Option<Vec<Values<u32>>>,
    /// Throughput mode: run N jobs at once and measure their common window.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub jobs: Option<Vec<Values<u32>>>,
    /// Let all jobs share one file, each with its own part, instead of one file per job.
    #[arg(long, requires = "jobs")]
    pub shared_file: bool,
    /// Align offsets to multiples of SIZE; 0 means the record size [default: 0].
    #[arg(long, value_delimiter = ',', value_name = "SIZE")]
    pub align: Option<Vec<Values<ByteSize>>>,
    /// Distance between the records of stride-read, in records [default: 17].
    #[arg(long, value_delimiter = ',', value_name = "RECORDS")]
    pub stride: Option<Vec<Values<u32>>>,
    /// Percentage of reads in random-mix [default: 50].
    #[arg(long, value_delimiter = ',', value_name = "PERCENT")]
    pub read_percent: Option<Vec<Values<u32>>>,
    /// Buffer size of fwrite, frewrite, fread and freread [default: 64KiB].
    #[arg(long, value_name = "SIZE")]
    pub stream_buffer: Option<ByteSize>,
}

/// The plan of `sharebench sweep`.
pub fn plan(args: &SweepArgs) -> Result<ResolvedPlan, Failure> {
    let axes = &args.axes;
    let sweep = Sweep {
        auto: axes.auto,
        file_sizes: flat(axes.file_sizes.as_deref()),
        record_sizes: flat(axes.record_sizes.as_deref()),
        tests: axes.tests.as_deref().map(<[_]>::concat),
        depths: flat(axes.depths.as_deref()),
        jobs: flat(axes.jobs.as_deref()),
        shared_file: axes.shared_file.then_some(true),
        align: flat(axes.align.as_deref()),
        stride: flat(axes.stride.as_deref()),
        read_percent: flat(axes.read_percent.as_deref()),
        stream_buffer: axes.stream_buffer,
        policies: args.policies.typed(),
    };
    resolve(&Plan { sweep: Some(sweep), ..args.plan_without_grid("sweep")? })
}
