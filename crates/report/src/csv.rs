//! Every position of every section as one flat table of comma-separated values.

use sharebench_analysis::{Analysis, Estimate, Outcome, Ratio, Section};

use crate::escape::csv as field;
use crate::table::position;

const OUTCOME: [&str; 17] = [
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
    "motors_reported",
    "motors_assigned",
    "cpu_user_ns_per_op",
    "cpu_kernel_ns_per_op",
    "errors",
    "verdict",
];
const RATIO: [&str; 5] = ["ratio", "ratio_low", "ratio_high", "standing", "evidence"];

/// One line per position: section, coordinates, each system's numbers, each comparison's ratio.
pub fn csv(analysis: &Analysis) -> String {
    let mut header: Vec<String> = ["section", "view", "unit", "coordinates"].map(str::to_owned).to_vec();
    for system in &analysis.systems {
        header.extend(OUTCOME.iter().map(|column| format!("{} {column}", system.name)));
    }
    for comparison in &analysis.comparisons {
        header.extend(RATIO.iter().map(|column| format!("{} {column}", comparison.name)));
    }
    let mut text = line(&header);
    for section in &analysis.sections {
        text.extend(lines(section));
    }
    text
}

fn line(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|text| field(text)).collect();
    fields.join(",") + "\r\n"
}

fn lines(section: &Section) -> impl Iterator<Item = String> {
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
        for outcome in &row.outcomes {
            fields.extend(outcome.as_ref().map_or_else(|| blank(OUTCOME.len()), outcome_fields));
        }
        for ratio in &row.ratios {
            fields.extend(ratio.as_ref().map_or_else(|| blank(RATIO.len()), ratio_fields));
        }
        line(&fields)
    })
}

fn blank(n: usize) -> Vec<String> {
    vec![String::new(); n]
}

fn estimate(estimate: &Estimate) -> [String; 3] {
    let bound = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    [
        estimate.value.to_string(),
        bound(estimate.interval.map(|i| i.low)),
        bound(estimate.interval.map(|i| i.high)),
    ]
}

fn outcome_fields(outcome: &Outcome) -> Vec<String> {
    let mut fields = estimate(&outcome.rate).to_vec();
    fields.extend([
        outcome.repetitions().to_string(),
        outcome.operations_per_s.to_string(),
        outcome.acknowledged_per_s.map_or_else(String::new, |rate| rate.to_string()),
        outcome.durable_per_s.map_or_else(String::new, |rate| rate.to_string()),
        outcome.response_mean_ns.to_string(),
        outcome.p50.ns.to_string(),
        outcome.p95.ns.to_string(),
        outcome.p99.ns.to_string(),
        outcome.motors_reported.to_string(),
        outcome.motors_assigned.to_string(),
        outcome.cpu_user_ns_per_operation.to_string(),
        outcome.cpu_kernel_ns_per_operation.to_string(),
        outcome.error_count().to_string(),
        outcome.verdict.to_string(),
    ]);
    fields
}

fn ratio_fields(ratio: &Ratio) -> Vec<String> {
    let mut fields = estimate(&ratio.typical).to_vec();
    fields.extend([ratio.standing.word().to_owned(), format!("{:?}", ratio.evidence)]);
    fields
}
