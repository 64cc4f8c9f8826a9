//! The table of docs/diagnose.md.

use std::fmt::Write;

use serde_json::Value;

use crate::fault::{Condition, Fault};
use crate::record::{Rank, Record, Records};

/// Formats the results of all faults in Markdown.
pub fn text(faults: &[&Fault], records: &Records, time: &str) -> String {
    let mut out = format!(
        "Runs of {time}, one of two CPUs busy.\n\n\
         | fault | server | runs | right | second | none | wrong | budget error | gain: predicted / actual |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    for fault in faults {
        let runs: Vec<&Record> =
            records.all.iter().filter(|record| record.is_of(fault.id, Condition::Faulty)).collect();
        let _ = write!(out, "| `{}` {} | {} ", fault.id, fault.what, fault.server);
        if runs.is_empty() {
            out.push_str("| not measured | | | | | | |\n");
            continue;
        }
        let _ = write!(out, "| {} ", runs.len());
        for rank in [Rank::Right, Rank::Second, Rank::None, Rank::Wrong] {
            let count = runs.iter().filter(|run| run.rank(fault) == rank).count();
            let _ = write!(out, "| {count} ");
        }
        let _ = writeln!(out, "| {} | {} |", budget_error(&runs), gain(fault, &runs, records));
    }
    let seconds = records.all.iter().filter_map(|record| record.0["elapsed_s"].as_f64()).fold(0.0, f64::max);
    let bytes = records.all.iter().filter_map(|record| record.0["bytes_written"].as_u64()).max();
    let _ = writeln!(
        out,
        "\nThe longest run took {seconds:.1} s; at most {:.0} MB were written.",
        bytes.unwrap_or(0) as f64 / 1e6
    );
    out
}

/// Median of the errors of the parts whose time is known; the largest of them.
fn budget_error(runs: &[&Record]) -> String {
    let mut errors: std::collections::BTreeMap<String, Vec<f64>> = std::collections::BTreeMap::new();
    for error in runs.iter().flat_map(|run| run.0["errors"].as_array().into_iter().flatten()) {
        let name = format!("{} of {}", text_of(&error["part"]), text_of(&error["operation"]));
        errors.entry(name).or_default().extend(error["error"].as_f64());
    }
    let worst = errors.into_iter().filter_map(|(name, errors)| Some((name, median(errors)?)));
    let worst = worst.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    worst.map_or(String::new(), |(name, error)| format!("{:+.1} % ({name})", error * 100.0))
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The predicted factor, and the ratio of the costs with and without the fault.
fn gain(fault: &Fault, runs: &[&Record], records: &Records) -> String {
    let figures = |name: &str| median(runs.iter().filter_map(|run| run.0[name].as_f64()).collect());
    let fixed = records.all.iter().filter(|record| record.is_of(fault.id, Condition::Fixed));
    let fixed = median(fixed.filter_map(|record| record.0["cost"].as_f64()).collect());
    match (figures("predicted"), figures("cost"), fixed) {
        (Some(predicted), Some(faulty), Some(fixed)) => {
            let actual = faulty / fixed;
            format!("{predicted:.2} / {actual:.2} ({:+.0} %)", (predicted / actual - 1.0) * 100.0)
        }
        _ => String::new(),
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied()?;
    Some(if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], upper) } else { upper })
}
