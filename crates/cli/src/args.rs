//! The commands of the program.

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use sharebench_model::{SCHEMES, url_options};

use crate::commands::clean::{CLEAN_HELP, CleanArgs};
use crate::commands::compare::{COMPARE_HELP, CompareArgs};
use crate::commands::completions::{COMPLETIONS_HELP, CompletionsArgs};
use crate::commands::demo::{DEMO_HELP, DemoArgs};
use crate::commands::depth::{DEPTH_HELP, DEPTH_SHORT_HELP, DepthArgs};
use crate::commands::diagnose::{DIAGNOSE_HELP, DiagnoseArgs};
use crate::commands::doctor::{DOCTOR_HELP, DoctorArgs};
use crate::commands::export::{EXPORT_HELP, ExportArgs};
use crate::commands::gate::{GATE_HELP, GateArgs};
use crate::commands::import::{IMPORT_HELP, ImportArgs};
use crate::commands::learn::{LEARN_HELP, LearnArgs};
use crate::commands::load::{LOAD_HELP, LOAD_SHORT_HELP, LoadArgs};
use crate::commands::presets::{PRESETS_HELP, PresetsArgs};
use crate::commands::probe::{PROBE_HELP, ProbeArgs};
use crate::commands::relay::{RELAY_HELP, RelayArgs};
use crate::commands::report::{REPORT_HELP, ReportArgs};
use crate::commands::runs::RunsArgs;
use crate::commands::serve::{SERVE_HELP, ServeArgs};
use crate::commands::show::ShowArgs;
use crate::commands::sweep::{SWEEP_HELP, SWEEP_SHORT_HELP, SweepArgs};
use crate::exit::TABLE;
use crate::flags::plan_file::RunArgs;

const TARGETS: &str = "Targets:
  /path or file:///path                   local directory or mounted share
      on Windows also C:\\dir, and file://server/share by the client of Windows
  smb://user@host[:port]/share/dir        SMB 2.0.2 to 3.1.1, without a mount; SMB1 with dialect=nt1
      ?<smb>
      also //server/share, \\\\server\\share, cifs://, DOMAIN\\user@ and DOMAIN;user@
  nfs://host[:port]/export/dir            NFS 3, 4.0, 4.1 and 4.2, without a mount
      ?<nfs>
      also server:/export
  ncp://user@host[:port]/VOLUME/dir       NetWare Core Protocol, without a mount
      ?<ncp>

NAME=TARGET names a target: fast=smb://alice@nas/share; ./a=b is a path.
@NAME is a target of ~/.config/sharebench/targets.toml; ./@a is a path.
Targets over a protocol on TCP also have ?far=20ms/100Mbit: a simulated distance.
--vary measures each target with several values of options, as in
--vary far=0,20ms --vary sign=off,required.
Passwords come from SHAREBENCH_PASSWORD, --password-file, ~/.netrc or a prompt.
";

/// The help of targets, with the examples of the options of each protocol.
fn targets() -> String {
    SCHEMES.into_iter().fold(TARGETS.to_owned(), |help, scheme| {
        let examples =
            url_options(scheme).filter_map(|option| Some(format!("{}={}", option.name, option.example?)));
        help.replace(&format!("<{scheme}>"), &examples.collect::<Vec<_>>().join("&"))
    })
}

/// Measure the performance of file shares, find its causes, and compare shares.
#[derive(Debug, Parser)]
#[command(name = "sharebench", version, max_term_width = 120, after_help = TABLE, after_long_help = format!("{}\n{TABLE}", targets()))]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// The program's commands with all options. `-h` of the commands with the most options shows only the usual ones.
pub fn command() -> clap::Command {
    Arguments::command().mut_subcommands(|command| match command.get_name() {
        "sweep" => SWEEP_SHORT_HELP.apply(command),
        "depth" => DEPTH_SHORT_HELP.apply(command),
        "load" => LOAD_SHORT_HELP.apply(command),
        _ => command,
    })
}

/// The arguments of the process.
pub fn parse() -> Result<Arguments, clap::Error> {
    Arguments::from_arg_matches(&command().try_get_matches()?)
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure embedded SMB, NFS and NCP servers and a local directory, compare them, and write a report.
    #[command(after_help = DEMO_HELP)]
    Demo(DemoArgs),
    /// Measure file sizes x record sizes x tests.
    #[command(after_help = SWEEP_SHORT_HELP.examples, after_long_help = SWEEP_HELP)]
    Sweep(Box<SweepArgs>),
    /// Measure record sizes x queue depths on direct, mounted and local targets, with CPU time per operation and byte.
    #[command(after_help = DEPTH_SHORT_HELP.examples, after_long_help = DEPTH_HELP)]
    Depth(DepthArgs),
    /// Measure steps of virtual users: throughput, mean response time (ART) and users that reported (MPS).
    #[command(after_help = LOAD_SHORT_HELP.examples, after_long_help = LOAD_HELP)]
    Load(LoadArgs),
    /// List the presets of `load`, with their parameters and sources.
    #[command(after_help = PRESETS_HELP)]
    Presets(PresetsArgs),
    /// Learn a workload from captures of a server or traces of a client, and report on that server; or survey a share.
    #[command(after_help = LEARN_HELP)]
    Learn(LearnArgs),
    /// Report what a server offers and which of it a run can use.
    #[command(after_help = PROBE_HELP)]
    Probe(ProbeArgs),
    /// Find out why a share is slow: where the time goes, the causes with their evidence, and the setting to change.
    #[command(after_help = DIAGNOSE_HELP)]
    Diagnose(DiagnoseArgs),
    /// Run or check a plan file, or finish an interrupted run.
    #[command(
        after_help = "Examples:\n  sharebench run plan.toml\n  sharebench run --check plan.toml\n  sharebench run --resume 3"
    )]
    Run(RunArgs),
    /// Run a plan, and fail if it is slower than the runs of this plan that passed before: for CI and nightly checks.
    #[command(after_help = GATE_HELP)]
    Gate(GateArgs),
    /// Serve a directory or memory over SMB, NFS and NCP.
    #[command(after_help = SERVE_HELP)]
    Serve(ServeArgs),
    /// Relay TCP connections with an added round-trip time and a limited rate, to simulate a distance.
    #[command(after_help = RELAY_HELP)]
    Relay(RelayArgs),
    /// Remove leftovers of interrupted runs from a target.
    #[command(after_help = CLEAN_HELP)]
    Clean(CleanArgs),
    /// List the runs in the results database.
    Runs(RunsArgs),
    /// Show a run: tables, findings, trust.
    #[command(after_help = "Example:\n  sharebench show last")]
    Show(ShowArgs),
    /// Compare runs or targets: which is faster, for which coordinates, and with which confidence.
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Write a report as HTML page, workbook or pictures, or serve all runs as web pages.
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
    /// Import results of IOzone, fio or a CSV table into the results database.
    #[command(after_help = IMPORT_HELP)]
    Import(ImportArgs),
    /// Export the steps of a run as CSV, JSON, Parquet, text of IOzone -R, or xlsx.
    #[command(after_help = EXPORT_HELP)]
    Export(ExportArgs),
    /// Examine what this machine can measure, and verify sharebench with known answers.
    #[command(after_help = DOCTOR_HELP)]
    Doctor(DoctorArgs),
    /// Print a completion script for a shell.
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
    /// Write the man pages to a directory.
    #[command(hide = true)]
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Existing directory for the pages.
    #[arg(value_name = "DIR")]
    pub directory: std::path::PathBuf,
}
