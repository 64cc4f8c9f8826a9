//! The result of one run, kept as a line of JSON.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::Failure;
use crate::fault::{Condition, Fault};

/// How the causes of a run compare with the planted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// It is listed first; for a clean server no cause is listed.
    Right,
    /// It is listed, after others.
    Second,
    /// No cause is listed.
    None,
    /// Only others are listed.
    Wrong,
}

/// The name of the time per byte of a stream in gains.
pub const BYTE: &str = "byte of a stream";

/// One run.
pub struct Record(pub Value);

impl Record {
    /// Judges a document of `diagnose`.
    pub fn new(fault: &Fault, condition: Condition, found: &Value) -> Self {
        let findings = found["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
        let causes: Vec<&str> = findings.iter().filter_map(|finding| finding["cause"].as_str()).collect();
        let right = findings
            .iter()
            .find(|finding| finding["cause"].as_str().is_some_and(|cause| fault.causes.contains(&cause)));
        let errors: Vec<Value> = fault
            .known
            .iter()
            .filter_map(|known| {
                let found_ms = part_ms(found, known.operation, known.part)?;
                Some(json!({ "operation": known.operation, "part": known.part, "error": found_ms / known.ms - 1.0 }))
            })
            .collect();
        Self(json!({
            "fault": fault.id,
            "condition": condition.name(),
            "causes": causes,
            "unsettled": found["unsettled"],
            "predicted": right.and_then(|finding| predicted(&finding["gain"])),
            "costs": costs(found),
            "errors": errors,
            "elapsed_s": found["elapsed_s"],
            "bytes_written": found["bytes_written"],
            "error": found["error"],
        }))
    }

    pub fn is_of(&self, fault: &str, condition: Condition) -> bool {
        self.0["fault"] == fault && self.0["condition"] == condition.name()
    }

    pub fn rank(&self, fault: &Fault) -> Rank {
        let causes: Vec<&str> =
            self.0["causes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let place = causes.iter().position(|cause| fault.causes.contains(cause));
        match (place, causes.is_empty()) {
            _ if !self.0["error"].is_null() => Rank::Wrong,
            (Some(0), _) => Rank::Right,
            (Some(_), _) => Rank::Second,
            (None, true) if fault.causes.is_empty() => Rank::Right,
            (None, true) => Rank::None,
            (None, false) => Rank::Wrong,
        }
    }

    /// One line for the terminal.
    pub fn words(&self) -> String {
        let value = &self.0;
        format!(
            "{} {} causes {} errors {} predicted {} in {} s {}",
            value["fault"],
            value["condition"],
            value["causes"],
            value["errors"],
            value["predicted"],
            value["elapsed_s"],
            value["error"]
        )
    }
}

/// Milliseconds of a part of an operation.
fn part_ms(found: &Value, operation: &str, part: &str) -> Option<f64> {
    let budget = budget(found, operation)?;
    let part = budget["parts"].as_array()?.iter().find(|share| share["part"] == part)?;
    Some(part["time_ns"]["value"].as_f64()? / 1e6)
}

fn budget<'v>(found: &'v Value, operation: &str) -> Option<&'v Value> {
    found["budgets"].as_array()?.iter().find(|budget| budget["operation"] == operation)
}

/// What a finding predicts: of what, the share of its time that is saved, the factor, and the factor that is certain.
fn predicted(gain: &Value) -> Option<Value> {
    let [computed, measured] = ["computed", "measured"].map(|kind| &gain[kind]);
    let gain = if computed.is_null() { measured } else { computed };
    let factor = gain["factor"].as_f64().or_else(|| gain["factor"]["value"].as_f64())?;
    let saving = &gain["saving"];
    let share = saving["share"]["value"].as_f64()?;
    Some(
        json!({ "per": saving["per"], "share": share, "factor": factor, "at_least": gain["factor_at_least"] }),
    )
}

/// The median time of each operation, and the time per byte of a stream, nanoseconds, by the names that gains have.
fn costs(found: &Value) -> Value {
    let operations = found["operations"].as_array().into_iter().flatten();
    let named = operations.filter_map(|operation| {
        Some((operation["operation"].as_str()?.to_owned(), operation["median_ns"].clone()))
    });
    let mut costs: serde_json::Map<String, Value> = named.collect();
    let compared = found["comparisons"].as_array().into_iter().flatten();
    let stream = compared.filter(|one| one["experiment"] == "4 connections");
    for rate in stream.filter_map(|one| one["comparison"]["base_bytes_per_s"].as_f64()) {
        costs.insert(BYTE.to_owned(), json!(1e9 / rate));
    }
    if let Some(total) = found["login"]["total_ns"].as_f64() {
        costs.insert("log-in".to_owned(), json!(total));
    }
    Value::Object(costs)
}

/// The file of results.
pub struct Records {
    file: File,
    pub all: Vec<Record>,
}

impl Records {
    /// Reads what an earlier call has measured with the same time.
    pub fn open(path: &Path, time: &str) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut all = Vec::new();
        for line in text.lines() {
            all.push(Record(
                serde_json::from_str(line).map_err(|error| format!("{}: {error}", path.display()))?,
            ));
        }
        eprintln!("{}: {} runs of {time} so far", path.display(), all.len());
        Ok(Self { file: OpenOptions::new().create(true).append(true).open(path)?, all })
    }

    pub fn count(&self, fault: &str, condition: Condition) -> usize {
        self.all.iter().filter(|record| record.is_of(fault, condition)).count()
    }

    pub fn add(&mut self, record: Record) -> Result<(), Failure> {
        writeln!(self.file, "{}", record.0)?;
        self.all.push(record);
        Ok(())
    }
}
