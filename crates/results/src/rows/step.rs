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

fn get<T: FromSql>(row: &Row<'_>, column: &'static str) -> Result<T, Problem> {
    row.get(column).map_err(|error| match error {
        rusqlite::Error::SqliteFailure(..) => error.into(),
        other => Problem::value(column, other),
    })
}

fn number(row: &Row<'_>, column: &'static str) -> Result<u64, Problem> {
    get::<i64>(row, column).map(i64::cast_unsigned)
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> Result<T, Problem> {
    from_json(column, &get::<String>(row, column)?)
}

fn histogram(row: &Row<'_>, column: &'static str) -> Result<Histogram, Problem> {
    Histogram::from_v2(&get::<Vec<u8>>(row, column)?).map_err(|error| Problem::value(column, error))
}

/// Reads a row of `SELECT * FROM step`.
pub(crate) fn read(row: &Row<'_>) -> Result<StepResult, Problem> {
    Ok(StepResult {
        index: get(row, "position")?,
        target: get(row, "target")?,
        repetition: get(row, "repetition")?,
        coordinates: json(row, "coordinates")?,
        started_unix_ms: number(row, "started_unix_ms")?,
        measure: measure(row)?,
        checks: json(row, "checks")?,
    })
}

fn measure(row: &Row<'_>) -> Result<Measure, Problem> {
    Ok(Measure {
        window_ns: number(row, "window_ns")?,
        busy_ns: number(row, "busy_ns")?,
        rate_base: json(row, "rate_base")?,
        operations: number(row, "operations")?,
        transactions: number(row, "transactions")?,
        bytes: IoBytes { read: number(row, "bytes_read")?, written: number(row, "bytes_written")? },
        verified: number(row, "bytes_verified")?,
        wire: wire(row)?,
        errors: json(row, "errors")?,
        passes: number(row, "passes")?,
        users_assigned: get(row, "users_assigned")?,
        users_reported: get(row, "users_reported")?,
        shares: json(row, "shares")?,
        censored: number(row, "censored")?,
        response: histogram(row, "response")?,
        response_sample_size: sample_size(row, "response_sample_size")?,
        service: histogram(row, "service")?,
        lag: histogram(row, "lag")?,
        reported: reported(row, "reported")?,
        client_cpu: CpuTime {
            user_ns: number(row, "client_cpu_user_ns")?,
            kernel_ns: number(row, "client_cpu_kernel_ns")?,
        },
        evidence: json(row, "evidence")?,
        load: load::from_column(get(row, "load")?)?,
        ranks: rank::from_column(get(row, "ranks")?)?,
        server: server(row, "server")?,
    })
}

fn sample_size_json(sizes: &[ResponseSampleSize]) -> Result<Option<String>, Problem> {
    (!sizes.is_empty()).then(|| to_json("response_sample_size", &sizes)).transpose()
}

fn sample_size(row: &Row<'_>, column: &'static str) -> Result<Vec<ResponseSampleSize>, Problem> {
    get::<Option<String>>(row, column)?.map_or(Ok(Vec::new()), |text| from_json(column, &text))
}

fn reported_json(figures: ReportedFigures) -> Result<Option<String>, Problem> {
    (figures != ReportedFigures::default()).then(|| to_json("reported", &figures)).transpose()
}

fn reported(row: &Row<'_>, column: &'static str) -> Result<ReportedFigures, Problem> {
    get::<Option<String>>(row, column)?
        .map_or(Ok(ReportedFigures::default()), |text| from_json(column, &text))
}

fn server_json(server: &ServerEvidence) -> Result<Option<String>, Problem> {
    (!server.is_empty()).then(|| to_json("server", server)).transpose()
}

fn server(row: &Row<'_>, column: &'static str) -> Result<ServerEvidence, Problem> {
    get::<Option<String>>(row, column)?.map_or(Ok(ServerEvidence::default()), |text| from_json(column, &text))
}

fn wire(row: &Row<'_>) -> Result<Option<WireCount>, Problem> {
    let Some(requests) = get::<Option<i64>>(row, "wire_requests")? else { return Ok(None) };
    Ok(Some(WireCount {
        requests: requests.cast_unsigned(),
        sent: number(row, "wire_bytes_sent")?,
        received: number(row, "wire_bytes_received")?,
        payload_sent: number(row, "wire_payload_sent")?,
        payload_received: number(row, "wire_payload_received")?,
    }))
}
