//! `sharebench export`: one run in a format of other programs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use sharebench_exchange::{iozone_text, parquet, xlsx};
use sharebench_results::{RunReference, StoredRun, write_csv, write_json};

use crate::exit::Failure;
use crate::flags::GlobalFlags;
use crate::output::{print_bytes, print_notes};
use crate::run::run_store::load;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Number, `last`, or FILE.db:NUMBER.
    pub run: RunReference,
    /// How.
    #[arg(long, value_enum)]
    pub format: ExportFormat,
    /// Where to write it [default: standard output; parquet and xlsx need a file].
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Forms of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One row per step.
    Csv,
    /// Everything, histograms included.
    Json,
    /// The columns of the CSV, typed.
    Parquet,
    /// IOzone's -R matrices.
    Iozone,
    /// A workbook: file sizes against record sizes per test, and the columns of the CSV.
    Xlsx,
}

/// Writes one run for other programs.
pub fn export(args: &ExportArgs, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    let binary = matches!(args.format, ExportFormat::Parquet | ExportFormat::Xlsx);
    if binary && args.output.is_none() {
        return Err(Failure::usage("--format parquet and xlsx are no text: name a file with --output FILE"));
    }
    let run = load(&args.run, &flags.db)?;
    let bytes = exported(&run, args.format, flags)?;
    match &args.output {
        None => print_bytes(&bytes),
        Some(path) => {
            std::fs::write(path, bytes)
                .map_err(|error| Failure::usage(format!("--output {}: {error}", path.display())))?;
            print_bytes(format!("export: {}\n", path.display()).as_bytes())
        }
    }
}

fn exported(run: &StoredRun, format: ExportFormat, flags: &GlobalFlags) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    match format {
        ExportFormat::Csv => write_csv(run, &mut bytes)?,
        ExportFormat::Json => write_json(run, &mut bytes)?,
        ExportFormat::Parquet => bytes = parquet(run).map_err(Failure::usage)?,
        ExportFormat::Xlsx => bytes = xlsx(run).map_err(Failure::usage)?,
        ExportFormat::Iozone => {
            let exported = iozone_text(run).map_err(Failure::usage)?;
            print_notes(&exported.notes, flags.quiet);
            bytes = exported.text.into_bytes();
        }
    }
    Ok(bytes)
}
