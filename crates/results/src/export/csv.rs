//! A run as a flat table and as CSV: one row per step, raw integers, units in the names of the columns.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use sharebench_model::{
    ErrorClass, Evidence, Histogram, Measure, RateBase, StepResult, Value, WireCount, spreadsheet_text,
};

use super::steps::Steps;
use crate::error::WriteError;
use crate::stored::StoredRun;

/// A column's name and how a step fills it.
type Column<'r> = (String, Box<dyn Fn(&StepResult) -> Entry + 'r>);

/// Content of one cell of a [`Table`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Nothing was counted, or the step does not lie on that axis.
    Empty,
    /// A whole number.
    Number(u64),
    /// Anything else.
    Text(String),
}

impl From<u64> for Entry {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Entry {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<String> for Entry {
    fn from(text: String) -> Self {
        if text.is_empty() { Self::Empty } else { Self::Text(text) }
    }
}

impl<T: Into<Self>> From<Option<T>> for Entry {
    fn from(some: Option<T>) -> Self {
        some.map_or(Self::Empty, Into::into)
    }
}

/// A run as a flat table: one row per step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns; each ends with its unit.
    pub header: Vec<String>,
    /// As many entries per row as there are columns.
    pub rows: Vec<Vec<Entry>>,
}

/// The table of a run; wire columns are empty for local paths.
pub fn table(run: &StoredRun) -> Table {
    let mut variable = VariableColumns::default();
    run.steps.iter().for_each(|step| variable.add(step));
    let layout = columns(run, variable);
    let row = |step| layout.iter().map(|(_, fill)| fill(step)).collect();
    let rows = run.steps.iter().map(row).collect();
    Table { header: layout.iter().map(|(name, _)| name.clone()).collect(), rows }
}

/// The [`table`] of a run whose rows are made one after the other, so that memory does not depend on their number.
pub struct StreamedTable<'s> {
    steps: &'s dyn Steps,
    columns: Vec<Column<'s>>,
    rows: usize,
}

impl<'s> StreamedTable<'s> {
    /// Visits the steps once, because the columns depend on them.
    ///
    /// # Errors
    /// The run cannot be read.
    pub fn new(steps: &'s dyn Steps) -> Result<Self, WriteError> {
        let mut variable = VariableColumns::default();
        let mut rows = 0;
        steps.visit(&mut |step| {
            variable.add(step);
            rows += 1;
            Ok(())
        })?;
        Ok(Self { steps, columns: columns(steps.run(), variable), rows })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Names of the columns.
    pub fn header(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// Calls `each` for every row, until it fails.
    ///
    /// # Errors
    /// The run cannot be read, or `each` fails.
    pub fn visit(
        &self,
        each: &mut dyn FnMut(&mut dyn Iterator<Item = Entry>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        self.steps.visit(&mut |step| each(&mut self.columns.iter().map(|(_, fill)| fill(step))))
    }
}

impl std::fmt::Debug for StreamedTable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.header()).finish()
    }
}

/// What happens to texts that a spreadsheet would run as formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpreadsheetText {
    /// They get an apostrophe in front (see [`spreadsheet_text`]).
    Defused,
    /// They are written as they are.
    Exact,
}

/// Quantiles that are written out, with their names.
pub(super) const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999)];

/// Writes a run's [`table`] as CSV (RFC 4180, lines end with a line feed), step by step.
///
/// # Errors
/// The run cannot be read, or the output cannot be written.
pub fn write_csv(steps: &dyn Steps, texts: SpreadsheetText, out: &mut dyn Write) -> Result<(), WriteError> {
    let table = StreamedTable::new(steps)?;
    let safe = |text: String| match texts {
        SpreadsheetText::Defused => spreadsheet_text(text),
        SpreadsheetText::Exact => text,
    };
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(table.header().map(|name| safe(name.to_owned()))).map_err(io::Error::from)?;
    table.visit(&mut |row| {
        let row = row.map(|entry| match entry {
            Entry::Empty => String::new(),
            Entry::Number(number) => number.to_string(),
            Entry::Text(text) => safe(text),
        });
        Ok(writer.write_record(row).map_err(io::Error::from)?)
    })?;
    Ok(writer.flush()?)
}

/// Columns that depend on the steps.
#[derive(Default)]
struct VariableColumns {
    /// Every axis that any step has; true if it has sizes.
    axes: BTreeMap<String, bool>,
    /// Every error class that any step has.
    classes: BTreeSet<ErrorClass>,
}

impl VariableColumns {
    fn add(&mut self, step: &StepResult) {
        for (axis, value) in step.coordinates.iter() {
            if !self.axes.contains_key(axis) {
                self.axes.insert(axis.to_owned(), matches!(value, Value::Bytes(_)));
            }
        }
        self.classes.extend(step.measure.errors.keys());
    }
}

fn column<'r, E: Into<Entry>>(name: &str, fill: impl Fn(&StepResult) -> E + 'r) -> Column<'r> {
    (name.to_owned(), Box::new(move |step| fill(step).into()))
}

fn columns(run: &StoredRun, variable: VariableColumns) -> Vec<Column<'_>> {
    let mut columns = vec![
        column("run", |_| run.id.0.cast_unsigned()),
        column("step", |step| step.index),
        column("target", |step| {
            run.header
                .targets
                .get(step.target as usize)
                .map_or_else(String::new, |target| target.name.clone())
        }),
        column("repetition", |step| step.repetition),
    ];
    columns.extend(variable.axes.into_iter().map(|(name, bytes)| axis(name, bytes)));
    columns.extend(counts());
    columns.extend(wire());
    columns.extend(evidence());
    columns.push(measured("errors", Measure::error_count));
    columns.extend(variable.classes.into_iter().map(|class| {
        let name = format!("errors_{}", class.name().replace([' ', '-', '/'], "_"));
        column(&name, move |step| known(&step.measure, *step.measure.errors.get(&class).unwrap_or(&0)))
    }));
    columns.extend(reported());
    columns.extend(times("response", |step| &step.measure.response));
    columns.extend(times("service", |step| &step.measure.service));
    columns.extend(times("lag", |step| &step.measure.lag));
    columns.push(column("verdict", |step| step.verdict().to_string()));
    columns.push(column("checks", |step| {
        let checks =
            step.checks.iter().map(|check| format!("{} {}: {}", check.name, check.verdict, check.detail));
        checks.collect::<Vec<_>>().join("; ")
    }));
    columns
}

/// The column of an axis; sizes are named `.._bytes`.
fn axis<'r>(axis: String, bytes: bool) -> Column<'r> {
    let name = if bytes { format!("{axis}_bytes") } else { axis.clone() };
    column(&name, move |step| match step.coordinates.get(&axis) {
        Some(Value::Bytes(number) | Value::Count(number)) => Entry::Number(*number),
        Some(Value::Text(text)) => text.to_string().into(),
        None => Entry::Empty,
    })
}

/// A column of a count that is measured, never reported: a 0 of a step whose rate another program reports is unknown.
fn measured<'r>(name: &str, count: fn(&Measure) -> u64) -> Column<'r> {
    column(name, move |step| known(&step.measure, count(&step.measure)))
}

/// A count; none for a 0 of a step whose rate another program reports.
pub(super) fn known(measure: &Measure, count: u64) -> Option<u64> {
    (count > 0 || !measure.is_reported()).then_some(count)
}

/// Bytes of one direction; none where a reported rate counts no bytes.
pub(super) fn known_bytes(measure: &Measure, bytes: u64) -> Option<u64> {
    (measure.bytes.total() > 0 || !measure.is_reported()).then_some(bytes)
}

fn counts<'r>() -> Vec<Column<'r>> {
    vec![
        column("started_unix_ms", |step| known(&step.measure, step.started_unix_ms)),
        column("unmeasured_ms", |step| known(&step.measure, step.unmeasured_ms.into())),
        column("window_ns", |step| step.measure.window_ns),
        column("busy_ns", |step| step.measure.busy_ns),
        column("rate_base_ns", |step| step.measure.base_ns()),
        column("rate_reported_milli", |step| match step.measure.rate_base {
            RateBase::Reported { milli } => Some(milli),
            RateBase::Busy | RateBase::Window => None,
        }),
        measured("operations", |measure| measure.operations),
        measured("transactions", |measure| measure.transactions),
        column("read_bytes", |step| known_bytes(&step.measure, step.measure.bytes.read)),
        column("written_bytes", |step| known_bytes(&step.measure, step.measure.bytes.written)),
        measured("verified_bytes", |measure| measure.verified),
        measured("passes", |measure| measure.passes),
        column("users_assigned", |step| step.measure.users_assigned),
        column("users_reported", |step| step.measure.users_reported),
        measured("censored", |measure| measure.censored),
        measured("client_cpu_user_ns", |measure| measure.client_cpu.user_ns),
        measured("client_cpu_kernel_ns", |measure| measure.client_cpu.kernel_ns),
    ]
}

fn wire<'r>() -> Vec<Column<'r>> {
    let counted =
        |name: &str, count: fn(WireCount) -> u64| column(name, move |step| step.measure.wire.map(count));
    vec![
        counted("wire_requests", |wire| wire.requests),
        counted("wire_sent_bytes", |wire| wire.sent),
        counted("wire_received_bytes", |wire| wire.received),
        counted("wire_payload_sent_bytes", |wire| wire.payload_sent),
        counted("wire_payload_received_bytes", |wire| wire.payload_received),
    ]
}

/// Observations about caches and durability; empty where there are none.
fn evidence<'r>() -> Vec<Column<'r>> {
    let seen = |name: &str, of: fn(&Evidence) -> Option<u64>| {
        column(name, move |step| of(&step.measure.evidence).and_then(|count| known(&step.measure, count)))
    };
    vec![
        seen("resident_before_bytes", |seen| seen.before.map(|before| before.resident)),
        seen("cache_grown_bytes", |seen| seen.grown),
        seen("dirty_after_bytes", |seen| seen.dirty),
        seen("writes_through", |seen| Some(seen.sent.through)),
        seen("writes_stable", |seen| Some(seen.sent.stable)),
        seen("unbuffered", |seen| Some(seen.sent.unbuffered)),
        seen("flushes", |seen| Some(seen.flushes)),
        seen("flush_ns", |seen| Some(seen.flush_ns)),
        seen("close_ns", |seen| Some(seen.close_ns)),
    ]
}

/// Figures of an imported source; empty for measured steps.
fn reported<'r>() -> Vec<Column<'r>> {
    vec![
        column("reported_response_mean_ns", |step| step.measure.reported.response_mean_ns),
        column("reported_think_ns", |step| step.measure.reported.think_ns),
        column("reported_transaction_bytes", |step| step.measure.reported.transaction_bytes),
    ]
}

/// Quantiles and largest time of a histogram; empty where nothing was recorded.
fn times<'r>(name: &str, of: fn(&StepResult) -> &Histogram) -> Vec<Column<'r>> {
    let filled = |histogram: &Histogram, nanos: u64| (!histogram.is_empty()).then_some(nanos);
    let quantile = |(short, quantile): (&str, f64)| {
        column(&format!("{name}_{short}_ns"), move |step| filled(of(step), of(step).quantile(quantile)))
    };
    let mut columns: Vec<_> = QUANTILES.into_iter().map(quantile).collect();
    columns.push(column(&format!("{name}_max_ns"), move |step| filled(of(step), of(step).max())));
    columns
}
