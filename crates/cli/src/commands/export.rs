//! `sharebench export`: one run in a format of other programs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use sharebench_exchange::{iozone_text, parquet, xlsx};
use sharebench_report::plain;
use sharebench_results::{RunReference, SpreadsheetText, StoredRun, WriteError, write_csv, write_json};

use crate::exit::Failure;
use crate::files;
use crate::flags::output::{DatabaseFlags, QuietFlags};
use crate::output::{print_notes, print_out, print_with};

pub const EXPORT_HELP: &str = "Examples:
  sharebench export last --format csv > run.csv
  sharebench export last --format xlsx -o run.xlsx";

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Run: a number, `last`, or FILE.db:NUMBER.
    pub run: RunReference,
    /// Output format.
    #[arg(long, value_enum)]
    pub format: ExportFormat,
    /// Write to FILE [default: standard output; parquet and xlsx need a file].
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// CSV: write texts that a spreadsheet would run as formulas as they are, without an apostrophe in front.
    #[arg(long)]
    pub exact_text: bool,
    /// IOzone: the target to write, of a run of several.
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,
    #[command(flatten)]
    pub database: DatabaseFlags,
    #[command(flatten)]
    pub quiet: QuietFlags,
}

/// Formats of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One row per step.
    Csv,
    /// The whole run, with its histograms.
    Json,
    /// The columns of the CSV with their types.
    Parquet,
    /// Matrices as of IOzone -R.
    Iozone,
    /// A workbook: file sizes x record sizes per test, and the columns of the CSV.
    Xlsx,
}

/// Writes one run.
pub fn export(args: &ExportArgs) -> Result<ExitCode, Failure> {
    let binary = matches!(args.format, ExportFormat::Parquet | ExportFormat::Xlsx);
    if binary && args.output.is_none() {
        return Err(Failure::usage("--format parquet and xlsx need a file: give --output FILE"));
    }
    if args.exact_text && args.format != ExportFormat::Csv {
        return Err(Failure::usage(
            "--exact-text is for --format csv; the other formats never change a text",
        ));
    }
    if args.target.is_some() && args.format != ExportFormat::Iozone {
        return Err(Failure::usage("--target is for --format iozone; the other formats write all targets"));
    }
    let store = args.run.open(&args.database.db)?;
    let run = args.run.resolve(&store)?;
    let texts = if args.exact_text { SpreadsheetText::Exact } else { SpreadsheetText::Defused };
    match args.format {
        ExportFormat::Csv => {
            let steps = store.stream(run)?;
            written(args, |out| write_csv(&steps, texts, out))
        }
        ExportFormat::Json => {
            let steps = store.stream(run)?;
            written(args, |out| write_json(&steps, out))
        }
        ExportFormat::Xlsx => {
            let bytes = xlsx(&store.stream(run)?).map_err(Failure::usage)?;
            written(args, |out| Ok(out.write_all(&bytes)?))
        }
        ExportFormat::Parquet | ExportFormat::Iozone => {
            let run = only_target(store.load(run)?, args.target.as_deref())?;
            let bytes = whole(&run, args.format, args.quiet)?;
            written(args, |out| Ok(out.write_all(&bytes)?))
        }
    }
}

/// Writes to the file of --output, or prints.
fn written(
    args: &ExportArgs,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), WriteError>,
) -> Result<ExitCode, Failure> {
    let Some(path) = &args.output else { return print_with(fill) };
    match files::write_with(path, fill) {
        Ok(()) if path == Path::new(files::STANDARD_OUTPUT) => Ok(ExitCode::SUCCESS),
        Ok(()) => print_out(&format!("export: {}\n", path.display())),
        Err(WriteError::Store(error)) => Err(error.into()),
        Err(WriteError::Output(error)) => {
            Err(Failure::usage(format!("--output {}: {error}", path.display())))
        }
    }
}

/// The run with the steps of one of its targets, or as it is.
fn only_target(mut run: StoredRun, name: Option<&str>) -> Result<StoredRun, Failure> {
    let Some(name) = name else { return Ok(run) };
    let Some(index) = run.header.targets.iter().position(|target| target.name == name) else {
        let names: Vec<String> = run.header.targets.iter().map(|target| plain(&target.name)).collect();
        let names = names.join(", ");
        return Err(Failure::usage(format!("--target {}: the run has {names}", plain(name))));
    };
    run.header.targets = vec![run.header.targets.swap_remove(index)];
    run.facts = run.facts.into_iter().skip(index).take(1).collect();
    run.steps.retain(|step| step.target as usize == index);
    for step in &mut run.steps {
        step.target = 0;
    }
    Ok(run)
}

/// The bytes of a format that is not written step by step.
fn whole(run: &StoredRun, format: ExportFormat, quiet: QuietFlags) -> Result<Vec<u8>, Failure> {
    if format == ExportFormat::Parquet {
        return parquet(run).map_err(Failure::usage);
    }
    let exported = iozone_text(run).map_err(|error| Failure::usage(plain(&error.to_string())))?;
    print_notes(&exported.notes, quiet.quiet);
    Ok(exported.text.into_bytes())
}
