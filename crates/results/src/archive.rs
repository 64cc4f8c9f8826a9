//! Histograms of stored steps that stay in the database until they are used.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, MAIN_DB};
use sharebench_model::{Check, Coordinates, HistogramArchive, Sparse, StepResult, Verdict};

use crate::error::{Problem, StoreError};

/// Columns with a histogram each, by the number that a key ends with.
const COLUMNS: [&str; 3] = ["response", "service", "lag"];

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

    fn bytes(&self, key: u64) -> Result<Vec<u8>, Problem> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let column = COLUMNS[(key % COLUMNS.len() as u64) as usize];
        let row = (key / COLUMNS.len() as u64).cast_signed();
        let blob = connection.blob_open(MAIN_DB, "step", column, row, true)?;
        let mut bytes = vec![0; blob.len()];
        blob.read_at_exact(&mut bytes, 0)?;
        Ok(bytes)
    }
}

impl HistogramArchive for StoredHistograms {
    fn read(&self, key: u64) -> Option<Vec<u8>> {
        match self.bytes(key) {
            Ok(bytes) => Some(bytes),
            Err(problem) => {
                let error = problem.at(&self.path, "read a histogram");
                self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                None
            }
        }
    }
}

/// Makes steps small while they are loaded: what many steps have in common is kept once, and histograms stay in the
/// database.
pub(crate) struct Compactor {
    archive: Arc<dyn HistogramArchive>,
    coordinates: HashSet<Coordinates>,
    /// Checks that passed, by name and verdict.
    known_checks: BTreeMap<String, Vec<Verdict>>,
    /// Lists of checks without details.
    lists: BTreeMap<Vec<(String, Verdict)>, Sparse<Vec<Check>>>,
}

impl Compactor {
    pub(crate) fn new(archive: Arc<dyn HistogramArchive>) -> Self {
        Self { archive, coordinates: HashSet::new(), known_checks: BTreeMap::new(), lists: BTreeMap::new() }
    }

    /// Compacts the step of a row.
    pub(crate) fn compact(&mut self, row: i64, step: &mut StepResult) {
        let key = row.cast_unsigned() * COLUMNS.len() as u64;
        let measure = &mut step.measure;
        for (histogram, column) in
            [&mut measure.response, &mut measure.service, &mut measure.lag].into_iter().zip(0..)
        {
            *histogram = std::mem::take(histogram).archived(&self.archive, key + column);
        }
        match self.coordinates.get(&step.coordinates) {
            Some(known) => step.coordinates = known.clone(),
            None => drop(self.coordinates.insert(step.coordinates.clone())),
        }
        if !step.checks.is_empty() {
            self.thin(&mut step.checks);
        }
    }

    /// Analyses quote one check of each name and verdict that passed, so that the others need no explanation.
    fn thin(&mut self, checks: &mut Sparse<Vec<Check>>) {
        for check in checks.iter_mut().filter(|check| check.verdict <= Verdict::Valid) {
            let known = self.known_checks.entry(check.name.clone()).or_default();
            if known.contains(&check.verdict) {
                check.detail = String::new();
            } else {
                known.push(check.verdict);
            }
        }
        if checks.iter().all(|check| check.detail.is_empty()) {
            let key = checks.iter().map(|check| (check.name.clone(), check.verdict)).collect();
            *checks = self.lists.entry(key).or_insert_with(|| checks.clone()).clone();
        }
    }
}
