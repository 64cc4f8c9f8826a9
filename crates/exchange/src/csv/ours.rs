//! Our own CSV exports, read back.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_model::{
    Check, Coordinates, CpuTime, ErrorClass, Facts, Histogram, IoBytes, Measure, RateBase, ReportedFigures,
    Value, Verdict, WireCount, axis, spreadsheet_text_read,
};

use super::reader::Record;
use crate::ImportError;
use crate::quantiles::from_quantiles;
use crate::source::{Source, SourceRun, SourceStep};

/// Headings with which every export begins.
const START: &str = "run,step,target,repetition,";
/// The first heading after the axes.
const AFTER_AXES: &str = "started_unix_ms";

const CLASSES: [ErrorClass; 14] = [
    ErrorClass::Refused,
    ErrorClass::NotFound,
    ErrorClass::Exists,
    ErrorClass::NotEmpty,
    ErrorClass::NoSpace,
    ErrorClass::ReadOnly,
    ErrorClass::Stale,
    ErrorClass::Busy,
    ErrorClass::Timeout,
    ErrorClass::Disconnected,
    ErrorClass::Protocol,
    ErrorClass::DataMismatch,
    ErrorClass::Unsupported,
    ErrorClass::Io,
];

const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999)];

pub(super) fn is_ours(header: &Record) -> bool {
    header.fields.join(",").starts_with(START) && header.fields.iter().any(|name| name == AFTER_AXES)
}

/// A row with the names of its fields.
struct Row<'a> {
    names: &'a BTreeMap<&'a str, usize>,
    row: &'a Record,
}

impl Row<'_> {
    fn text(&self, name: &str) -> &str {
        self.names.get(name).map_or("", |column| spreadsheet_text_read(&self.row.fields[*column]))
    }

    fn wrong(&self, name: &str) -> ImportError {
        ImportError::at(self.row.line, format!("'{}' is not a valid {name}", self.text(name)))
    }

    /// None for an empty field.
    fn optional(&self, name: &str) -> Result<Option<u64>, ImportError> {
        match self.text(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| self.wrong(name)),
        }
    }

    fn number(&self, name: &str) -> Result<u64, ImportError> {
        if !self.names.contains_key(name) {
            return Err(ImportError::at(1, format!("the column '{name}' is missing")));
        }
        self.optional(name)?.ok_or_else(|| self.wrong(name))
    }

    /// A count that an export leaves empty where it is not known.
    fn count(&self, name: &str) -> Result<u64, ImportError> {
        if !self.names.contains_key(name) {
            return Err(ImportError::at(1, format!("the column '{name}' is missing")));
        }
        Ok(self.optional(name)?.unwrap_or_default())
    }

    fn small(&self, name: &str) -> Result<u32, ImportError> {
        u32::try_from(self.number(name)?).map_err(|_| self.wrong(name))
    }
}

pub(super) fn read(header: &Record, rows: &[Record]) -> Result<Source, ImportError> {
    let names: BTreeMap<&str, usize> = header.fields.iter().map(String::as_str).zip(0..).collect();
    let after = names[AFTER_AXES];
    let axes: Vec<(usize, &str)> =
        (4..after).map(|column| (column, spreadsheet_text_read(&header.fields[column]))).collect();
    let counts: Vec<bool> = axes.iter().map(|(column, name)| is_count(name, *column, rows)).collect();
    let mut runs: Vec<SourceRun> = Vec::new();
    let mut seen: BTreeSet<(usize, u32, u32, Coordinates)> = BTreeSet::new();
    for record in rows {
        let row = Row { names: &names, row: record };
        let name = row.text("run");
        let at = runs.iter().position(|run| run.name == name).unwrap_or_else(|| {
            runs.push(SourceRun { name: name.to_owned(), ..SourceRun::default() });
            runs.len() - 1
        });
        let targets = &mut runs[at].targets;
        let target = targets.iter().position(|(known, _)| known == row.text("target")).unwrap_or_else(|| {
            targets.push((row.text("target").to_owned(), Facts::new()));
            targets.len() - 1
        });
        let mut coordinates = Coordinates::new();
        for ((column, name), count) in axes.iter().zip(&counts) {
            if let Some((axis, value)) = position(&row, *column, name, *count)? {
                coordinates = coordinates.with(axis, value);
            }
        }
        let step = SourceStep {
            target: target as u32,
            repetition: row.small("repetition")?,
            started_unix_ms: row.count("started_unix_ms")?,
            checks: checks(&row)?,
            measure: measure(&row)?,
            coordinates,
        };
        if !seen.insert((at, step.target, step.repetition, step.coordinates.clone())) {
            let problem = format!("{}, repetition {}, is listed twice", step.coordinates, step.repetition);
            return Err(ImportError::at(record.line, problem));
        }
        runs[at].steps.push(step);
    }
    if let [only] = runs.as_mut_slice() {
        only.name.clear();
    }
    let started = runs.iter().flat_map(|run| &run.steps).map(|step| step.started_unix_ms).min();
    let notes =
        vec!["a CSV export has percentiles of response times only; means read from it are too large".into()];
    Ok(Source {
        program: Some("sharebench".into()),
        started_unix_ms: started.unwrap_or(0),
        runs,
        notes,
        ..Source::default()
    })
}

/// Axes are counts where every field is a number, save those that are names by nature.
fn is_count(name: &str, column: usize, rows: &[Record]) -> bool {
    let named = [axis::TEST, axis::WORKLOAD].contains(&name);
    let mut known = rows.iter().map(|row| row.fields[column].as_str()).filter(|text| !text.is_empty());
    !named && known.all(|text| text.parse::<u64>().is_ok())
}

fn position(
    row: &Row<'_>,
    column: usize,
    name: &str,
    count: bool,
) -> Result<Option<(String, Value)>, ImportError> {
    let text = spreadsheet_text_read(&row.row.fields[column]);
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(match name.strip_suffix("_bytes") {
        Some(axis) => (axis.to_owned(), Value::Bytes(text.parse().map_err(|_| row.wrong(name))?)),
        None if count => (name.to_owned(), Value::Count(text.parse().map_err(|_| row.wrong(name))?)),
        None => (name.to_owned(), Value::text(text)),
    }))
}

/// The worst verdict; what each check said is one text in an export.
fn checks(row: &Row<'_>) -> Result<Vec<Check>, ImportError> {
    let verdict = match row.text("verdict") {
        "valid" => return Ok(Vec::new()),
        "warning" => Verdict::Warning,
        "invalid" => Verdict::Invalid,
        _ => return Err(row.wrong("verdict")),
    };
    Ok(vec![Check::new("exported", verdict, row.text("checks"))])
}

fn measure(row: &Row<'_>) -> Result<Measure, ImportError> {
    let window_ns = row.number("window_ns")?;
    let busy_ns = row.number("busy_ns")?;
    let rate_base = match row.optional("rate_reported_milli")? {
        Some(milli) => RateBase::Reported { milli },
        None if row.number("rate_base_ns")? == busy_ns => RateBase::Busy,
        None => RateBase::Window,
    };
    let mut errors = BTreeMap::new();
    for class in CLASSES {
        let name = format!("errors_{}", class.name().replace([' ', '-', '/'], "_"));
        if let Some(count @ 1..) = row.optional(&name)? {
            errors.insert(class, count);
        }
    }
    let transactions = row.count("transactions")?;
    Ok(Measure {
        window_ns,
        busy_ns,
        rate_base,
        operations: row.count("operations")?,
        transactions,
        bytes: IoBytes { read: row.count("read_bytes")?, written: row.count("written_bytes")? },
        verified: row.count("verified_bytes")?,
        wire: wire(row)?.into(),
        errors: errors.into(),
        users_assigned: row.small("users_assigned")?,
        users_reported: row.small("users_reported")?,
        censored: row.count("censored")?,
        response: times(row, "response", transactions)?,
        service: times(row, "service", transactions)?,
        lag: times(row, "lag", transactions)?,
        reported: ReportedFigures {
            response_mean_ns: row.optional("reported_response_mean_ns")?,
            think_ns: row.optional("reported_think_ns")?,
            transaction_bytes: row.optional("reported_transaction_bytes")?,
        }
        .into(),
        client_cpu: CpuTime {
            user_ns: row.count("client_cpu_user_ns")?,
            kernel_ns: row.count("client_cpu_kernel_ns")?,
        },
        ..Measure::default()
    })
}

fn wire(row: &Row<'_>) -> Result<Option<WireCount>, ImportError> {
    let Some(requests) = row.optional("wire_requests")? else { return Ok(None) };
    Ok(Some(WireCount {
        requests,
        sent: row.number("wire_sent_bytes")?,
        received: row.number("wire_received_bytes")?,
        payload_sent: row.number("wire_payload_sent_bytes")?,
        payload_received: row.number("wire_payload_received_bytes")?,
        ..WireCount::default()
    }))
}

fn times(row: &Row<'_>, name: &str, count: u64) -> Result<Histogram, ImportError> {
    let mut known = Vec::new();
    for (short, quantile) in QUANTILES {
        if let Some(nanos) = row.optional(&format!("{name}_{short}_ns"))? {
            known.push((quantile, nanos));
        }
    }
    let Some(max) = row.optional(&format!("{name}_max_ns"))? else { return Ok(Histogram::new()) };
    Ok(from_quantiles(count, &known, max))
}
