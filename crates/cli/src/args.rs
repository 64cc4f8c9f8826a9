//! What the user may type.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sharebench_model::units::{BitRate, ByteSize, parse_duration};
use sharebench_plan::{Auto, Test, Values, Verify};
use sharebench_results::RunReference;

use crate::bands::CacheProbeFlags;
use crate::compare::{COMPARE_HELP, CompareArgs};
use crate::doctor::DoctorArgs;
use crate::exchange::{ExportArgs, IMPORT_HELP, ImportArgs};
use crate::exit::TABLE;
use crate::load::{LOAD_HELP, LoadArgs, PresetsArgs};
use crate::outlets::OutletFlags;
use crate::policies::PolicyFlags;
use crate::ranks::{CostArgs, RankFlags};
use crate::repeating::Repeating;
use crate::report::{REPORT_HELP, ReportArgs};
use crate::serve::ServeArgs;
use crate::survey::SurveyArgs;

const TARGETS: &str = "Targets:
  /path or file:///path                   a local directory or a mounted share
  smb://user@host[:port]/share/dir        SMB 2.0.2 to 3.1.1 straight over the protocol
      ?dialect=3.1.1&sign=required&encrypt=required&domain=...
  nfs://host[:port]/export/dir            NFSv3 straight over the protocol
      ?vers=3&mountport=...&uid=...&gid=...
  ncp://user@host[:port]/VOLUME/dir       NetWare Core Protocol straight over the protocol
      ?transport=tcp|udp|ipx&sign=0..3&buffer=61440&split=on&burst=on&window=61440&connections=...

Passwords come from SHAREBENCH_PASSWORD, --password-file, ~/.netrc or a prompt.
";

/// How fast a file share really is, what made it so, and which of two is faster.
#[derive(Debug, Parser)]
#[command(name = "sharebench", version, max_term_width = 110, after_help = TABLE, after_long_help = format!("{TARGETS}\n{TABLE}"))]
pub struct Arguments {
    #[command(flatten)]
    pub flags: GlobalFlags,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags of every command.
#[derive(Debug, Args)]
pub struct GlobalFlags {
    /// The results database: one SQLite file of runs.
    #[arg(long, global = true, default_value = "sharebench.db", value_name = "FILE")]
    pub db: PathBuf,
    /// File with the password of SMB and NCP targets in its first line.
    #[arg(long, global = true, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Print no progress.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Commands that measure: print what happens as JSON lines on standard output, and nothing else there.
    #[arg(long, global = true, conflicts_with = "quiet")]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sweep embedded SMB, NFS and NCP servers beside a local directory, run users in steps, compare and report.
    #[command(
        after_help = "Example:\n  sharebench demo            # about a minute; then open the report it names"
    )]
    Demo(DemoArgs),
    /// File sizes x record sizes x tests.
    #[command(after_help = "Examples:
  sharebench sweep /mnt/nas
  sharebench sweep smb://alice@nas/share nfs://nas/export --file-sizes 1MiB,64MiB --record-sizes 4KiB,64KiB
  sharebench sweep /mnt/nas --auto               # IOzone's 126 cells, 13 tests
  sharebench sweep /mnt/nas --tests random-mix --read-percent 30,70 --record-sizes '4KiB..1MiB x4'
  sharebench sweep smb://alice@nas/share --tests write,read --jobs 1,2,4 --shared-file")]
    Sweep(SweepArgs),
    /// Request sizes x queue depths over direct, mounted and local targets, with CPU per request and per byte.
    #[command(after_help = "Example: the three roads of the Windows 2000 study side by side
  sharebench depth smb://alice@nas/share /mnt/nas /srv/disk --record-sizes 4KiB,64KiB --depths 1,2,4,8")]
    Depth(DepthArgs),
    /// Users in steps: throughput, response time (ART) and users that reported (MPS) per step.
    #[command(after_help = LOAD_HELP)]
    Load(LoadArgs),
    /// List the built-in workloads of `load --preset`, with their sources.
    Presets(PresetsArgs),
    /// Inventory a share into a workload file: sizes, types, depths; no names.
    #[command(after_help = "Examples:
  sharebench survey /mnt/nas -o mine.toml
  sharebench load smb://alice@nas/share --preset mine.toml")]
    Survey(SurveyArgs),
    /// Run a plan file, or finish an interrupted run.
    #[command(after_help = "Examples:\n  sharebench run plan.toml\n  sharebench run --resume 3")]
    Run(RunArgs),
    /// Look at a plan without running it.
    Plan(PlanArgs),
    /// Serve a directory or memory over SMB, NFSv3 and NCP.
    #[command(after_help = "Examples:
  SHAREBENCH_PASSWORD=... sharebench serve /srv --smb 127.0.0.1:4450 --nfs 127.0.0.1:2049 --account alice
  SHAREBENCH_PASSWORD=... sharebench serve /srv --ncp 127.0.0.1:5240 --account alice --name sys
  sharebench serve --memory 1GiB --nfs 127.0.0.1:2049 --service-time 2ms --cache 64MiB")]
    Serve(ServeArgs),
    /// Remove what killed runs left on a target.
    #[command(
        after_help = "Example:\n  sharebench clean smb://alice@nas/share --directory .sharebench-1f2e3d4c"
    )]
    Clean(CleanArgs),
    /// List the runs of the results database.
    Runs,
    /// Show one run: tables, findings, trust.
    #[command(after_help = "Example:\n  sharebench show last")]
    Show(ShowArgs),
    /// Compare runs, or targets, by coordinates: which is faster, where, and how sure.
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Write a report: one HTML page, tables, a workbook, pictures; or show all runs in the browser.
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
    /// Bring results of IOzone, fio or a table into the results database.
    #[command(after_help = IMPORT_HELP)]
    Import(ImportArgs),
    /// Write one run as CSV, JSON, Parquet, IOzone -R text or xlsx.
    #[command(after_help = "Examples:
  sharebench export last --format csv > run.csv
  sharebench export last --format xlsx -o run.xlsx")]
    Export(ExportArgs),
    /// Say what this machine can measure, and prove it against servers with known truth.
    #[command(after_help = "Examples:
  sharebench doctor                       # some seconds
  sharebench doctor --prove --quick       # some minutes
  sharebench doctor --prove --only K1,K18 --format json")]
    Doctor(DoctorArgs),
    /// Measure what it costs to be many: plan, barrier, clocks, reduction and store by number of ranks.
    #[command(after_help = "Examples:
  mpirun -np 64 --oversubscribe sharebench ranks
  sharebench ranks --threads 16 --to 10000      # rehearsed by threads of this process")]
    Ranks(CostArgs),
    /// Print shell completions.
    Completions(CompletionArgs),
}

impl Command {
    /// True for commands that make a run.
    pub fn measures(&self) -> bool {
        matches!(self, Self::Demo(_) | Self::Sweep(_) | Self::Depth(_) | Self::Load(_) | Self::Run(_))
    }
}

/// Flags of every command that measures; a missing one means the plan's default.
#[derive(Debug, Args, Default)]
pub struct Measuring {
    /// What to call the run.
    #[arg(long)]
    pub title: Option<String>,
    /// Seed of every random choice [default: a new one].
    #[arg(long)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub repeating: Repeating,
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
    pub outlets: OutletFlags,
    /// Rate of the link to the targets, such as 1Gbit [default: what the route's device says].
    #[arg(long, value_name = "RATE")]
    pub link: Option<BitRate>,
    /// Also write an HTML report.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub ranks: RankFlags,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where to write the report.
    #[arg(long, short, default_value = "sharebench-demo.html")]
    pub output: PathBuf,
}

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
    pub measuring: Measuring,
}

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
    pub measuring: Measuring,
}

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
    pub outlets: OutletFlags,
    /// Also write an HTML report.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub ranks: RankFlags,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(subcommand)]
    pub command: PlanCommand,
}

#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Check a plan and say what would run and for how long.
    Check {
        /// The plan.
        #[arg(value_name = "PLAN.toml")]
        plan: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Where to look.
    pub target: String,
    /// Only this directory [default: every .sharebench-* directory].
    #[arg(long, value_name = ".sharebench-ID")]
    pub directory: Option<String>,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Number, `last`, or FILE.db:NUMBER.
    pub run: RunReference,
    /// How.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print the run's plan instead; `sharebench run` repeats it.
    #[arg(long)]
    pub plan: bool,
}

#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// For which shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Forms of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for the terminal.
    Text,
    /// Markdown.
    Md,
    /// The whole analysis as JSON.
    Json,
    /// One row per cell.
    Csv,
}

fn verify(text: &str) -> Result<Verify, String> {
    let found = Verify::NAMES.iter().find(|(name, _)| *name == text);
    found.map(|(_, verify)| *verify).ok_or_else(|| "stamps, full or off".to_owned())
}
