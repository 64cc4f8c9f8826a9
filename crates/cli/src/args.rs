//! What the user may type.

use clap::{Args, Parser, Subcommand};

use crate::commands::clean::CleanArgs;
use crate::commands::compare::{COMPARE_HELP, CompareArgs};
use crate::commands::demo::DemoArgs;
use crate::commands::depth::DepthArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::export::ExportArgs;
use crate::commands::import::{IMPORT_HELP, ImportArgs};
use crate::commands::load::{LOAD_HELP, LoadArgs};
use crate::commands::plan::PlanArgs;
use crate::commands::presets::PresetsArgs;
use crate::commands::ranks::CostArgs;
use crate::commands::report::{REPORT_HELP, ReportArgs};
use crate::commands::serve::ServeArgs;
use crate::commands::show::ShowArgs;
use crate::commands::survey::SurveyArgs;
use crate::commands::sweep::SweepArgs;
use crate::exit::TABLE;
use crate::flags::GlobalFlags;
use crate::flags::plan_file::RunArgs;

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

#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// For which shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
