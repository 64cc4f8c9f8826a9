//! `sharebench sweep`: file sizes x record sizes x tests.

use clap::Args;
use sharebench_model::units::ByteSize;
use sharebench_plan::{
    Auto, DirectoryLayout, Io500, MetadataAxes, Plan, Policies, ResolvedPlan, Sweep, SweepPreset, SweepTest,
    SweepTestName, Values,
};

use crate::commands::cell_args::CellArgs;
use crate::commands::from_flags::{flat, resolve};
use crate::exit::Failure;
use crate::flags::heading;
use crate::flags::short_help::{
    DATABASE, PASSWORD_FILE, PRECISION, QUICK, REPORT, ShortHelp, TIME_BUDGET, VARY,
};

/// What `sweep -h` shows.
pub const SWEEP_SHORT_HELP: ShortHelp = ShortHelp {
    options: &[
        ("file_sizes", "File sizes, such as 64KiB,1MiB or 1MiB..1GiB x4"),
        ("record_sizes", "Bytes per operation, such as 4KiB,1MiB"),
        ("tests", "Tests or groups, such as read,write or metadata"),
        ("depths", "Queue depths: operations in flight per job"),
        ("jobs", "Jobs at once"),
        QUICK,
        PRECISION,
        TIME_BUDGET,
        VARY,
        PASSWORD_FILE,
        DATABASE,
        REPORT,
    ],
    examples: "Examples:
  sharebench sweep smb://alice@nas/share nfs://nas/export /mnt/nas --quick
  sharebench sweep /mnt/nas --file-sizes 1MiB,64MiB --tests read,random-read
  sharebench sweep nfs://nas/export --tests metadata --vary nconnect=1,4
All options, by groups: sharebench sweep --help",
};

pub const SWEEP_HELP: &str = "Examples:
  sharebench sweep /mnt/nas
  sharebench sweep smb://alice@nas/share nfs://nas/export --file-sizes 1MiB,64MiB --record-sizes 4KiB,64KiB
  sharebench sweep /mnt/nas --auto               # IOzone's 126 cells, 13 tests
  sharebench sweep /mnt/nas --tests random-mix --read-percent 30,70 --record-sizes '4KiB..1MiB x4'
  sharebench sweep smb://alice@nas/share --tests write,read --jobs 1,2,4 --shared-file
  sharebench sweep nfs://nas/export --tests metadata --entries '1000..100000 x10' --jobs 4 --layouts own,shared
  sharebench sweep smb://alice@nas/share nfs://nas/export?vers=4.2 --tests server-side --copy-sizes 1MiB,1GiB
  sharebench sweep smb://alice@nas/share nfs://nas/export?vers=4.1 --tests locks --jobs 2,8";

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
    /// Tests or groups of tests: usual, requests, streams, mmap, all (docs/measure/sweeps.md lists them), metadata
    /// and server-side (docs/measure/metadata.md), locks (docs/measure/locks.md). Or, alone, phases of IO500: mdtest-easy
    /// (empty files, own directories), mdtest-hard (3901 bytes, one directory for all jobs), io500 (all phases and the
    /// score; takes --jobs, --file-sizes and --entries; not an official submission) [default: usual].
    #[arg(long, value_name = "TESTS", value_delimiter = ',')]
    pub tests: Option<Vec<SweepTestName>>,
    /// Queue depths: operations in flight per job [default: 1].
    #[arg(long, value_name = "DEPTHS", value_delimiter = ',')]
    pub depths: Option<Vec<Values<u32>>>,
    /// Throughput mode: run N jobs at once and measure their common window.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub jobs: Option<Vec<Values<u32>>>,
    /// Let all jobs share one file, each with its own part, instead of one file per job.
    #[arg(long, requires = "jobs")]
    pub shared_file: bool,
    /// Percentage of reads in random-mix [default: 50].
    #[arg(long, value_delimiter = ',', value_name = "PERCENT")]
    pub read_percent: Option<Vec<Values<u32>>>,
    /// Entries per directory of the metadata tests; lists and ranges such as 1..1000000 x10 [default: 1000].
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub entries: Option<Vec<Values<u32>>>,
    /// Directories of the metadata tests: own (one per job), shared (one for all jobs), tree [default: own].
    #[arg(long, value_name = "LAYOUTS", value_delimiter = ',')]
    pub layouts: Option<Vec<DirectoryLayout>>,
    /// Bytes of each file that create-write, truncate and open-read-close use [default: 3901B].
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub entry_sizes: Option<Vec<Values<ByteSize>>>,
    /// Let tests whose files are empty, such as stat and unlink, work on files of --entry-sizes.
    #[arg(long)]
    pub filled: bool,
    /// Bytes of each file that server-copy, clone, punch-hole and sparse-read use; multiples of 64KiB [default:
    /// 1MiB,16MiB].
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub copy_sizes: Option<Vec<Values<ByteSize>>>,
}

/// The plan of `sharebench sweep`.
pub fn plan(args: &SweepArgs) -> Result<ResolvedPlan, Failure> {
    let axes = &args.axes;
    let (preset, (tests, metadata_tests)) = match axes.tests.as_deref() {
        None => (None, (None, None)),
        Some([SweepTestName::Preset(SweepPreset::Io500)]) => {
            let io500 = Some(io500(axes, &args.policies.typed())?);
            return resolve::<SweepArgs>(&Plan { io500, ..args.plan_without_grid("io500")? });
        }
        Some([SweepTestName::Preset(SweepPreset::Metadata(preset))]) => (Some(*preset), (None, None)),
        Some(names) => (None, SweepTest::divided(&single_tests(names)?)),
    };
    let metadata = MetadataAxes {
        tests: metadata_tests,
        entries: flat(axes.entries.as_deref()),
        layouts: axes.layouts.clone(),
        entry_sizes: flat(axes.entry_sizes.as_deref()),
        filled: axes.filled.then_some(true),
        copy_sizes: flat(axes.copy_sizes.as_deref()),
        ..MetadataAxes::default()
    };
    let metadata = match preset {
        Some(preset) => metadata.with_preset(preset),
        None => metadata,
    };
    let sweep = Sweep {
        auto: axes.auto,
        file_sizes: flat(axes.file_sizes.as_deref()),
        record_sizes: flat(axes.record_sizes.as_deref()),
        tests,
        depths: flat(axes.depths.as_deref()),
        jobs: flat(axes.jobs.as_deref()),
        shared_file: axes.shared_file.then_some(true),
        read_percent: flat(axes.read_percent.as_deref()),
        policies: args.policies.typed(),
        metadata,
        ..Sweep::default()
    };
    resolve::<SweepArgs>(&Plan { sweep: Some(sweep), ..args.plan_without_grid("sweep")? })
}

/// The tests of several names. Names that set the axes of their tests stand alone.
fn single_tests(names: &[SweepTestName]) -> Result<Vec<SweepTest>, Failure> {
    let mut tests = Vec::new();
    for name in names {
        let SweepTestName::Tests(named) = name else {
            let presets = SweepPreset::NAMES.join(", ");
            return Err(Failure::usage(format!(
                "--tests: {presets} set the axes of their tests; give one of them alone"
            )));
        };
        tests.extend(named);
    }
    Ok(tests)
}

/// The section of a plan with the phases of IO500. What the phases fix is a mistake of the user.
fn io500(axes: &SweepAxes, policies: &Policies) -> Result<Io500, Failure> {
    let fixed = [
        ("--auto", axes.auto.is_some()),
        ("--record-sizes", axes.record_sizes.is_some()),
        ("--depths", axes.depths.is_some()),
        ("--shared-file", axes.shared_file),
        ("--read-percent", axes.read_percent.is_some()),
        ("--layouts", axes.layouts.is_some()),
        ("--entry-sizes", axes.entry_sizes.is_some()),
        ("--filled", axes.filled),
        ("--copy-sizes", axes.copy_sizes.is_some()),
        ("--cache", policies.cache.is_some()),
        ("--sync", policies.sync.is_some()),
        ("--server-cache", policies.server_cache.is_some()),
        ("--include", policies.include.is_some()),
    ];
    if let Some((flag, _)) = fixed.into_iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!("{flag}: the phases of --tests io500 are fixed; leave it out")));
    }
    Ok(Io500 {
        jobs: single("--jobs", axes.jobs.as_deref())?,
        file_size: single("--file-sizes", axes.file_sizes.as_deref())?,
        entries: single("--entries", axes.entries.as_deref())?,
    })
}

/// The only value of an option; none where it is not given.
fn single<T: Copy>(flag: &str, values: Option<&[Values<T>]>) -> Result<Option<T>, Failure> {
    match flat(values).as_deref() {
        None => Ok(None),
        Some([value]) => Ok(Some(*value)),
        Some(_) => Err(Failure::usage(format!("{flag}: --tests io500 takes one value"))),
    }
}
