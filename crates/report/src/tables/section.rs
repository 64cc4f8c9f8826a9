//! Tables of a section: throughput and ratios, response times, cost.

use sharebench_analysis::{Analysis, Comparison, Outcome, Ratio, RatioVerdict, Row, Section, View};
use sharebench_model::units::show_size;
use sharebench_model::{MetadataTest, Verdict};

use super::table::{Cell, Table, axis_name, position};
use crate::show;

type OutcomeColumn = (&'static str, fn(&Outcome, &Section) -> String);

/// Throughput and ratios: the table of the section's view.
pub fn main_table(analysis: &Analysis, section: &Section) -> Table {
    let rate: OutcomeColumn = ("", |o, s| show::rate(o, s.unit));
    let mut columns: Vec<OutcomeColumn> = match section.view {
        // A depth study has another table next to this one.
        View::Sweep | View::Depth => vec![rate],
        View::Load => vec![
            rate,
            ("transactions", |o, _| show::transactions(o)),
            ("ART", |o, _| show::mean(o.response_mean_ns)),
            ("p95", |o, _| show::percentile(*o.p95)),
            ("MPS", |o, _| show::participation(o)),
        ],
    };
    let server = |o: &Outcome| o.load.as_ref().and_then(|load| load.server.as_ref()).map(|server| server.cpu);
    if section.rows.iter().flat_map(|row| row.outcomes.iter().flatten()).any(|o| server(o).is_some()) {
        columns.push(("server CPU", |o, _| show::server_cpu(o)));
    }
    let mut outcomes = section.rows.iter().flat_map(|row| row.outcomes.iter().flatten());
    if outcomes.any(|o| o.per_operation.requests_per_operation.is_some()) {
        columns.push(("requests/op", |o, _| show::requests_per_operation(o)));
    }
    let mut outcomes = section.rows.iter().flat_map(|row| row.outcomes.iter().flatten());
    if outcomes.any(|o| o.per_operation.wire_bytes_per_operation.is_some()) {
        columns.push(("wire bytes/op", |o, _| show::wire_bytes_per_operation(o)));
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
    let caption = &match operation_sentence(section) {
        Some(sentence) => format!("{caption} {sentence}"),
        None => caption.to_owned(),
    };
    if section
        .rows
        .iter()
        .flat_map(|row| row.outcomes.iter().flatten())
        .any(|o| o.flushed.durable_per_s.is_some())
    {
        columns.push(("acknowledged", |o, _| show::bytes_per_s(o.flushed.acknowledged_per_s)));
        columns.push(("durable", |o, _| show::bytes_per_s(o.flushed.durable_per_s)));
        let caption = format!(
            "{caption} Bytes written per second until they were acknowledged, and until a flush had made them durable."
        );
        return build(analysis, section, &caption, &columns, true);
    }
    build(analysis, section, caption, &columns, true)
}

/// The sentence on what an operation of the section is, where its name does not say it.
pub fn operation_sentence(section: &Section) -> Option<String> {
    let test = MetadataTest::from_coordinates(&section.rows.first()?.coordinates)?;
    Some(format!("An operation is {}.", test.declaration().operation?))
}

/// Response times.
pub fn times_table(analysis: &Analysis, section: &Section) -> Table {
    let columns: Vec<OutcomeColumn> = vec![
        ("mean", |o, _| show::mean(o.response_mean_ns)),
        ("p50", |o, _| show::percentile(*o.p50)),
        ("p95", |o, _| show::percentile(*o.p95)),
        ("p99", |o, _| show::percentile(*o.p99)),
        ("failed", |o, _| show::failures(o)),
    ];
    let caption = "Response times (>= where too few operations lie beyond), and operations that failed.";
    build(analysis, section, caption, &columns, false)
}

/// Cost of the work: operations, bytes, client CPU, and the share that a client cache served.
pub fn cost_table(analysis: &Analysis, section: &Section) -> Table {
    let mut columns: Vec<OutcomeColumn> = vec![
        ("operations", |o, _| show::operations(o)),
        ("moved", |o, _| show_size(o.bytes)),
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
    let mut notes = legends(section, ratios);
    if ratios && section.rows.iter().any(|row| has_other_quotient(analysis, row)) {
        notes.push(show::QUOTIENT_LEGEND.to_owned());
    }
    Table { caption: caption.to_owned(), header, keys: section.axes.len(), rows, notes }
}

/// The meaning of each mark that a table of this section has.
fn legends(section: &Section, ratios: bool) -> Vec<String> {
    let any = |has: fn(&Row) -> bool| section.rows.iter().any(has);
    let mut legends = Vec::new();
    if ratios && any(has_warning) {
        legends.push(show::WARNING_LEGEND.to_owned());
    }
    if ratios && any(is_not_resolved) {
        legends.push(show::NOT_RESOLVED_LEGEND.to_owned());
    }
    if any(is_cached) {
        legends.push(show::CACHED_LEGEND.to_owned());
    }
    legends
}

/// How far a ratio and the quotient of the two rates may be apart without a note.
const QUOTIENT_GAP: f64 = 0.05;

/// True if a ratio differs from the quotient of the rates in the same row.
fn has_other_quotient(analysis: &Analysis, row: &Row) -> bool {
    let rate = |system: usize| row.outcomes[system].as_ref().map(|outcome| outcome.rate.value);
    let pairs = analysis.comparisons.iter().zip(&row.ratios);
    let gap = |(pair, ratio): (&Comparison, &Option<Ratio>)| {
        let quotient = rate(pair.a)? / rate(pair.b)?;
        Some((quotient / ratio.as_ref()?.typical.value).ln().abs())
    };
    pairs.filter_map(gap).any(|gap| gap > QUOTIENT_GAP.ln_1p())
}

fn has_warning(row: &Row) -> bool {
    row.outcomes.iter().flatten().any(|outcome| outcome.verdict == Verdict::Warning)
}

fn is_not_resolved(row: &Row) -> bool {
    row.ratios.iter().any(|ratio| ratio_cell(ratio.as_ref()).standing == Some(RatioVerdict::NotResolved))
}

fn is_cached(row: &Row) -> bool {
    row.outcomes.iter().flatten().any(Outcome::is_client_cached)
}

fn ratio_cell(ratio: Option<&Ratio>) -> Cell {
    let text = ratio.map_or_else(|| show::NOTHING.to_owned(), show::ratio);
    // The ratio of single runs that clocks cannot explain is neither a difference nor open: it has no mark.
    let beyond = |ratio: &&Ratio| ratio.single_run.is_some_and(|single| single.resolved);
    Cell { text, standing: ratio.filter(|ratio| !beyond(ratio)).map(|ratio| ratio.verdict) }
}
