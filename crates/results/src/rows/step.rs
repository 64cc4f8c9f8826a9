//! A step as a row of the table `step`, exactly.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Row, Statement};
use serde::de::DeserializeOwned;
use sharebench_model::{
    Check, Coordinates, CpuTime, ErrorClass, Evidence, Histogram, HistogramArchive, IoBytes, JobShare,
    Measure, RateBase, ReportedFigures, ResponseSampleSize, ServerEvidence, Sparse, StepResult, WireCount,
};

use super::column::{from_json, to_json};
use super::total::Total;
use super::{load, rank};
use crate::archive::{self, CheckThinner};
use crate::error::Problem;
use crate::stored::RunId;

pub(crate) const INSERT: &str = "INSERT INTO step (run, position, target, repetition, coordinates, \
    started_unix_ms, unmeasured_ms, window_ns, busy_ns, rate_base, operations, transactions, bytes_read, bytes_written, \
    bytes_verified, wire_requests, wire_bytes_sent, wire_bytes_received, wire_payload_sent, \
    wire_payload_received, errors, users_assigned, users_reported, censored, response, service, lag, \
    client_cpu_user_ns, client_cpu_kernel_ns, checks, passes, shares, response_sample_size, evidence, load, server, tcp, ranks, reported) VALUES (:run, \
    :position, :target, :repetition, \
    :coordinates, :started_unix_ms, :unmeasured_ms, :window_ns, :busy_ns, :rate_base, :operations, :transactions, :bytes_read, \
    :bytes_written, :bytes_verified, :wire_requests, :wire_bytes_sent, :wire_bytes_received, \
    :wire_payload_sent, :wire_payload_received, :errors, :users_assigned, :users_reported, :censored, \
    :response, :service, :lag, :client_cpu_user_ns, :client_cpu_kernel_ns, :checks, :passes, :shares, \
    :response_sample_size, :evidence, :load, :server, :tcp, :ranks, :reported)";

/// Executes [`INSERT`].
pub(crate) fn insert(statement: &mut Statement<'_>, run: RunId, step: &StepResult) -> Result<(), Problem> {
    let measure = &step.measure;
    let total = Total::default();
    let number = |column, value| total.number(column, value).map(u64::cast_signed);
    let wire = |column, count: fn(WireCount) -> u64| {
        measure.wire.map(|wire| number(column, count(wire))).transpose()
    };
    let optional = |column, text: Option<String>| text.map(|text| total.json(column, text)).transpose();
    statement.execute(rusqlite::named_params! {
        ":run": run.0,
        ":position": step.index,
        ":target": step.target,
        ":repetition": step.repetition,
        ":coordinates": to_json("coordinates", &step.coordinates)?,
        ":started_unix_ms": step.started_unix_ms.cast_signed(),
        ":unmeasured_ms": step.unmeasured_ms,
        ":window_ns": number("window_ns", measure.window_ns)?,
        ":busy_ns": number("busy_ns", measure.busy_ns)?,
        ":rate_base": to_json("rate_base", &measure.rate_base)?,
        ":operations": number("operations", measure.operations)?,
        ":transactions": number("transactions", measure.transactions)?,
        ":bytes_read": number("bytes_read", measure.bytes.read)?,
        ":bytes_written": number("bytes_written", measure.bytes.written)?,
        ":bytes_verified": number("bytes_verified", measure.verified)?,
        ":wire_requests": wire("wire_requests", |wire| wire.requests)?,
        ":wire_bytes_sent": wire("wire_bytes_sent", |wire| wire.sent)?,
        ":wire_bytes_received": wire("wire_bytes_received", |wire| wire.received)?,
        ":wire_payload_sent": wire("wire_payload_sent", |wire| wire.payload_sent)?,
        ":wire_payload_received": wire("wire_payload_received", |wire| wire.payload_received)?,
        ":errors": total.json("errors", to_json("errors", &measure.errors)?)?,
        ":users_assigned": measure.users_assigned,
        ":users_reported": measure.users_reported,
        ":censored": number("censored", measure.censored)?,
        ":response": measure.response.to_v2(),
        ":service": measure.service.to_v2(),
        ":lag": measure.lag.to_v2(),
        ":client_cpu_user_ns": number("client_cpu_user_ns", measure.client_cpu.user_ns)?,
        ":client_cpu_kernel_ns": number("client_cpu_kernel_ns", measure.client_cpu.kernel_ns)?,
        ":checks": to_json("checks", &step.checks)?,
        ":response_sample_size": sample_size_json(&measure.response_sample_size)?,
        ":evidence": total.json("evidence", to_json("evidence", &measure.evidence)?)?,
        ":load": optional("load", load::to_column(&measure.load)?)?,
        ":ranks": optional("ranks", rank::to_column(&measure.ranks)?)?,
        ":server": optional("server", server_json(&measure.server)?)?,
        ":tcp": optional("tcp", measure.tcp.map(|tcp| to_json("tcp", &tcp)).transpose()?)?,
        ":reported": optional("reported", reported_json(*measure.reported)?)?,
        ":passes": number("passes", measure.passes)?,
        ":shares": total.json("shares", to_json("shares", &measure.shares)?)?,
    })?;
    Ok(())
}

/// The columns in the order in which a [`RowReader`] reads them.
///
/// They are read by number: a look-up by name compares names, and a run may have a million rows of these.
const COLUMNS: [&str; 38] = [
    "position",
    "target",
    "repetition",
    "coordinates",
    "started_unix_ms",
    "unmeasured_ms",
    "window_ns",
    "busy_ns",
    "rate_base",
    "operations",
    "transactions",
    "bytes_read",
    "bytes_written",
    "bytes_verified",
    "wire_requests",
    "wire_bytes_sent",
    "wire_bytes_received",
    "wire_payload_sent",
    "wire_payload_received",
    "errors",
    "passes",
    "users_assigned",
    "users_reported",
    "shares",
    "censored",
    "response",
    "response_sample_size",
    "service",
    "lag",
    "reported",
    "client_cpu_user_ns",
    "client_cpu_kernel_ns",
    "evidence",
    "load",
    "ranks",
    "server",
    "tcp",
    "checks",
];

/// Selects the steps of a run in the order of the schedule, for a [`RowReader`]: those of all targets, or of some.
pub(crate) fn select(targets: Option<&[usize]>) -> String {
    let columns = COLUMNS.join(", ");
    let of_targets = targets.map_or_else(String::new, |targets| {
        let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
        format!(" AND target IN ({})", targets.join(", "))
    });
    format!("SELECT {columns}, rowid FROM step WHERE run = ?1{of_targets} ORDER BY position")
}

/// As [`select`], but of the steps after position `?2` and up to row `?3`, at most `most`.
pub(crate) fn select_after(most: usize) -> String {
    let columns = COLUMNS.join(", ");
    format!(
        "SELECT {columns}, rowid FROM step WHERE run = ?1 AND position > ?2 AND rowid <= ?3 ORDER BY position \
         LIMIT {most}"
    )
}

/// Reads rows of [`select`].
///
/// Most texts of a row are those of the row before, and each cell has the same coordinates in all its repetitions. The
/// reader parses such a text once, which makes loading several times as fast, and the steps share the value.
#[derive(Default)]
pub(crate) struct RowReader {
    coordinates: LastText<Coordinates>,
    /// All coordinates so far; none for a reader whose memory must not grow.
    known: Option<KnownCoordinates>,
    rate_base: LastText<RateBase>,
    errors: LastText<Sparse<BTreeMap<ErrorClass, u64>>>,
    shares: LastText<Sparse<Vec<JobShare>>>,
    evidence: LastText<Sparse<Evidence>>,
    /// Of the row before.
    wire: Sparse<Option<WireCount>>,
    checks: LastText<Sparse<Vec<Check>>>,
    /// Where histograms stay; none if the steps have them.
    archive: Option<Arc<dyn HistogramArchive>>,
    thinner: CheckThinner,
    total: Total,
}

/// Coordinates by the hash of their text.
///
/// The texts themselves would take more memory than the coordinates: those of 100,000 positions fill gaps between what
/// stays, and the process does not get smaller when they are freed. So a text is compared with the one that its
/// coordinates are written as, which takes a fraction of the time of parsing.
#[derive(Default)]
struct KnownCoordinates {
    hasher: RandomState,
    by_hash: HashMap<u64, Coordinates>,
    /// Text of the coordinates that are compared.
    written: Vec<u8>,
}

impl KnownCoordinates {
    fn get(&mut self, text: &str) -> Result<Coordinates, Problem> {
        let hash = self.hasher.hash_one(text);
        if let Some(known) = self.by_hash.get(&hash) {
            self.written.clear();
            let is_written = serde_json::to_writer(&mut self.written, known).is_ok();
            if is_written && self.written == text.as_bytes() {
                return Ok(known.clone());
            }
        }
        let coordinates: Coordinates = from_json("coordinates", text)?;
        self.by_hash.insert(hash, coordinates.clone());
        Ok(coordinates)
    }
}

/// The text that was parsed last, and its value.
struct LastText<T> {
    text: String,
    value: Option<T>,
}

impl<T> Default for LastText<T> {
    fn default() -> Self {
        Self { text: String::new(), value: None }
    }
}

impl<T: Clone> LastText<T> {
    fn get(&mut self, text: &str, parse: impl FnOnce(&str) -> Result<T, Problem>) -> Result<T, Problem> {
        if let Some(value) = self.value.as_ref().filter(|_| self.text == text) {
            return Ok(value.clone());
        }
        let value = parse(text)?;
        text.clone_into(&mut self.text);
        self.value = Some(value.clone());
        Ok(value)
    }
}

impl RowReader {
    /// A reader of whole runs: steps of equal coordinates share them.
    pub(crate) fn sharing() -> Self {
        Self { known: Some(KnownCoordinates::default()), ..Self::default() }
    }

    /// A reader of runs for an analysis (see [`Store::load_compact`](crate::Store::load_compact)).
    pub(crate) fn compact(archive: Arc<dyn HistogramArchive>) -> Self {
        Self { archive: Some(archive), ..Self::sharing() }
    }

    /// Reads a row.
    pub(crate) fn read(&mut self, row: &Row<'_>) -> Result<StepResult, Problem> {
        let total = std::mem::take(&mut self.total);
        let mut fields = Fields { row, next: 0, last_histogram: None, total };
        // The fields of a struct are evaluated in the order in which they are written.
        let result = StepResult {
            index: fields.get("position")?,
            target: fields.get("target")?,
            repetition: fields.get("repetition")?,
            coordinates: self.coordinates(fields.text("coordinates")?)?,
            started_unix_ms: instant("started_unix_ms", fields.get("started_unix_ms")?)?,
            unmeasured_ms: fields.get("unmeasured_ms")?,
            measure: self.measure(&mut fields)?,
            checks: self.checks(fields.text("checks")?)?,
        };
        self.total = fields.total;
        Ok(result)
    }

    fn coordinates(&mut self, text: &str) -> Result<Coordinates, Problem> {
        let known = &mut self.known;
        self.coordinates.get(text, |text| match known {
            Some(known) => known.get(text),
            None => from_json("coordinates", text),
        })
    }

    fn checks(&mut self, text: &str) -> Result<Sparse<Vec<Check>>, Problem> {
        let is_compact = self.archive.is_some();
        let thinner = &mut self.thinner;
        self.checks.get(text, |text| {
            let checks: Vec<Check> = from_json("checks", text)?;
            Ok(if is_compact { thinner.thin(checks) } else { checks.into() })
        })
    }

    /// Requests of the same work are often the same number in each repetition and on each target.
    fn wire(&mut self, count: Option<WireCount>) -> Sparse<Option<WireCount>> {
        if *self.wire != count {
            self.wire = count.into();
        }
        self.wire.clone()
    }

    fn shares(&mut self, text: &str) -> Result<Sparse<Vec<JobShare>>, Problem> {
        // No analysis uses them: it reports the figures of whole steps.
        if self.archive.is_some() {
            return Ok(Sparse::default());
        }
        self.shares.get(text, |text| from_json("shares", text))
    }

    fn measure(&mut self, fields: &mut Fields<'_, '_>) -> Result<Measure, Problem> {
        Ok(Measure {
            window_ns: fields.number("window_ns")?,
            busy_ns: fields.number("busy_ns")?,
            rate_base: self.rate_base.get(fields.text("rate_base")?, |text| from_json("rate_base", text))?,
            operations: fields.number("operations")?,
            transactions: fields.number("transactions")?,
            bytes: IoBytes { read: fields.number("bytes_read")?, written: fields.number("bytes_written")? },
            verified: fields.number("bytes_verified")?,
            wire: self.wire(fields.wire()?),
            errors: self.errors.get(fields.json("errors")?, |text| from_json("errors", text))?,
            passes: fields.number("passes")?,
            users_assigned: fields.get("users_assigned")?,
            users_reported: fields.get("users_reported")?,
            shares: self.shares(fields.json("shares")?)?,
            censored: fields.number("censored")?,
            response: fields.histogram("response", self.archive.as_ref())?,
            response_sample_size: fields.sample_sizes("response_sample_size")?,
            service: fields.histogram("service", self.archive.as_ref())?,
            lag: fields.histogram("lag", self.archive.as_ref())?,
            reported: fields.json_or_default("reported")?,
            client_cpu: CpuTime {
                user_ns: fields.number("client_cpu_user_ns")?,
                kernel_ns: fields.number("client_cpu_kernel_ns")?,
            },
            evidence: self.evidence.get(fields.json("evidence")?, |text| from_json("evidence", text))?,
            load: load::from_column(fields.optional("load")?)?.into(),
            ranks: rank::from_column(fields.optional("ranks")?)?.into(),
            server: fields.json_or_default("server")?,
            tcp: fields.json_or_default("tcp")?,
        })
    }
}

/// A row of [`select`], read from its first column to its last.
struct Fields<'r, 's> {
    row: &'r Row<'s>,
    next: usize,
    /// The histogram that was read last, and its bytes.
    last_histogram: Option<(&'r [u8], Histogram)>,
    total: Total,
}

impl<'r> Fields<'r, '_> {
    /// Reads the next column.
    fn get<T: FromSql>(&mut self, column: &'static str) -> Result<T, Problem> {
        let at = self.advance(column);
        self.row.get(at).map_err(|error| unreadable(column, error))
    }

    fn advance(&mut self, column: &'static str) -> usize {
        debug_assert_eq!(COLUMNS[self.next], column, "columns are read in their order");
        self.next += 1;
        self.next - 1
    }

    /// The text of the next column, without a copy.
    fn text(&mut self, column: &'static str) -> Result<&'r str, Problem> {
        let value = self.value(column)?;
        value.as_str().map_err(|error| Problem::value(column, error))
    }

    fn value(&mut self, column: &'static str) -> Result<ValueRef<'r>, Problem> {
        let at = self.advance(column);
        self.row.get_ref(at).map_err(|error| unreadable(column, error))
    }

    fn number(&mut self, column: &'static str) -> Result<u64, Problem> {
        let value = self.get::<i64>(column)?;
        self.total.number(column, value.cast_unsigned())
    }

    /// As [`Self::text`], and adds its integers to the total.
    fn json(&mut self, column: &'static str) -> Result<&'r str, Problem> {
        let text = self.text(column)?;
        self.total.json(column, text)
    }

    /// As [`Self::json`]; none where the column is null.
    fn optional(&mut self, column: &'static str) -> Result<Option<&'r str>, Problem> {
        let text = self.value(column)?.as_str_or_null().map_err(|error| Problem::value(column, error))?;
        text.map(|text| self.total.json(column, text)).transpose()
    }

    /// The default where the column is null.
    fn json_or_default<T: DeserializeOwned + Default>(&mut self, column: &'static str) -> Result<T, Problem> {
        self.optional(column)?.map_or_else(|| Ok(T::default()), |text| from_json(column, text))
    }

    /// Sample sizes without spare capacity: a run has a list of them for each of its steps.
    fn sample_sizes(&mut self, column: &'static str) -> Result<Sparse<Vec<ResponseSampleSize>>, Problem> {
        let mut sizes: Vec<ResponseSampleSize> = self.json_or_default(column)?;
        sizes.shrink_to_fit();
        Ok(sizes.into())
    }

    /// The histogram of the next column. Response and service times are the same where every request started when it was
    /// intended to, and then they share one histogram.
    fn histogram(
        &mut self,
        column: &'static str,
        archive: Option<&Arc<dyn HistogramArchive>>,
    ) -> Result<Histogram, Problem> {
        let bytes = self.value(column)?.as_blob().map_err(|error| Problem::value(column, error))?;
        if let Some((_, histogram)) = self.last_histogram.as_ref().filter(|(last, _)| *last == bytes) {
            return Ok(histogram.clone());
        }
        let histogram = match archive {
            Some(archive) => {
                let row = self.row.get(COLUMNS.len())?;
                Histogram::archived_v2(bytes, archive, archive::key(row, column))
            }
            None => Histogram::from_v2(bytes),
        };
        let histogram = histogram.map_err(|error| Problem::value(column, error))?;
        self.total.number(column, histogram.len())?;
        self.last_histogram = Some((bytes, histogram.clone()));
        Ok(histogram)
    }

    fn wire(&mut self) -> Result<Option<WireCount>, Problem> {
        let mut number = |column| {
            let value = self.get::<Option<i64>>(column)?.map(i64::cast_unsigned);
            value.map(|value| self.total.number(column, value)).transpose()
        };
        let requests = number("wire_requests")?;
        let sent = number("wire_bytes_sent")?;
        let received = number("wire_bytes_received")?;
        let payload_sent = number("wire_payload_sent")?;
        let payload_received = number("wire_payload_received")?;
        let Some(requests) = requests else { return Ok(None) };
        let known = |column, value: Option<u64>| value.ok_or_else(|| Problem::value(column, "null"));
        Ok(Some(WireCount {
            requests,
            sent: known("wire_bytes_sent", sent)?,
            received: known("wire_bytes_received", received)?,
            payload_sent: known("wire_payload_sent", payload_sent)?,
            payload_received: known("wire_payload_received", payload_received)?,
            ..WireCount::default()
        }))
    }
}

/// An instant in milliseconds since 1970, before the year 10000: later ones cannot be shown, and durations are added to it.
fn instant(column: &'static str, unix_ms: i64) -> Result<u64, Problem> {
    let known = u64::try_from(unix_ms).ok().filter(|unix_ms| *unix_ms < 253_402_300_800_000);
    known.ok_or_else(|| Problem::value(column, format!("{unix_ms} ms is no instant from 1970 to 9999")))
}

/// The error of a column; a failure of the database itself is not one of the value.
fn unreadable(column: &'static str, error: rusqlite::Error) -> Problem {
    match error {
        rusqlite::Error::SqliteFailure(..) => error.into(),
        other => Problem::value(column, other),
    }
}

fn sample_size_json(sizes: &[ResponseSampleSize]) -> Result<Option<String>, Problem> {
    (!sizes.is_empty()).then(|| to_json("response_sample_size", &sizes)).transpose()
}

fn reported_json(figures: ReportedFigures) -> Result<Option<String>, Problem> {
    (figures != ReportedFigures::default()).then(|| to_json("reported", &figures)).transpose()
}

fn server_json(server: &ServerEvidence) -> Result<Option<String>, Problem> {
    (!server.is_empty()).then(|| to_json("server", server)).transpose()
}
