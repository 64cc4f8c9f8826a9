//! `sharebench export`: one run in a format of other programs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use sharebench_exchange::{iozone_text, parquet, xlsx};
use sharebench_report::plain;
use sharebench_results::{RunReference, StoredRun, write_csv, write_json};

use crate::exit::Failure;
use crate::files;
use crate::flags::output::{DatabaseFlags, QuietFlags};
use crate::output::{print_bytes, print_notes, print_out};
use crate::run::run_store::load;

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
    let run = load(&args.run, &args.database.db)?;
    let bytes = exported(&run, args.format, args.quiet)?;
    match &args.output {
        None => print_bytes(&bytes),
        Some(path) => {
            files::write(path, &bytes)
                .map_err(|error| Failure::usage(format!("--output {}: {error}", path.display())))?;
            print_out(&format!("export: {}\n", path.display()))
        }
    }
}

fn exported(run: &StoredRun, format: ExportFormat, quiet: QuietFlags) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    match format {
        ExportFormat::Csv => write_csv(run, &mut bytes)?,
        ExportFormat::Json => write_json(run, &mut bytes)?,
        ExportFormat::Parquet => bytes = parquet(run).map_err(Failure::usage)?,
        ExportFormat::Xlsx => bytes = xlsx(run).map_err(Failure::usage)?,
        ExportFormat::Iozone => {
            let exported = iozone_text(run).map_err(|error| Failure::usage(plain(&error.to_string())))?;
            print_notes(&exported.notes, quiet.quiet);
            bytes = exported.text.into_bytes();
        }
    }
    Ok(bytes)
}
