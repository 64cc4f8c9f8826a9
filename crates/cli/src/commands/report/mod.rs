//! `sharebench report`: runs as a page, a workbook or pictures, or all runs in the browser.

mod images;
#[cfg(feature = "pages")]
mod pages;

#[cfg(feature = "pages")]
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use sharebench_analysis::Analysis;
use sharebench_exchange::{SheetCell, Workbook};
use sharebench_report::write_html;
use sharebench_results::RunReference;

use crate::exit::Failure;
use crate::files;
use crate::flags::output::DatabaseFlags;
use crate::output::print_out;
use crate::run::run_store::{analyse_loaded, load};

pub const REPORT_HELP: &str = "Examples:
  sharebench report 1 2 -o nas.html
  sharebench report last -o nas.xlsx                 # the file extension selects the format
  sharebench report last --images slides             # each chart as SVG and PNG
  sharebench report --serve                          # all runs of the results database, in the browser

`sharebench show` and `compare` print the same analysis as text, md, json or csv.
docs/measure/reports.md explains each chart.";

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Runs: numbers, `last`, or FILE.db:NUMBER.
    #[cfg_attr(feature = "pages", arg(required_unless_present = "serve"))]
    #[cfg_attr(not(feature = "pages"), arg(required = true))]
    #[arg(value_name = "RUN")]
    pub runs: Vec<RunReference>,
    /// Write to FILE: a self-contained page with charts (.html, or - for standard output), or a workbook with the findings and
    /// one sheet per test (.xlsx).
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also write each chart as SVG and PNG to DIR; needs Chromium.
    #[arg(long, value_name = "DIR")]
    pub images: Option<PathBuf>,
    /// Browser that draws the charts [default: chromium, chromium-browser, google-chrome or chrome in PATH].
    #[arg(long, value_name = "PROGRAM", requires = "images")]
    pub browser: Option<PathBuf>,
    /// Serve all runs of the results database as web pages: filter, select, compare, open. Read-only; loopback addresses only.
    #[cfg(feature = "pages")]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", conflicts_with_all = ["runs", "output", "images"])]
    pub serve: Option<SocketAddr>,
    #[command(flatten)]
    pub database: DatabaseFlags,
}

/// Formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportFormat {
    Html,
    Xlsx,
}

/// Writes a report, or serves all runs as pages.
pub fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    #[cfg(feature = "pages")]
    if let Some(address) = args.serve {
        return pages::serve(address, &args.database.db);
    }
    let output = match args.output.as_deref() {
        Some(path) => Some((path, by_extension(path)?)),
        None => None,
    };
    if output.is_none() && args.images.is_none() {
        return Err(Failure::usage("--output: give a file that ends with .html or .xlsx, or --images DIR"));
    }
    let runs = args.runs.iter().map(|run| load(run, &args.database.db)).collect::<Result<Vec<_>, _>>()?;
    let analysis = analyse_loaded(runs)?;
    let mut summary = String::new();
    if let Some(directory) = &args.images {
        let count = images::write(&analysis, directory, args.browser.as_deref())?;
        summary = format!("images: {count} files in {}\n", directory.display());
    }
    if let Some((path, format)) = output {
        write(path, &analysis, format)?;
        // Standard output has the report and nothing else.
        if path == Path::new(files::STANDARD_OUTPUT) {
            return Ok(ExitCode::SUCCESS);
        }
        summary = format!("{summary}report: {}\n", path.display());
    }
    print_out(&summary)
}

/// The format that the extension of a file names.
fn by_extension(path: &Path) -> Result<ReportFormat, Failure> {
    if path == Path::new(files::STANDARD_OUTPUT) {
        return Ok(ReportFormat::Html);
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" => Ok(ReportFormat::Html),
        "xlsx" => Ok(ReportFormat::Xlsx),
        _ => Err(Failure::usage(format!(
            "--output {}: a report is a page (.html) or a workbook (.xlsx); `sharebench show RUN --format md`, json or csv \
             prints the same analysis",
            path.display()
        ))),
    }
}

fn workbook(analysis: &Analysis) -> Result<Vec<u8>, Failure> {
    let mut book = Workbook::default();
    for sheet in sharebench_report::sheets(analysis) {
        let into = book.sheet(&sheet.name);
        let mut rows = sheet.rows.into_iter();
        into.header(rows.next().unwrap_or_default());
        for row in rows {
            into.row(row.into_iter().map(|text| match text.parse::<f64>() {
                Ok(number) if number.is_finite() => SheetCell::Number(number),
                _ if text.is_empty() => SheetCell::Empty,
                _ => SheetCell::Text(text),
            }));
        }
    }
    book.bytes().map_err(Failure::usage)
}

/// Writes the file of --output.
fn write(path: &Path, analysis: &Analysis, format: ReportFormat) -> Result<(), Failure> {
    let written = match format {
        ReportFormat::Html => files::write_with(path, |out| write_html(out, analysis)),
        ReportFormat::Xlsx => files::write(path, &workbook(analysis)?),
    };
    written.map_err(|error| Failure::usage(format!("--output {}: {error}", path.display())))
}
