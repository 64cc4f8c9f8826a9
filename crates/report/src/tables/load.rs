//! Tables of a load by kind of transaction and by kind of operation.

use sharebench_analysis::{
    Analysis, CallsPerTransaction, LoadOutcome, Outcome, PartOutcome, Row, Section, View,
};
use sharebench_model::units::{show_nanos, three_digits};

use super::table::{Cell, Table, axis_name, position};
use crate::show::NOTHING;

const TRANSACTIONS: &str =
    "By kind of transaction: response (ART, p50, p95, p99), service and lag, failures, deadlines missed.";
const OPERATIONS: &str = "By kind of operation: time from request to reply.";
const CALLS: &str = "Calls on the wire per transaction, and operations of the protocol in them.";

/// The tables of a section of users; none for other sections. With `peak`, only of the step with the highest
/// throughput of each system, so that they fit a terminal.
pub fn load_tables(analysis: &Analysis, section: &Section, peak: bool) -> Vec<Table> {
    if section.view != View::Load {
        return Vec::new();
    }
    let missed =
        each(analysis, section, peak).any(|(.., load)| load.transactions.iter().any(|p| p.missed > 0));
    let mut head =
        vec!["transaction", "per s", "ART", "p50", "p95", "p99", "service p95", "lag p99", "failed"];
    if missed {
        head.push("missed");
    }
    let transactions = table(
        TRANSACTIONS,
        &head,
        section,
        peak,
        rows(analysis, section, peak, |load| {
            load.transactions.iter().map(|part| transaction(part, missed)).collect()
        }),
    );
    let head = ["operation", "per s", "share", "mean", "p50", "p95", "p99", "failed"];
    let operations = table(
        OPERATIONS,
        &head,
        section,
        peak,
        rows(analysis, section, peak, |load| {
            let all: u64 = load.operations.iter().map(|part| part.count).sum();
            load.operations.iter().map(|part| operation(part, all)).collect()
        }),
    );
    let mut calls =
        table(CALLS, &["calls", "operations"], section, peak, rows(analysis, section, peak, calls));
    // A row is named by its load and target alone.
    calls.keys -= 1;
    [transactions, operations, calls].into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// Every load of a section: row, name of the system, what it did.
fn each<'a>(
    analysis: &'a Analysis,
    section: &'a Section,
    peak: bool,
) -> impl Iterator<Item = (&'a Row, &'a str, &'a LoadOutcome)> {
    (0..analysis.systems.len()).flat_map(move |system| {
        let name = analysis.systems[system].name.as_str();
        let found = section.rows.iter().filter_map(move |row| Some((row, row.outcomes[system].as_ref()?)));
        let best = found.clone().max_by(|a, b| a.1.rate.value.total_cmp(&b.1.rate.value)).map(|(row, _)| row);
        found
            .filter(move |(row, _)| !peak || best.is_some_and(|best| std::ptr::eq(best, *row)))
            .filter_map(move |(row, outcome): (&Row, &Outcome)| Some((row, name, outcome.load.as_deref()?)))
    })
}

fn rows(
    analysis: &Analysis,
    section: &Section,
    peak: bool,
    parts: impl Fn(&LoadOutcome) -> Vec<Vec<String>>,
) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for (row, name, load) in each(analysis, section, peak) {
        for texts in parts(load) {
            let at = row.position.iter().map(|value| position(value.as_ref()));
            rows.push(at.chain([name.to_owned()]).chain(texts).map(Cell::from).collect());
        }
    }
    rows
}

fn table(caption: &str, head: &[&str], section: &Section, peak: bool, rows: Vec<Vec<Cell>>) -> Table {
    let mut header: Vec<String> = section.axes.iter().map(|axis| axis_name(axis).to_owned()).collect();
    header.push("target".to_owned());
    let keys = header.len() + 1;
    header.extend(head.iter().map(|text| (*text).to_owned()));
    let notes = if peak {
        let more = "Of the step with the highest throughput; the md, html and json formats have every step.";
        vec![format!("{caption} {more}")]
    } else {
        Vec::new()
    };
    Table { caption: caption.to_owned(), header, keys, rows, notes }
}

/// A time, nothing where there was none.
fn time(nanos: u64) -> String {
    if nanos == 0 { NOTHING.to_owned() } else { show_nanos(nanos as f64) }
}

fn failed(part: &PartOutcome) -> String {
    let classes = part.errors.iter().map(|(class, count)| format!("{count} {class}"));
    let text = classes.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "0".to_owned() } else { text }
}

fn transaction(part: &PartOutcome, missed: bool) -> Vec<String> {
    let [p50, p95, p99] = part.response_ns;
    let mut cells = vec![
        part.name.clone(),
        three_digits(part.per_s),
        time(part.mean_ns as u64),
        time(p50),
        time(p95),
        time(p99),
        time(part.service_ns[1]),
        time(part.lag_ns),
        failed(part),
    ];
    if missed {
        cells.push(part.missed.to_string());
    }
    cells
}

/// One row where calls carry several operations.
fn calls(load: &LoadOutcome) -> Vec<Vec<String>> {
    let each = |calls: &CallsPerTransaction| vec![three_digits(calls.calls), three_digits(calls.operations)];
    load.calls.iter().map(each).collect()
}

fn operation(part: &PartOutcome, all: u64) -> Vec<String> {
    let [p50, p95, p99] = part.service_ns;
    vec![
        part.name.clone(),
        three_digits(part.per_s),
        format!("{:.1} %", part.count as f64 * 100.0 / all.max(1) as f64),
        time(part.mean_ns as u64),
        time(p50),
        time(p95),
        time(p99),
        failed(part),
    ]
}
