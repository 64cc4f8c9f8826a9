//! Histograms of stored steps that stay in the database until they are used.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;
use sharebench_model::{Check, HistogramArchive, Sparse, Verdict};

use crate::error::{Problem, StoreError};

/// Columns with a histogram each, by the number that a key ends with.
const COLUMNS: [&str; 3] = ["response", "service", "lag"];

/// Rows that one statement reads.
const MAX_ROWS: usize = 256;

/// Reads histograms of steps again, over a connection of its own.
///
/// A run in memory has archived histograms, because those of a measured step take several kilobytes and an analysis uses
/// each of them once or twice. Steps never change, so that the bytes are those that were validated when the run was
/// loaded. If they cannot be read all the same (a disk fails), the histogram appears empty; whoever shows a figure looks
/// at [`failure`](Self::failure) before.
#[derive(Debug)]
pub struct StoredHistograms {
    connection: Mutex<Connection>,
    path: PathBuf,
    failure: Mutex<Option<StoreError>>,
}

impl StoredHistograms {
    pub(crate) fn new(connection: Connection, path: PathBuf) -> Self {
        Self { connection: Mutex::new(connection), path, failure: Mutex::new(None) }
    }

    /// The first histogram that could not be read; none if all were.
    pub fn failure(&self) -> Option<StoreError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Reads histograms by one statement, so that the file is locked once and not for each of them.
    fn read_together(&self, keys: &[u64]) -> Result<Vec<Vec<u8>>, Problem> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = HashMap::with_capacity(keys.len());
        for (number, column) in (0..).zip(COLUMNS) {
            let rows: Vec<String> = keys
                .iter()
                .filter(|key| **key % COLUMNS.len() as u64 == number)
                .map(|key| (key / COLUMNS.len() as u64).to_string())
                .collect();
            for rows in rows.chunks(MAX_ROWS) {
                let select = format!("SELECT rowid, {column} FROM step WHERE rowid IN ({})", rows.join(", "));
                let mut select = connection.prepare(&select)?;
                let mut rows = select.query([])?;
                while let Some(row) = rows.next()? {
                    found.insert(key(row.get(0)?, column), row.get(1)?);
                }
            }
        }
        let bytes =
            |key: &u64| found.get(key).cloned().ok_or_else(|| Problem::value("rowid", "a row is gone"));
        keys.iter().map(bytes).collect()
    }
}

/// The key of a histogram, by its row and its column.
pub(crate) fn key(row: i64, column: &str) -> u64 {
    let number = COLUMNS.iter().position(|known| *known == column).unwrap_or_default();
    row.cast_unsigned() * COLUMNS.len() as u64 + number as u64
}

impl HistogramArchive for StoredHistograms {
    fn read(&self, keys: &[u64]) -> Vec<Option<Vec<u8>>> {
        match self.read_together(keys) {
            Ok(all) => all.into_iter().map(Some).collect(),
            Err(problem) => {
                let error = problem.at(&self.path, "read a histogram");
                self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                vec![None; keys.len()]
            }
        }
    }
}

/// Makes the self-checks of a run small while it is loaded.
#[derive(Default)]
pub(crate) struct CheckThinner {
    /// Checks that passed, by name: each verdict without an explanation.
    known: BTreeMap<String, Vec<Check>>,
    /// The checks of the step before.
    last: Sparse<Vec<Check>>,
}

impl CheckThinner {
    /// Analyses quote one check of each name and verdict that passed, so that the others need no explanation and are one
    /// and the same.
    pub(crate) fn thin(&mut self, checks: Vec<Check>) -> Sparse<Vec<Check>> {
        let mut thin = Vec::with_capacity(checks.len());
        for check in checks {
            if check.verdict > Verdict::Valid {
                thin.push(check);
                continue;
            }
            let known = match self.known.get_mut(&check.name) {
                Some(known) => known,
                None => self.known.entry(check.name.clone()).or_default(),
            };
            if let Some(same) = known.iter().find(|known| known.verdict == check.verdict) {
                thin.push(same.clone());
            } else {
                known.push(Check::new(check.name.as_str(), check.verdict, ""));
                thin.push(check);
            }
        }
        // Most steps pass the same checks, and share the list.
        let thin: Sparse<Vec<Check>> = thin.into();
        if thin != self.last {
            self.last = thin;
        }
        self.last.clone()
    }
}
