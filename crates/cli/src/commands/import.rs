//! `sharebench import`: results of other programs into the results database.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sharebench_exchange::{Format, Mapping, Options};
use sharebench_model::units::parse_duration;
use sharebench_results::Store;

use crate::exit::Failure;
use crate::flags::GlobalFlags;
use crate::output::{print_bytes, print_notes};
use crate::run::environment::{COMMAND_FACT, command_line};

/// Files larger than this are no results of a benchmark.
const LARGEST: u64 = 256 << 20;

/// Examples of `import`.
pub const IMPORT_HELP: &str = "Examples:
  sharebench import iozone.txt
  sharebench import fio.json --title 'nas, friday'
  sharebench import old.csv --map test=op --map file_size=mb:MiB --map record_size=kb:KiB \\
      --map rate=speed:KiB/s
  sharebench import wide.csv --map run=server --map rate.write=write:B/s --map rate.read=read:B/s \\
      --map file_size=size:B --map record_size=record:B --clock 10ms

Keys of --map: run (several runs in one file), target, test, file_size, record_size, queue_depth,
  users, repetition, response (mean), reported (users), rate, rate.TEST, axis.NAME, fact.NAME.
Units: B, KB, MB, GB (thousands), KiB, MiB, GiB (1024) for sizes; the same with /s, or ops/s,
  for rates.";

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// IOzone's text, fio's JSON or a table of comma-separated values.
    pub file: PathBuf,
    /// What the file is [default: found by its content].
    #[arg(long, value_enum)]
    pub format: Option<ImportFormat>,
    /// What a column of a table means: KEY=COLUMN, KEY=COLUMN:UNIT, or KEY==VALUE for every row.
    #[arg(long, value_name = "KEY=COLUMN:UNIT")]
    pub map: Vec<Mapping>,
    /// What to call the run [default: the name of the file].
    #[arg(long)]
    pub title: Option<String>,
    /// What to call the system that was measured [default: what the file says].
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// Resolution of the clock that measured, such as 54.9254ms for a DOS timer tick.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub clock: Option<Duration>,
}

/// Forms of foreign results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// The text of IOzone: its table, or its throughput mode.
    Iozone,
    /// The -R matrices of IOzone.
    IozoneR,
    /// fio's JSON (json or json+).
    Fio,
    /// Comma-separated values, ours or any with --map.
    Csv,
}

/// Adds the runs of a file to the results database, all or none.
pub fn import(args: &ImportArgs, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    let name = args.file.display().to_string();
    let blame = |problem: &dyn std::fmt::Display| Failure::usage(format!("{name}: {problem}"));
    let metadata = std::fs::metadata(&args.file).map_err(|error| blame(&error))?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(blame(&"not a file of at most 256 MiB"));
    }
    let bytes = std::fs::read(&args.file).map_err(|error| blame(&error))?;
    let options = Options {
        format: args.format.map(|format| match format {
            ImportFormat::Iozone => Format::Iozone,
            ImportFormat::IozoneR => Format::IozoneMatrices,
            ImportFormat::Fio => Format::Fio,
            ImportFormat::Csv => Format::Csv,
        }),
        title: args.title.clone(),
        system: args.system.clone(),
        clock_ns: args.clock.map(|clock| clock.as_nanos() as u64),
        map: args.map.clone(),
    };
    let mut imported = sharebench_exchange::import(&name, &bytes, &options).map_err(|error| blame(&error))?;
    for run in &mut imported.runs {
        run.header.environment.insert(COMMAND_FACT.to_owned(), command_line());
    }
    let ids = Store::open(&flags.db)?.add_finished(&imported.runs)?;
    let mut out = String::new();
    for (id, run) in ids.iter().zip(&imported.runs) {
        let steps = if run.steps.len() == 1 { "step" } else { "steps" };
        let _ = writeln!(out, "run {id}: {} {steps}, {}", run.steps.len(), run.header.title);
    }
    print_notes(&imported.notes, flags.quiet);
    print_bytes(out.as_bytes())
}
