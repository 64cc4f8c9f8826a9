//! A load by transaction and operation, as the JSON of one column and of exports: histograms are HdrHistogram V2 in base64.

use serde::{Deserialize, Serialize};
use sharebench_model::{
    ErrorClass, Fairness, LoadCounts, LoadDetail, LoadUnit, ObjectiveReport, Part, ServerLoad, SetCheck,
    SplitBlocks, Timeline,
};
use std::collections::BTreeMap;

use super::column::{decoded, encoded};
use crate::error::Problem;

#[derive(Serialize, Deserialize)]
struct PartRow {
    name: String,
    count: u64,
    bytes: u64,
    missed: u64,
    errors: BTreeMap<ErrorClass, u64>,
    response: String,
    service: String,
    lag: String,
}

#[derive(Serialize, Deserialize)]
struct Row {
    transactions: Vec<PartRow>,
    operations: Vec<PartRow>,
    fairness: Fairness,
    sessions_lost: u64,
    without_session_ns: u64,
    #[serde(default)]
    users_with_session: u32,
    think_ns: u64,
    objective: Option<ObjectiveReport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<LoadUnit>,
    window_unix_ms: u64,
    timeline: Timeline,
    split: SplitBlocks,
    server: Option<ServerLoad>,
    set_check: SetCheck,
    users_per_session: u32,
    left_out: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outside: Option<LoadCounts>,
    #[serde(default)]
    wire_operations: u64,
}

fn row_of(part: &Part) -> PartRow {
    PartRow {
        name: part.name.clone(),
        count: part.count,
        bytes: part.bytes,
        missed: part.missed,
        errors: part.errors.clone(),
        response: encoded(&part.response),
        service: encoded(&part.service),
        lag: encoded(&part.lag),
    }
}

fn part_of(row: PartRow) -> Result<Part, Problem> {
    let response = decoded("load", &row.response)?;
    let service = decoded("load", &row.service)?;
    let lag = decoded("load", &row.lag)?;
    let PartRow { name, count, bytes, missed, errors, .. } = row;
    Ok(Part { name, count, bytes, missed, errors, response, service, lag })
}

/// The column; none for steps of a sweep.
pub(crate) fn to_column(load: &LoadDetail) -> Result<Option<String>, Problem> {
    if load.is_empty() {
        return Ok(None);
    }
    let row = Row {
        transactions: load.transactions.iter().map(row_of).collect(),
        operations: load.operations.iter().map(row_of).collect(),
        fairness: load.fairness,
        sessions_lost: load.sessions_lost,
        without_session_ns: load.without_session_ns,
        users_with_session: load.users_with_session,
        think_ns: load.think_ns,
        objective: load.objective.clone(),
        unit: load.unit.clone(),
        window_unix_ms: load.window_unix_ms,
        timeline: load.timeline.clone(),
        split: load.split,
        server: load.server.clone(),
        set_check: load.set_check,
        users_per_session: load.users_per_session,
        left_out: load.left_out.clone(),
        outside: load.outside,
        wire_operations: load.wire_operations,
    };
    serde_json::to_string(&row).map(Some).map_err(|error| Problem::value("load", error))
}

/// Reads [`to_column`]'s text.
pub(crate) fn from_column(text: Option<&str>) -> Result<LoadDetail, Problem> {
    let Some(text) = text else { return Ok(LoadDetail::default()) };
    let row: Row = serde_json::from_str(text).map_err(|error| Problem::value("load", error))?;
    let parts = |rows: Vec<PartRow>| rows.into_iter().map(part_of).collect::<Result<Vec<Part>, Problem>>();
    Ok(LoadDetail {
        transactions: parts(row.transactions)?,
        operations: parts(row.operations)?,
        fairness: row.fairness,
        sessions_lost: row.sessions_lost,
        without_session_ns: row.without_session_ns,
        users_with_session: row.users_with_session,
        think_ns: row.think_ns,
        objective: row.objective,
        unit: row.unit,
        window_unix_ms: row.window_unix_ms,
        timeline: row.timeline,
        split: row.split,
        server: row.server,
        set_check: row.set_check,
        users_per_session: row.users_per_session,
        left_out: row.left_out,
        outside: row.outside,
        wire_operations: row.wire_operations,
    })
}
