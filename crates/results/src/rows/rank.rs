//! What each rank contributed, as the JSON of one column: histograms are HdrHistogram V2 in base64.

use serde::{Deserialize, Serialize};
use sharebench_model::{IoBytes, RankShare};

use super::column::{decoded, encoded, from_json, to_json};
use crate::error::Problem;

/// Name of the column.
const COLUMN: &str = "ranks";

#[derive(Serialize, Deserialize)]
struct Row {
    rank: u32,
    host: String,
    users: u32,
    users_reported: u32,
    operations: u64,
    transactions: u64,
    bytes: IoBytes,
    errors: u64,
    response: String,
    late_ns: u64,
    clock_error_ns: u64,
}

/// The column; none for steps of one rank.
pub(crate) fn to_column(ranks: &[RankShare]) -> Result<Option<String>, Problem> {
    let row = |share: &RankShare| Row {
        rank: share.rank,
        host: share.host.clone(),
        users: share.users,
        users_reported: share.users_reported,
        operations: share.operations,
        transactions: share.transactions,
        bytes: share.bytes,
        errors: share.errors,
        response: encoded(&share.response),
        late_ns: share.late_ns,
        clock_error_ns: share.clock_error_ns,
    };
    let rows: Vec<Row> = ranks.iter().map(row).collect();
    (!rows.is_empty()).then(|| to_json(COLUMN, &rows)).transpose()
}

/// Reads [`to_column`]'s text.
pub(crate) fn from_column(text: Option<&str>) -> Result<Vec<RankShare>, Problem> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let share = |row: Row| {
        Ok(RankShare {
            response: decoded(COLUMN, &row.response)?,
            rank: row.rank,
            host: row.host,
            users: row.users,
            users_reported: row.users_reported,
            operations: row.operations,
            transactions: row.transactions,
            bytes: row.bytes,
            errors: row.errors,
            late_ns: row.late_ns,
            clock_error_ns: row.clock_error_ns,
        })
    };
    from_json::<Vec<Row>>(COLUMN, text)?.into_iter().map(share).collect()
}
