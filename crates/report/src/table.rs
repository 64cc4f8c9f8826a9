//! Tables of a section: the same cells for every format.

use sharebench_analysis::{Analysis, Outcome, Ratio, RatioVerdict, Row, Section, View};
use sharebench_model::{Value, axis};

use crate::show;

/// One cell.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// For ratios: how they stand, so that formats can colour or mark it.
    pub standing: Option<RatioVerdict>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, standing: None }
    }
}

/// Cells in rows under headings; the first `keys` columns say where a row stands.
#[derive(Debug, Clone)]
pub struct Table {
    /// One sentence on how to read it.
    pub caption: String,
    /// Column headings.
    pub header: Vec<String>,
    /// How many leading columns name the row.
    pub keys: usize,
    /// The cells.
    pub rows: Vec<Vec<Cell>>,
    /// What its marks mean, to be told below it.
    pub notes: Vec<String>,
}

type OutcomeColumn = (&'static str, fn(&Outcome, &Section) -> String);

/// Throughput and ratios: the table of the section's view.
pub fn main_table(analysis: &Analysis, section: &Section) -> Table {
    let rate: OutcomeColumn = ("", |o, s| show::rate(o, s.unit));
    let mut columns: Vec<OutcomeColumn> = match section.view {
        // The depth study has a table of its own beside this one.
        View::Sweep | View::Depth => vec![rate],
        View::Load => vec![
            rate,
            ("transactions", |o, _| show::transactions(o)),
            ("ART", |o, _| show::mean(o.response_mean_ns)),
            ("p95", |o, _| show::percentile(&o.p95)),
            ("MPS", |o, _| show::participation(o)),
        ],
    };
    let server = |o: &Outcome| o.load.as_ref().and_then(|load| load.server.as_ref()).map(|server| server.cpu);
    if section.rows.iter().flat_map(|row| row.outcomes.iter().flatten()).any(|o| server(o).is_some()) {
        columns.push(("server CPU", |o, _| show::server_cpu(o)));
    }
    let caption = match section.view {
        View::Sweep => "Median throughput with its interval; ratios with theirs.",
        View::Load => {
            "Throughput, transactions per second, mean response time (ART), 95th percentile and users that reported (MPS)."
        }
        View::Depth => {
            "Median throughput with its interval, by records and operations in flight; ratios with theirs."
        }
    };
    if section.rows.iter().flat_map(|row| row.outcomes.iter().flatten()).any(|o| o.durable_per_s.is_some()) {
        columns.push(("acknowledged", |o, _| show::bytes_per_s(o.acknowledged_per_s)));
        columns.push(("durable", |o, _| show::bytes_per_s(o.durable_per_s)));
        let caption = format!(
            "{caption} Bytes written per second until they were acknowledged, and until a flush had made them durable."
        );
        return build(analysis, section, &caption, &columns, true);
    }
    build(analysis, section, caption, &columns, true)
}

/// Response times.
pub fn times_table(analysis: &Analysis, section: &Section) -> Table {
    let columns: Vec<OutcomeColumn> = vec![
        ("mean", |o, _| show::mean(o.response_mean_ns)),
        ("p50", |o, _| show::percentile(&o.p50)),
        ("p95", |o, _| show::percentile(&o.p95)),
        ("p99", |o, _| show::percentile(&o.p99)),
        ("failed", |o, _| o.error_count().to_string()),
    ];
    let caption = "Response times (>= where too few operations lie beyond), and operations that failed.";
    build(analysis, section, caption, &columns, false)
}

/// What the work took: operations, bytes, client CPU, and what a client's cache spared.
pub fn cost_table(analysis: &Analysis, section: &Section) -> Table {
    let mut columns: Vec<OutcomeColumn> = vec![
        ("operations", |o, _| o.operations.to_string()),
        ("moved", |o, _| show::size(o.bytes)),
        ("CPU/op", |o, _| show::cpu(o)),
        ("CPU/MB", |o, _| show::cpu_per_megabyte(o)),
    ];
    if section.rows.iter().any(is_cached) {
        columns.push(("cached", |o, _| show::cached(o)));
    }
    let caption =
        "Operations and bytes of all repetitions; client CPU per operation (user + kernel) and per megabyte.";
    build(analysis, section, caption, &columns, false)
}

fn build(
    analysis: &Analysis,
    section: &Section,
    caption: &str,
    columns: &[OutcomeColumn],
    ratios: bool,
) -> Table {
    let mut header: Vec<String> = section.axes.iter().map(|axis| axis_name(axis).to_owned()).collect();
    for system in &analysis.systems {
        header
            .extend(columns.iter().map(|(name, _)| format!("{} {name}", system.name).trim_end().to_owned()));
    }
    if ratios {
        header.extend(analysis.comparisons.iter().map(|comparison| comparison.name.clone()));
    }
    let rows = section.rows.iter().map(|row| {
        let mut cells: Vec<Cell> = row.position.iter().map(|value| position(value.as_ref()).into()).collect();
        for outcome in &row.outcomes {
            let text = |show: &fn(&Outcome, &Section) -> String| {
                outcome.as_ref().map_or_else(|| show::NOTHING.to_owned(), |outcome| show(outcome, section))
            };
            cells.extend(columns.iter().map(|(_, show)| Cell::from(text(show))));
        }
        if ratios {
            cells.extend(row.ratios.iter().map(|ratio| ratio_cell(ratio.as_ref())));
        }
        cells
    });
    let rows = rows.collect();
    let notes =
        if section.rows.iter().any(is_cached) { vec![show::CACHED_LEGEND.to_owned()] } else { Vec::new() };
    Table { caption: caption.to_owned(), header, keys: section.axes.len(), rows, notes }
}

fn is_cached(row: &Row) -> bool {
    row.outcomes.iter().flatten().any(Outcome::is_client_cached)
}

fn ratio_cell(ratio: Option<&Ratio>) -> Cell {
    let text = ratio.map_or_else(|| show::NOTHING.to_owned(), show::ratio);
    // A single run beyond its blur is neither a difference nor open: it stands as it is.
    let beyond = |ratio: &&Ratio| ratio.single_run.is_some_and(|single| single.resolved);
    Cell { text, standing: ratio.filter(|ratio| !beyond(ratio)).map(|ratio| ratio.verdict) }
}

/// A position on an axis.
pub fn position(value: Option<&Value>) -> String {
    value.map_or_else(|| show::NOTHING.to_owned(), ToString::to_string)
}

/// An axis as headings say it.
pub fn axis_name(name: &str) -> &str {
    match name {
        axis::FILE_SIZE => "file",
        axis::RECORD_SIZE => "record",
        axis::USERS => "users",
        axis::JOBS => "jobs",
        axis::RATE => "starts/s",
        axis::QUEUE_DEPTH => "depth",
        other => other,
    }
}
