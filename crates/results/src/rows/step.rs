//! A step as a row of the table `step`, exactly.

use rusqlite::types::FromSql;
use rusqlite::{Row, Statement};
use serde::de::DeserializeOwned;
use sharebench_model::{
    CpuTime, Histogram, IoBytes, Measure, ReportedFigures, ResponseSampleSize, ServerEvidence, StepResult,
    WireCount,
};

use super::column::{from_json, to_json};
use super::{load, rank};
use crate::error::Problem;
use crate::stored::RunId;

pub(crate) const INSERT: &str = "INSERT INTO step (run, position, target, repetition, coordinates, \
    started_unix_ms, window_ns, busy_ns, rate_base, operations, transactions, bytes_read, bytes_written, \
    bytes_verified, wire_requests, wire_bytes_sent, wire_bytes_received, wire_payload_sent, \
    wire_payload_received, errors, users_assigned, users_reported, censored, response, service, lag, \
    client_cpu_user_ns, client_cpu_kernel_ns, checks, passes, shares, response_sample_size, evidence, load, server, ranks, reported) VALUES (:run, \
    :position, :target, :repetition, \
    :coordinates, :started_unix_ms, :window_ns, :busy_ns, :rate_base, :operations, :transactions, :bytes_read, \
    :bytes_written, :bytes_verified, :wire_requests, :wire_bytes_sent, :wire_bytes_received, \
    :wire_payload_sent, :wire_payload_received, :errors, :users_assigned, :users_reported, :censored, \
    :response, :service, :lag, :client_cpu_user_ns, :client_cpu_kernel_ns, :checks, :passes, :shares, \
    :response_sample_size, :evidence, :load, :server, :ranks, :reported)";

/// Executes [`INSERT`].
pub(crate) fn insert(statement: &mut Statement<'_>, run: RunId, step: &StepResult) -> Result<(), Problem> {
    let measure = &step.measure;
    let wire = |count: fn(WireCount) -> u64| measure.wire.map(|wire| count(wire).cast_signed());
    statement.execute(rusqlite::named_params! {
        ":run": run.0,
        ":position": step.index,
        ":target": step.target,
        ":repetition": step.repetition,
        ":coordinates": to_json("coordinates", &step.coordinates)?,
        ":started_unix_ms": step.started_unix_ms.cast_signed(),
        ":window_ns": measure.window_ns.cast_signed(),
        ":busy_ns": measure.busy_ns.cast_signed(),
        ":rate_base": to_json("rate_base", &measure.rate_base)?,
        ":operations": measure.operations.cast_signed(),
        ":transactions": measure.transactions.cast_signed(),
        ":bytes_read": measure.bytes.read.cast_signed(),
        ":bytes_written": measure.bytes.written.cast_signed(),
        ":bytes_verified": measure.verified.cast_signed(),
        ":wire_requests": wire(|wire| wire.requests),
        ":wire_bytes_sent": wire(|wire| wire.sent),
        ":wire_bytes_received": wire(|wire| wire.received),
        ":wire_payload_sent": wire(|wire| wire.payload_sent),
        ":wire_payload_received": wire(|wire| wire.payload_received),
        ":errors": to_json("errors", &measure.errors)?,
        ":users_assigned": measure.users_assigned,
        ":users_reported": measure.users_reported,
        ":censored": measure.censored.cast_signed(),
        ":response": measure.response.to_v2(),
        ":service": measure.service.to_v2(),
        ":lag": measure.lag.to_v2(),
        ":client_cpu_user_ns": measure.client_cpu.user_ns.cast_signed(),
        ":client_cpu_kernel_ns": measure.client_cpu.kernel_ns.cast_signed(),
        ":checks": to_json("checks", &step.checks)?,
        ":response_sample_size": sample_size_json(&measure.response_sample_size)?,
        ":evidence": to_json("evidence", &measure.evidence)?,
        ":load": load::to_column(&measure.load)?,
        ":ranks": rank::to_column(&measure.ranks)?,
        ":server": server_json(&measure.server)?,
        ":reported": reported_json(measure.reported)?,
        ":passes": measure.passes.cast_signed(),
        ":shares": to_json("shares", &measure.shares)?,
    })?;
    Ok(())
}

/// The columns in the order in which [`read`] reads them.
///
/// They are read by number: a look-up by name compares names, and a run may have a million rows of these.
const COLUMNS: [&str; 36] = [
    "position",
    "target",
    "repetition",
    "coordinates",
    "started_unix_ms",
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
    "checks",
];

/// Selects the steps of a run in the order of the schedule, for [`read`].
pub(crate) fn select() -> String {
    format!("SELECT {}, rowid FROM step WHERE run = ?1 ORDER BY position", COLUMNS.join(", "))
}

/// As [`select`], but of the steps after position `?2` and up to row `?3`, at most `most`.
pub(crate) fn select_after(most: usize) -> String {
    let columns = COLUMNS.join(", ");
    format!(
        "SELECT {columns} FROM step WHERE run = ?1 AND position > ?2 AND rowid <= ?3 ORDER BY position LIMIT {most}"
    )
}

/// SQLite's number of a row of [`select`].
pub(crate) fn row_id(row: &Row<'_>) -> Result<i64, Problem> {
    Ok(row.get(COLUMNS.len())?)
}

/// A row of [`select`], read from its first column to its last.
struct Fields<'r, 's> {
    row: &'r Row<'s>,
    next: usize,
}

impl Fields<'_, '_> {
    /// Reads the next column.
    fn get<T: FromSql>(&mut self, column: &'static str) -> Result<T, Problem> {
        debug_assert_eq!(COLUMNS[self.next], column, "columns are read in their order");
        let value = self.row.get(self.next).map_err(|error| match error {
            rusqlite::Error::SqliteFailure(..) => error.into(),
            other => Problem::value(column, other),
        });
        self.next += 1;
        value
    }

    fn number(&mut self, column: &'static str) -> Result<u64, Problem> {
        self.get::<i64>(column).map(i64::cast_unsigned)
    }

    fn json<T: DeserializeOwned>(&mut self, column: &'static str) -> Result<T, Problem> {
        from_json(column, &self.get::<String>(column)?)
    }

    /// The default where the column is null.
    fn json_or_default<T: DeserializeOwned + Default>(&mut self, column: &'static str) -> Result<T, Problem> {
        self.get::<Option<String>>(column)?.map_or(Ok(T::default()), |text| from_json(column, &text))
    }

    fn histogram(&mut self, column: &'static str) -> Result<Histogram, Problem> {
        Histogram::from_v2(&self.get::<Vec<u8>>(column)?).map_err(|error| Problem::value(column, error))
    }

    fn wire(&mut self) -> Result<Option<WireCount>, Problem> {
        let mut number = |column| Ok::<_, Problem>(self.get::<Option<i64>>(column)?.map(i64::cast_unsigned));
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
        }))
    }
}

/// Reads a row of [`select`].
pub(crate) fn read(row: &Row<'_>) -> Result<StepResult, Problem> {
    let mut fields = Fields { row, next: 0 };
    // The fields of a struct are evaluated in the order in which they are written.
    Ok(StepResult {
        index: fields.get("position")?,
        target: fields.get("target")?,
        repetition: fields.get("repetition")?,
        coordinates: fields.json("coordinates")?,
        started_unix_ms: fields.number("started_unix_ms")?,
        measure: measure(&mut fields)?,
        checks: fields.json("checks")?,
    })
}

fn measure(fields: &mut Fields<'_, '_>) -> Result<Measure, Problem> {
    Ok(Measure {
        window_ns: fields.number("window_ns")?,
        busy_ns: fields.number("busy_ns")?,
        rate_base: fields.json("rate_base")?,
        operations: fields.number("operations")?,
        transactions: fields.number("transactions")?,
        bytes: IoBytes { read: fields.number("bytes_read")?, written: fields.number("bytes_written")? },
        verified: fields.number("bytes_verified")?,
        wire: fields.wire()?,
        errors: fields.json("errors")?,
        passes: fields.number("passes")?,
        users_assigned: fields.get("users_assigned")?,
        users_reported: fields.get("users_reported")?,
        shares: fields.json("shares")?,
        censored: fields.number("censored")?,
        response: fields.histogram("response")?,
        response_sample_size: fields.json_or_default("response_sample_size")?,
        service: fields.histogram("service")?,
        lag: fields.histogram("lag")?,
        reported: fields.json_or_default("reported")?,
        client_cpu: CpuTime {
            user_ns: fields.number("client_cpu_user_ns")?,
            kernel_ns: fields.number("client_cpu_kernel_ns")?,
        },
        evidence: fields.json("evidence")?,
        load: load::from_column(fields.get("load")?)?.into(),
        ranks: rank::from_column(fields.get("ranks")?)?,
        server: fields.json_or_default("server")?,
    })
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
