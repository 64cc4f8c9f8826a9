//! `sharebench report`: runs as a page, tables, a workbook or pictures, or all runs in the browser.

mod images;
#[cfg(feature = "pages")]
mod pages;

#[cfg(feature = "pages")]
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use sharebench_analysis::Analysis;
use sharebench_exchange::{SheetCell, Workbook};
use sharebench_report::{Style, write_html};
use sharebench_results::RunReference;

use crate::exit::Failure;
use crate::files;
use crate::flags::format::Format;
use crate::flags::output::DatabaseFlags;
use crate::output::{print_bytes, print_out};
use crate::run::run_store::{analyse_loaded, load, render};

pub const REPORT_HELP: &str = "Examples:
  sharebench report 1 2 -o nas.html
  sharebench report last -o nas.xlsx                 # the file extension selects the format
  sharebench report last --format md
  sharebench report last --images slides             # each chart as SVG and PNG
  sharebench report --serve                          # all runs of the results database, in the browser

docs/measure/reports.md explains each chart.";

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Runs: numbers, `last`, or FILE.db:NUMBER.
    #[cfg_attr(feature = "pages", arg(required_unless_present = "serve"))]
    #[cfg_attr(not(feature = "pages"), arg(required = true))]
    #[arg(value_name = "RUN")]
    pub runs: Vec<RunReference>,
    /// Write to FILE, or to standard output with -; text, md, json and csv are printed without it.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Format of the report [default: by the file extension, or html].
    #[arg(long, value_enum)]
    pub format: Option<ReportFormat>,
    /// Also write each chart as SVG and PNG to DIR; needs Chromium.
    #[arg(long, value_name = "DIR")]
    pub images: Option<PathBuf>,
    /// Browser that draws the charts [default: chromium, chromium-browser, google-chrome or chrome in PATH].
    #[arg(long, value_name = "PROGRAM", requires = "images")]
    pub browser: Option<PathBuf>,
    /// Serve all runs of the results database as web pages: filter, select, compare, open. Read-only; loopback addresses only.
    #[cfg(feature = "pages")]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", conflicts_with_all = ["runs", "output", "format", "images"])]
    pub serve: Option<SocketAddr>,
    #[command(flatten)]
    pub database: DatabaseFlags,
}

/// Formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One self-contained page with charts.
    Html,
    /// Tables for the terminal.
    Text,
    /// Markdown.
    Md,
    /// The whole analysis as JSON.
    Json,
    /// One row per cell.
    Csv,
    /// A workbook with the findings and one sheet per test.
    Xlsx,
}

/// Writes a report, or serves all runs as pages.
pub fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    #[cfg(feature = "pages")]
    if let Some(address) = args.serve {
        return pages::serve(address, &args.database.db);
    }
    let format = args.format.map_or_else(|| by_extension(args.output.as_deref()), Ok)?;
    let binary = matches!(format, ReportFormat::Html | ReportFormat::Xlsx);
    if args.output.is_none() && binary && args.images.is_none() {
        return Err(Failure::usage(
            "--output: html and xlsx need a file, such as -o nas.html; or use --format text, md, json or csv",
        ));
    }
    let runs = args.runs.iter().map(|run| load(run, &args.database.db)).collect::<Result<Vec<_>, _>>()?;
    let analysis = analyse_loaded(runs)?;
    let mut summary = String::new();
    if let Some(directory) = &args.images {
        let count = images::write(&analysis, directory, args.browser.as_deref())?;
        summary = format!("images: {count} files in {}\n", directory.display());
    }
    match &args.output {
        None if args.images.is_some() && args.format.is_none() => {}
        None if binary => return Err(Failure::usage("--output: html and xlsx need a file")),
        None => return print_bytes(&rendered(&analysis, format)?),
        Some(path) => {
            write(path, &analysis, format)?;
            // Standard output has the report and nothing else.
            if path == Path::new(files::STANDARD_OUTPUT) {
                return Ok(ExitCode::SUCCESS);
            }
            summary = format!("{summary}report: {}\n", path.display());
        }
    }
    print_out(&summary)
}

fn by_extension(path: Option<&Path>) -> Result<ReportFormat, Failure> {
    let extension =
        path.and_then(Path::extension).map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    Ok(match extension.as_deref() {
        None | Some("html" | "htm") => ReportFormat::Html,
        Some("txt") => ReportFormat::Text,
        Some("md") => ReportFormat::Md,
        Some("json") => ReportFormat::Json,
        Some("csv") => ReportFormat::Csv,
        Some("xlsx") => ReportFormat::Xlsx,
        Some(_) => {
            return Err(Failure::usage(format!(
                "--output {}: no format has this extension; use .html, .txt, .md, .json, .csv or .xlsx, or add --format",
                path.unwrap_or(Path::new("")).display()
            )));
        }
    })
}

/// The content of a report in memory. A page for a file is written in pieces instead.
fn rendered(analysis: &Analysis, format: ReportFormat) -> Result<Vec<u8>, Failure> {
    // A file has neither width nor colours.
    let style = Style::piped();
    let text = match format {
        ReportFormat::Html => sharebench_report::html(analysis),
        ReportFormat::Text => render(analysis, Format::Text, style)?,
        ReportFormat::Md => render(analysis, Format::Md, style)?,
        ReportFormat::Json => render(analysis, Format::Json, style)?,
        ReportFormat::Csv => render(analysis, Format::Csv, style)?,
        ReportFormat::Xlsx => return workbook(analysis),
    };
    Ok(text.into_bytes())
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
    let written = if format == ReportFormat::Html {
        files::write_with(path, |out| write_html(out, analysis))
    } else {
        files::write(path, &rendered(analysis, format)?)
    };
    written.map_err(|error| Failure::usage(format!("--output {}: {error}", path.display())))
}
