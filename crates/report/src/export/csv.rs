//! Every position of every section as one flat table of comma-separated values.

use sharebench_analysis::{Analysis, Estimate, Grade, Outcome, Percentile, Ratio, Section, System};

use crate::escape;
use crate::tables::position;

const OUTCOME: [&str; 31] = [
    "rate_per_s",
    "rate_low",
    "rate_high",
    "repetitions",
    "operations_per_s",
    "acknowledged_per_s",
    "durable_per_s",
    "response_mean_ns",
    "p50_ns",
    "p95_ns",
    "p99_ns",
    "users_reported",
    "users_assigned",
    "cpu_user_ns_per_op",
    "cpu_kernel_ns_per_op",
    "errors",
    "verdict",
    "access",
    "buffering",
    "asked_time",
    "measured_ns",
    "cpu_user_ns_per_byte",
    "cpu_kernel_ns_per_byte",
    "application_bytes",
    "wire_bytes",
    "client_cache_share",
    "wire_amplification",
    "server_cache_share",
    "storage_share",
    "band_grade",
    "band_separation",
];
const RATIO: [&str; 5] = ["ratio", "ratio_low", "ratio_high", "verdict", "pairing"];

/// Renders the analysis as CSV, one line per position: section, coordinates, each system's numbers, each comparison's ratio.
pub fn csv(analysis: &Analysis) -> String {
    let rows = analysis.sections.iter().flat_map(|section| fields(analysis, section));
    escape::csv(std::iter::once(header(analysis)).chain(rows))
}

/// Headings of [`fields`].
pub(super) fn header(analysis: &Analysis) -> Vec<String> {
    let mut header: Vec<String> = ["section", "view", "unit", "coordinates"].map(str::to_owned).to_vec();
    for system in &analysis.systems {
        header.extend(OUTCOME.iter().map(|column| format!("{} {column}", system.name)));
    }
    for comparison in &analysis.comparisons {
        header.extend(RATIO.iter().map(|column| format!("{} {column}", comparison.name)));
    }
    header
}

/// One row per position of a section.
pub(super) fn fields(analysis: &Analysis, section: &Section) -> impl Iterator<Item = Vec<String>> {
    section.rows.iter().map(move |row| {
        let axes = section.axes.iter().zip(&row.position);
        let at: Vec<String> =
            axes.map(|(axis, value)| format!("{axis}={}", position(value.as_ref()))).collect();
        let mut fields = vec![
            section.title.clone(),
            format!("{:?}", section.view).to_lowercase(),
            format!("{:?}", section.unit),
            at.join(" "),
        ];
        for (system, outcome) in analysis.systems.iter().zip(&row.outcomes) {
            let filled = outcome.as_ref().map(|outcome| outcome_fields(system, outcome));
            fields.extend(filled.unwrap_or_else(|| blank(OUTCOME.len())));
        }
        for ratio in &row.ratios {
            fields.extend(ratio.as_ref().map_or_else(|| blank(RATIO.len()), ratio_fields));
        }
        fields
    })
}

fn blank(n: usize) -> Vec<String> {
    vec![String::new(); n]
}

fn estimate(estimate: &Estimate) -> [String; 3] {
    [
        estimate.value.to_string(),
        number(estimate.interval.map(|i| i.low)),
        number(estimate.interval.map(|i| i.high)),
    ]
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn time(percentile: Option<Percentile>) -> String {
    percentile.map_or_else(String::new, |percentile| percentile.ns.to_string())
}

/// A count; empty where an imported source does not state it.
fn count(outcome: &Outcome, count: u64) -> String {
    if outcome.is_unknown(count) { String::new() } else { count.to_string() }
}

fn outcome_fields(system: &System, outcome: &Outcome) -> Vec<String> {
    let mut fields = estimate(&outcome.rate).to_vec();
    fields.extend([
        outcome.repetitions().to_string(),
        number(outcome.operations_per_s),
        number(outcome.flushed.acknowledged_per_s),
        number(outcome.flushed.durable_per_s),
        number(outcome.response_mean_ns),
        time(*outcome.p50),
        time(*outcome.p95),
        time(*outcome.p99),
        outcome.users_reported.to_string(),
        outcome.users_assigned.to_string(),
        number(outcome.cpu.user_ns_per_operation),
        number(outcome.cpu.kernel_ns_per_operation),
        count(outcome, outcome.error_count()),
        outcome.verdict.to_string(),
        system.access.word().to_owned(),
        outcome.buffering.letter().to_owned(),
        system.min_sample_time.clone().unwrap_or_default(),
        outcome.measured_ns.to_string(),
        number(outcome.cpu.user_ns_per_byte),
        number(outcome.cpu.kernel_ns_per_byte),
        count(outcome, outcome.bytes),
        outcome.wire.map_or_else(String::new, |wire| wire.wire_bytes.to_string()),
        number(outcome.wire.map(|wire| wire.client_cache_share)),
        number(outcome.wire.map(|wire| wire.amplification)),
    ]);
    let known = outcome.cache_shares.as_deref().filter(|bands| bands.grade < Grade::C);
    fields.extend([
        number(known.map(|bands| bands.server.middle())),
        number(known.map(|bands| bands.storage.middle())),
        outcome.cache_shares.as_ref().map_or_else(String::new, |bands| format!("{:?}", bands.grade)),
        number(outcome.cache_shares.as_ref().and_then(|bands| bands.separation)),
    ]);
    fields
}

fn ratio_fields(ratio: &Ratio) -> Vec<String> {
    let mut fields = estimate(&ratio.typical).to_vec();
    fields.extend([ratio.verdict.word().to_owned(), format!("{:?}", ratio.pairing)]);
    fields
}
