//! Which runs count for the gate of a plan on a host.

use rusqlite::{Connection, params};
use sharebench_model::RunOutcome;

use crate::error::{Problem, StoreError};
use crate::store::{Store, state};
use crate::stored::{RunId, RunState};

/// The table is created by the first run that counts, so that the schema version stays as it is: a program that knows no
/// gate reads such a file without loss.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS gate_run (
    run INTEGER PRIMARY KEY REFERENCES run (id),
    -- TOML: the plan with all defaults and without its seed.
    plan TEXT NOT NULL,
    -- Name of the machine that measured.
    host TEXT NOT NULL,
    judged_unix_ms INTEGER NOT NULL,
    -- 1 if the run was compared with a run that the user named: runs before it do not count from then on.
    starts_series INTEGER NOT NULL
) STRICT";

/// A run with which later runs of its plan on a host are compared: one that passed its gate, or was inconclusive.
///
/// It is recorded after the verdict, once per run, and never changes. Only complete runs count, because the next run is
/// compared with all of their cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRun {
    /// The run.
    pub run: RunId,
    /// Its plan as TOML, with all defaults and without the seed.
    pub plan: String,
    /// Name of the machine that measured it.
    pub host: String,
    /// When it was judged, milliseconds since 1970 (UTC).
    pub judged_unix_ms: u64,
    /// True if the runs before do not count from here on.
    pub starts_series: bool,
}

impl Store {
    /// Records that a run counts.
    pub fn record_gate_run(&mut self, counted: &GateRun) -> Result<(), StoreError> {
        self.change(
            || format!("record that run {} counts for its gate", counted.run),
            |transaction| {
                let (state, _) = state(transaction, counted.run)?;
                if state != RunState::Ended(RunOutcome::Complete) {
                    return Err(Problem::OutOfOrder("only a complete run can count".to_owned()));
                }
                transaction.execute_batch(TABLE)?;
                transaction.execute(
                    "INSERT INTO gate_run (run, plan, host, judged_unix_ms, starts_series) \
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![
                        counted.run.0,
                        counted.plan,
                        counted.host,
                        counted.judged_unix_ms.cast_signed(),
                        counted.starts_series,
                    ],
                )?;
                Ok(())
            },
        )
    }

    /// The runs of a plan that count on a host, oldest first, from the last one on that started a series.
    pub fn gate_runs(&self, plan: &str, host: &str) -> Result<Vec<RunId>, StoreError> {
        self.look(
            || "read which runs count for a gate".to_owned(),
            |connection| {
                if !has_table(connection)? {
                    return Ok(Vec::new());
                }
                let mut runs = connection.prepare(
                    "SELECT run FROM gate_run WHERE plan = ?1 AND host = ?2 AND run >= \
                     (SELECT coalesce(max(run), 0) FROM gate_run WHERE plan = ?1 AND host = ?2 AND starts_series) \
                     ORDER BY run",
                )?;
                let runs = runs.query_map(params![plan, host], |row| row.get(0).map(RunId))?;
                Ok(runs.collect::<rusqlite::Result<_>>()?)
            },
        )
    }
}

/// True if a run counts for a gate in this file.
fn has_table(connection: &Connection) -> Result<bool, Problem> {
    let mut table =
        connection.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'gate_run'")?;
    Ok(table.exists([])?)
}
