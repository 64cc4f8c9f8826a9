//! `sharebench sweep`: file sizes x record sizes x tests.

use clap::Args;
use sharebench_model::units::ByteSize;
use sharebench_plan::{Auto, Plan, ResolvedPlan, Sweep, Test, Values};

use crate::commands::from_flags::{base, flat, resolve};
use crate::exit::Failure;
use crate::flags::cache_probes::CacheProbeFlags;
use crate::flags::measuring::MeasuringFlags;
use crate::flags::policies::PolicyFlags;

#[derive(Debug, Args)]
pub struct SweepArgs {
    /// Systems under test.
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// IOzone's matrix of file and record sizes: 126 cells ("full"), or its form of 1993.
    #[arg(long, value_name = "MATRIX", num_args = 0..=1, default_missing_value = "full")]
    pub auto: Option<Auto>,
    /// Bytes per file; lists and ranges such as 64KiB..512MiB x2 [default: 64KiB,1MiB,16MiB].
    #[arg(long, value_delimiter = ',')]
    pub file_sizes: Option<Vec<Values<ByteSize>>>,
    /// Bytes per operation [default: 4KiB,64KiB,1MiB].
    #[arg(long, value_delimiter = ',')]
    pub record_sizes: Option<Vec<Values<ByteSize>>>,
    /// Tests, or groups of them: usual, requests, streams, mmap, all; see docs/sweeps.md [default: usual].
    #[arg(long, value_delimiter = ',', value_parser = Test::named)]
    pub tests: Option<Vec<Vec<Test>>>,
    /// Operations in flight per job [default: 1].
    #[arg(long, value_delimiter = ',')]
    pub depths: Option<Vec<Values<u32>>>,
    /// Throughput mode: run N jobs at once, over one common window.
    #[arg(long, value_delimiter = ',')]
    pub jobs: Option<Vec<Values<u32>>>,
    /// The jobs share one file, each with a part of its own, instead of having a file each.
    #[arg(long, requires = "jobs")]
    pub shared_file: bool,
    /// What offsets are multiples of; 0 for the record size [default: 0].
    #[arg(long, value_delimiter = ',', value_name = "SIZE")]
    pub align: Option<Vec<Values<ByteSize>>>,
    /// Distance of stride-read in records [default: 17].
    #[arg(long, value_delimiter = ',', value_name = "RECORDS")]
    pub stride: Option<Vec<Values<u32>>>,
    /// Percent of reads in random-mix [default: 50].
    #[arg(long, value_delimiter = ',', value_name = "PERCENT")]
    pub read_percent: Option<Vec<Values<u32>>>,
    /// Buffer of the streams of fwrite, frewrite, fread and freread [default: 64KiB].
    #[arg(long, value_name = "SIZE")]
    pub stream_buffer: Option<ByteSize>,
    #[command(flatten)]
    pub policies: PolicyFlags,
    #[command(flatten)]
    pub cache_probes: CacheProbeFlags,
    #[command(flatten)]
    pub measuring: MeasuringFlags,
}

/// The plan of `sharebench sweep`.
pub fn plan(args: &SweepArgs) -> Result<ResolvedPlan, Failure> {
    let sweep = Sweep {
        auto: args.auto,
        file_sizes: flat(args.file_sizes.as_deref()),
        record_sizes: flat(args.record_sizes.as_deref()),
        tests: args.tests.as_deref().map(<[_]>::concat),
        depths: flat(args.depths.as_deref()),
        jobs: flat(args.jobs.as_deref()),
        shared_file: args.shared_file.then_some(true),
        align: flat(args.align.as_deref()),
        stride: flat(args.stride.as_deref()),
        read_percent: flat(args.read_percent.as_deref()),
        stream_buffer: args.stream_buffer,
        policies: args.policies.typed(),
    };
    let cache_probes = args.cache_probes.typed();
    resolve(&Plan { sweep: Some(sweep), cache_probes, ..base("sweep", &args.targets, &args.measuring) })
}
