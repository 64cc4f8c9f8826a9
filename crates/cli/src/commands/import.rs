//! `sharebench import`: results of other programs into the results database.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sharebench_exchange::{Format, Mapping, Options};
use sharebench_model::units::{counted, parse_duration};
use sharebench_report::plain;
use sharebench_results::Store;

use crate::exit::Failure;
use crate::flags::output::{DatabaseFlags, QuietFlags};
use crate::output::{print_notes, print_out};
use crate::run::environment::{COMMAND_FACT, command_line};

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Examples of `import`.
pub const IMPORT_HELP: &str = "Examples:
  sharebench import iozone.txt
  sharebench import fio.json --title 'nas, friday'
  sharebench import mdtest.txt --system nas
  sharebench import old.csv --map test=op --map file_size=mb:MiB --map record_size=kb:KiB \\
      --map rate=speed:KiB/s
  sharebench import wide.csv --map run=server --map rate.write=write:B/s --map rate.read=read:B/s \\
      --map file_size=size:B --map record_size=record:B --clock 10ms

Keys of --map: run (several runs in one file), target, test, file_size, record_size, queue_depth,
  jobs, users, repetition, response (mean), think (mean), transaction_size, reported (users), rate,
  rate.TEST, axis.NAME, fact.NAME.
Units of sizes: B, KB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024).
Units of rates: the same with /s, or ops/s. Units of times: us, ms, s.";

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// File with text of IOzone, mdtest or IO500, JSON of fio, or a CSV table.
    pub file: PathBuf,
    /// Format of the file [default: by its content].
    #[arg(long, value_enum)]
    pub format: Option<ImportFormat>,
    /// Meaning of a column: KEY=COLUMN or KEY=COLUMN:UNIT; KEY==VALUE sets a value for all rows. May be repeated.
    #[arg(long, value_name = "KEY=COLUMN:UNIT")]
    pub map: Vec<Mapping>,
    /// Title of the run [default: the name of the file].
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Name of the measured system [default: as in the file].
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// Resolution of the clock of the measurement, such as 54.9254ms for a DOS timer tick.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub clock: Option<Duration>,
    #[command(flatten)]
    pub database: DatabaseFlags,
    #[command(flatten)]
    pub quiet: QuietFlags,
}

/// Formats of other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// Text of IOzone: its table or its throughput mode.
    Iozone,
    /// Matrices of IOzone -R.
    IozoneR,
    /// JSON of fio (json or json+).
    Fio,
    /// Text of mdtest: its table SUMMARY rate.
    Mdtest,
    /// Text of IO500: its lines [RESULT].
    Io500,
    /// CSV as `export` writes it, or any other CSV with --map.
    Csv,
}

/// Adds the runs of a file to the results database: all of them or none.
pub fn import(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let name = args.file.display().to_string();
    let failure = |problem: &dyn std::fmt::Display| Failure::usage(format!("{name}: {problem}"));
    let metadata = std::fs::metadata(&args.file).map_err(|error| failure(&error))?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Err(failure(&"not a file, or larger than 256 MiB"));
    }
    let bytes = std::fs::read(&args.file).map_err(|error| failure(&error))?;
    let options = Options {
        format: args.format.map(|format| match format {
            ImportFormat::Iozone => Format::Iozone,
            ImportFormat::IozoneR => Format::IozoneMatrices,
            ImportFormat::Fio => Format::Fio,
            ImportFormat::Mdtest => Format::Mdtest,
            ImportFormat::Io500 => Format::Io500,
            ImportFormat::Csv => Format::Csv,
        }),
        title: args.title.clone(),
        system: args.system.clone(),
        clock_ns: args.clock.map(|clock| clock.as_nanos() as u64),
        map: args.map.clone(),
    };
    let mut imported =
        sharebench_exchange::import(&name, &bytes, &options).map_err(|error| failure(&error))?;
    for run in &mut imported.runs {
        run.header.environment.insert(COMMAND_FACT.to_owned(), command_line());
    }
    let ids = Store::open(&args.database.db)?.add_finished(&imported.runs)?;
    let mut out = String::new();
    for (id, run) in ids.iter().zip(&imported.runs) {
        let _ = writeln!(out, "run {id}: {}, {}", counted(run.steps.len(), "step"), plain(&run.header.title));
    }
    print_notes(&imported.notes, args.quiet.quiet);
    print_out(&out)
}
