//! The table of docs/results/planted-faults.md.

use std::fmt::Write;

use serde_json::Value;

use crate::fault::{Condition, Fault};
use crate::record::{BYTE, Rank, Record, Records};

/// Formats the results of all faults in Markdown.
pub fn text(faults: &[&Fault], records: &Records, time: &str) -> String {
    let mut out = format!(
        "Runs of {time}, one of two CPUs busy.\n\n\
         | fault | server | runs | right | second | none | wrong | budget error | time saved: predicted / actual | factor: predicted / actual |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    for fault in faults {
        let runs: Vec<&Record> =
            records.all.iter().filter(|record| record.is_of(fault.id, Condition::Faulty)).collect();
        let _ = write!(out, "| `{}` {} | {} ", fault.id, fault.what, fault.server);
        if runs.is_empty() {
            out.push_str("| not measured | | | | | | | |\n");
            continue;
        }
        let _ = write!(out, "| {} ", runs.len());
        for rank in [Rank::Right, Rank::Second, Rank::None, Rank::Wrong] {
            let count = runs.iter().filter(|run| run.rank(fault) == rank).count();
            let _ = write!(out, "| {count} ");
        }
        let [time, factor] =
            Gain::new(fault, &runs, records).map_or_else(Default::default, |gain| gain.cells());
        let _ = writeln!(out, "| {} | {time} | {factor} |", budget_error(&runs));
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

/// The predicted and the actual gain of the removal of a fault.
struct Gain {
    /// Of what.
    per: String,
    /// Its time with the fault, nanoseconds.
    faulty_ns: f64,
    /// Its time without the fault, nanoseconds.
    fixed_ns: f64,
    /// Predicted share of the time that is saved, factor, and the factor that is certain.
    share: f64,
    factor: f64,
    at_least: Option<f64>,
}

impl Gain {
    /// Medians of the runs that name the cause; none where nothing was predicted or no run without the fault was made.
    fn new(fault: &Fault, runs: &[&Record], records: &Records) -> Option<Self> {
        let predictions = runs.iter().filter(|run| !run.0["predicted"].is_null());
        // All of a fault's findings save time of the same thing, unless two causes are right.
        let per = predictions.clone().find_map(|run| run.0["predicted"]["per"].as_str())?.to_owned();
        let same: Vec<&&Record> =
            predictions.filter(|run| run.0["predicted"]["per"] == per.as_str()).collect();
        let figure =
            |name: &str| median(same.iter().filter_map(|run| run.0["predicted"][name].as_f64()).collect());
        let fixed = records.all.iter().filter(|record| record.is_of(fault.id, Condition::Fixed));
        Some(Self {
            faulty_ns: median(same.iter().filter_map(|run| run.0["costs"][&per].as_f64()).collect())?,
            fixed_ns: median(fixed.filter_map(|record| record.0["costs"][&per].as_f64()).collect())?,
            share: figure("share")?,
            factor: figure("factor")?,
            at_least: figure("at_least"),
            per,
        })
    }

    /// The cells of the table: time and factor, each with the error of the prediction.
    fn cells(&self) -> [String; 2] {
        let Self { per, faulty_ns, fixed_ns, share, factor, at_least } = self;
        let actual = 1.0 - fixed_ns / faulty_ns;
        let error = (share / actual - 1.0) * 100.0;
        let shares = format!("{:.1} % / {:.1} %", share * 100.0, actual * 100.0);
        let time = if per == BYTE {
            format!("{shares} per byte ({error:+.0} %)")
        } else {
            let ms = |share: f64| share * faulty_ns / 1e6;
            format!(
                "{:.2} / {:.2} ms of {:.2} ms per {per} = {shares} ({error:+.0} %)",
                ms(*share),
                ms(actual),
                ms(1.0)
            )
        };
        let actual = faulty_ns / fixed_ns;
        let least = at_least.map_or(String::new(), |least| format!("at least {least:.1}, "));
        [time, format!("{least}{factor:.2} / {actual:.2} ({:+.0} %)", (factor / actual - 1.0) * 100.0)]
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied()?;
    Some(if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], upper) } else { upper })
}
