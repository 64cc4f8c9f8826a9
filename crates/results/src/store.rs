//! The store: runs in one SQLite file.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};
use sharebench_model::{
    Facts, IMPORTED, ORIGIN_FACT, RunHeader, RunOutcome, StepError, StepResult, TargetIdentity,
};

use crate::archive::StoredHistograms;
use crate::error::{Problem, StoreError, WriteError};
use crate::export::Steps;
use crate::owner::Owner;
use crate::rows::column::{from_json, to_json};
use crate::rows::step;
use crate::schema::{self, Tables};
use crate::stored::{FinishedRun, RunId, RunState, RunSummary, StoredRun};

/// Number of steps that a [`RunStream`] holds in memory.
const BATCH: usize = 64;

/// Longest time that a write waits for another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The results database: one SQLite file of runs.
///
/// A store owns one connection to the file. A run begins with [`begin_run`](Self::begin_run), grows by
/// [`record_step`](Self::record_step) and ends with [`finish_run`](Self::finish_run); from then on it is immutable, except
/// that [`reopen_run`](Self::reopen_run) continues a run that ended early. [`RunSink`](crate::RunSink) makes these calls
/// from the events of the engine.
///
/// Each change is one durable transaction, so that a recorded step survives `kill -9` and power loss: a run may take
/// hours, and the machine may be switched off in the middle. Each read is one transaction too, so that a run that another
/// process appends to is seen at one moment. Several processes may use the same file at once; a writer waits up to ten
/// seconds for the others. The file keeps one schema version (see `schema.sql`); files of another version are an error.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens a file for reading and writing, and creates it when it is missing.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        create_private(path);
        Self::writer(path).map_err(|problem| match problem.opening(path) {
            StoreError { problem: Problem::NoFile, .. } => Problem::CannotCreate.at(path, "open"),
            error => error,
        })
    }

    /// Opens an existing file to read it.
    ///
    /// If a process died while it recorded a step, its journal is rolled back first, as SQLite requires; nothing else
    /// changes the file.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let open = || {
            let connection = reader(path)?;
            match schema::check(&connection)? {
                Tables::Missing => Err(Problem::NoRuns),
                Tables::Current => Ok(Self { connection, path: path.to_owned() }),
            }
        };
        open().map_err(|problem| problem.opening(path))
    }

    fn writer(path: &Path) -> Result<Self, Problem> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = connect(path, flags)?;
        // SQLite does not enforce foreign keys unless each connection requests it.
        connection.pragma_update(None, "foreign_keys", true)?;
        // Before anything is written: a file of another program must stay as it is.
        let _ = schema::check(&connection)?;
        // SQLite falls back to reading when it may not write: report that now, not after the first step.
        if connection.is_readonly("main")? {
            return Err(Problem::ReadOnly);
        }
        // One file and no companions between commits; EXTRA also makes the end of a commit durable.
        connection.pragma_update(None, "journal_mode", "DELETE")?;
        connection.pragma_update(None, "synchronous", "EXTRA")?;
        schema::create(&mut connection)?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn change<T>(
        &mut self,
        step: impl FnOnce() -> String,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        let attempt = || {
            // Immediate takes the write lock at the start, so that the transaction waits for another writer. A
            // deferred one that reads before it writes can fail at once instead, because SQLite avoids the
            // deadlock.
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = change(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        let outcome: Result<T, Problem> = attempt();
        outcome.map_err(|problem| problem.at(&self.path, step()))
    }

    /// Starts a run that belongs to this process.
    pub fn begin_run(&mut self, header: &RunHeader) -> Result<RunId, StoreError> {
        self.change(|| format!("begin run '{}'", header.title), |transaction| begin(transaction, header))
    }

    /// Stores the facts that a target negotiated; a resumed run keeps the latest.
    pub fn set_facts(&mut self, run: RunId, target: u32, facts: &Facts) -> Result<(), StoreError> {
        let step = || format!("record the facts of target {target} of run {run}");
        self.change(step, |transaction| {
            check_open(transaction, run)?;
            let facts = to_json("facts", facts)?;
            let sql = "UPDATE target SET facts = ?3 WHERE run = ?1 AND position = ?2";
            match transaction.execute(sql, params![run.0, target, facts])? {
                1 => Ok(()),
                _ => Err(Problem::OutOfOrder(format!("the run has no target {target}"))),
            }
        })
    }

    /// Appends a finished step.
    pub fn record_step(&mut self, run: RunId, result: &StepResult) -> Result<(), StoreError> {
        let step = || format!("record step {} of run {run}", result.index);
        self.change(step, |transaction| {
            check_open(transaction, run)?;
            let mut twice = transaction.prepare("SELECT 1 FROM step WHERE run = ?1 AND position = ?2")?;
            // Checked instead of left to the primary key, so that the message names the mistake.
            if twice.exists(params![run.0, result.index])? {
                return Err(Problem::OutOfOrder("the step was recorded before".into()));
            }
            step::insert(&mut transaction.prepare(step::INSERT)?, run, result)
        })
    }

    /// Ends a run; from now on it is immutable.
    pub fn finish_run(&mut self, run: RunId, outcome: &RunOutcome) -> Result<(), StoreError> {
        self.change(
            || format!("end run {run}"),
            |transaction| {
                check_open(transaction, run)?;
                let outcome = to_json("outcome", outcome)?;
                transaction.execute(ENDED, params![run.0, outcome])?;
                Ok(())
            },
        )
    }

    /// Adds complete runs, all of them or none.
    pub fn add_finished(&mut self, runs: &[FinishedRun]) -> Result<Vec<RunId>, StoreError> {
        self.change(
            || format!("add {} finished runs", runs.len()),
            |transaction| runs.iter().map(|run| add_finished(transaction, run)).collect(),
        )
    }

    /// Makes this process the owner of a run that ended early, so that it can record the missing steps.
    pub fn reopen_run(&mut self, run: RunId) -> Result<(), StoreError> {
        // A rejection needs no write lock, which the process of a busy run may hold.
        self.look(|| format!("resume run {run}"), |connection| check_resumable(connection, run))?;
        self.change(
            || format!("resume run {run}"),
            |transaction| {
                check_resumable(transaction, run)?;
                let this = Owner::this();
                let sql = "UPDATE run SET outcome = NULL, steps_done = NULL, \
                           owner_pid = ?2, owner_started = ?3, owner_boot = ?4 WHERE id = ?1";
                transaction.execute(sql, params![run.0, this.pid, this.started, this.boot])?;
                Ok(())
            },
        )
    }

    /// Removes steps of a run that is not finished, because they are measured again: steps that belong together are
    /// kept together or not at all.
    pub fn discard_steps(&mut self, run: RunId, positions: &[u32]) -> Result<(), StoreError> {
        self.change(
            || format!("discard steps of run {run}"),
            |transaction| {
                check_open(transaction, run)?;
                let mut delete = transaction.prepare("DELETE FROM step WHERE run = ?1 AND position = ?2")?;
                for position in positions {
                    delete.execute(params![run.0, position])?;
                }
                Ok(())
            },
        )
    }

    pub(crate) fn look<T>(
        &self,
        step: impl FnOnce() -> String,
        look: impl FnOnce(&Connection) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        // One transaction, so that a run being appended to is seen at one moment.
        let attempt = || {
            let transaction = self.connection.unchecked_transaction()?;
            look(&transaction)
        };
        attempt().map_err(|problem: Problem| problem.at(&self.path, step()))
    }

    /// Positions in the schedule that are measured already.
    pub fn finished_steps(&self, run: RunId) -> Result<BTreeSet<u32>, StoreError> {
        self.look(
            || format!("read the steps of run {run}"),
            |connection| {
                state(connection, run)?;
                let mut steps = connection.prepare("SELECT position FROM step WHERE run = ?1")?;
                let steps = steps.query_map([run.0], |row| row.get(0))?;
                Ok(steps.collect::<rusqlite::Result<_>>()?)
            },
        )
    }

    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.look(
            || "list the runs".into(),
            |connection| ids(connection)?.into_iter().map(|id| summary(connection, id)).collect(),
        )
    }

    /// Number and plan of each complete run, oldest first.
    pub fn plans(&self) -> Result<Vec<(RunId, String)>, StoreError> {
        self.look(
            || "read the plans of the runs".into(),
            |connection| {
                let mut plans = Vec::new();
                for run in ids(connection)? {
                    if state(connection, run)?.0 == RunState::Ended(RunOutcome::Complete) {
                        let plan = "SELECT plan FROM run WHERE id = ?1";
                        plans.push((run, connection.query_row(plan, [run.0], |row| row.get(0))?));
                    }
                }
                Ok(plans)
            },
        )
    }

    /// The newest run.
    pub fn last_run(&self) -> Result<RunId, StoreError> {
        self.look(|| "find the last run".into(), |connection| ids(connection)?.pop().ok_or(Problem::NoRuns))
    }

    /// Loads a run with all its steps.
    pub fn load(&self, run: RunId) -> Result<StoredRun, StoreError> {
        self.look(
            || format!("load run {run}"),
            |connection| {
                let mut loaded = load_header(connection, run)?;
                loaded.steps = steps(connection, run, None, step::RowReader::sharing())?;
                Ok(loaded)
            },
        )
    }

    /// Loads a run for an analysis, in about a tenth of the memory of [`load`](Self::load).
    ///
    /// Histograms of response and service times and of lag stay in the database; they are read again when they are used.
    /// Self-checks that passed have no explanation, except the first one of each name, and the shares of single jobs are
    /// left out. All other figures are those of the run.
    /// With names of targets, the steps are those of these targets alone; the header and the facts are complete.
    pub fn load_compact(
        &self,
        run: RunId,
        targets: Option<&[String]>,
    ) -> Result<(StoredRun, Arc<StoredHistograms>), StoreError> {
        self.look(
            || format!("load run {run}"),
            |connection| {
                let mut loaded = load_header(connection, run)?;
                let histograms = Arc::new(StoredHistograms::new(reader(&self.path)?, self.path.clone()));
                let places: Option<Vec<usize>> = targets.map(|names| {
                    let targets = loaded.header.targets.iter().enumerate();
                    targets
                        .filter(|(_, target)| names.contains(&target.name))
                        .map(|(place, _)| place)
                        .collect()
                });
                let reader = step::RowReader::compact(Arc::clone(&histograms) as _);
                loaded.steps = steps(connection, run, places.as_deref(), reader)?;
                Ok((loaded, histograms))
            },
        )
    }

    /// Opens a run whose steps are read one after the other, so that memory does not depend on their number.
    pub fn stream(&self, run: RunId) -> Result<RunStream<'_>, StoreError> {
        self.look(
            || format!("read run {run}"),
            |connection| {
                let header = load_header(connection, run)?;
                let last = "SELECT coalesce(max(rowid), 0) FROM step WHERE run = ?1";
                let last_row = connection.query_row(last, [run.0], |row| row.get(0))?;
                Ok(RunStream { header, last_row, store: self })
            },
        )
    }
}

/// A stored run whose steps are read from the database each time that they are visited.
///
/// Steps are read in batches, each in a transaction of its own: one transaction would block the process that measures
/// for as long as the reader of a pipe takes. Recorded steps never change, and those that are recorded later are left
/// out, so that every visit finds the same steps.
#[derive(Debug)]
pub struct RunStream<'s> {
    /// Without steps.
    header: StoredRun,
    /// The run's newest row.
    last_row: i64,
    store: &'s Store,
}

impl RunStream<'_> {
    /// The steps after a position, at most [`BATCH`].
    fn batch(&self, after: i64) -> Result<Vec<StepResult>, StoreError> {
        let run = self.header.id;
        self.store.look(
            || format!("read the steps of run {run}"),
            |connection| {
                let mut rows = connection.prepare(&step::select_after(BATCH))?;
                let mut rows = rows.query(params![run.0, after, self.last_row])?;
                let mut reader = step::RowReader::default();
                let mut steps = Vec::with_capacity(BATCH);
                while let Some(row) = rows.next()? {
                    steps.push(reader.read(row)?);
                }
                Ok(steps)
            },
        )
    }
}

impl Steps for RunStream<'_> {
    fn run(&self) -> &StoredRun {
        &self.header
    }

    fn visit(&self, each: &mut dyn FnMut(&StepResult) -> Result<(), WriteError>) -> Result<(), WriteError> {
        let mut after = -1;
        loop {
            let batch = self.batch(after)?;
            let Some(last) = batch.last() else { return Ok(()) };
            after = i64::from(last.index);
            batch.iter().try_for_each(&mut *each)?;
        }
    }
}

/// Ends a run.
const ENDED: &str = "UPDATE run SET outcome = ?2, steps_done = (SELECT count(*) FROM step WHERE run = ?1) \
                     WHERE id = ?1";

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Problem> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// A connection to an existing file whose statements may only read.
///
/// It may write to the file if this user may, because the first reader after a process that died in the middle of a change
/// undoes that change; SQLite's read-only connections fail there.
fn reader(path: &Path) -> Result<Connection, Problem> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn begin(transaction: &Transaction<'_>, header: &RunHeader) -> Result<RunId, Problem> {
    let owner = Owner::this();
    transaction.execute(
        "INSERT INTO run (title, started_unix_ms, version, plan, seed, steps_planned, environment, owner_pid, \
         owner_started, owner_boot, repeat) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            header.title,
            header.started_unix_ms.cast_signed(),
            header.version,
            header.plan,
            // As text: the seed uses all 64 bits, and integers of SQLite are signed
            // (docs/design/results-store.md).
            header.seed.to_string(),
            header.steps_planned,
            to_json("environment", &header.environment)?,
            owner.pid,
            owner.started,
            owner.boot,
            header.repeat.map(|rule| to_json("repeat", &rule)).transpose()?,
        ],
    )?;
    let run = RunId(transaction.last_insert_rowid());
    for (position, target) in (0_i64..).zip(&header.targets) {
        transaction.execute(
            "INSERT INTO target (run, position, name, url) VALUES (?1, ?2, ?3, ?4)",
            params![run.0, position, target.name, target.url],
        )?;
    }
    Ok(run)
}

fn add_finished(transaction: &Transaction<'_>, finished: &FinishedRun) -> Result<RunId, Problem> {
    let run = begin(transaction, &finished.header)?;
    for (position, facts) in (0_i64..).zip(&finished.facts) {
        let facts = to_json("facts", facts)?;
        let sql = "UPDATE target SET facts = ?3 WHERE run = ?1 AND position = ?2";
        transaction.execute(sql, params![run.0, position, facts])?;
    }
    let mut insert = transaction.prepare(step::INSERT)?;
    finished.steps.iter().try_for_each(|step| step::insert(&mut insert, run, step))?;
    let outcome = to_json("outcome", &RunOutcome::Complete)?;
    transaction.execute(ENDED, params![run.0, outcome])?;
    Ok(run)
}

/// A run that may be appended to.
fn check_open(connection: &Connection, run: RunId) -> Result<(), Problem> {
    let mut find = connection.prepare("SELECT outcome IS NULL FROM run WHERE id = ?1")?;
    match find.query_row([run.0], |row| row.get(0)).optional()? {
        Some(true) => Ok(()),
        Some(false) => Err(Problem::Ended),
        None => Err(Problem::NoRun(run)),
    }
}

/// A run that ended early, and that no other living process owns.
fn check_resumable(connection: &Connection, run: RunId) -> Result<(), Problem> {
    let (state, owner) = state(connection, run)?;
    match state {
        RunState::Ended(RunOutcome::Complete | RunOutcome::Incomplete(StepError::EngineFailed(_))) => {
            Err(Problem::Ended)
        }
        // A run of this very process may be reopened: the sink does so when it resumes.
        RunState::Running if owner != Owner::this() => Err(Problem::UnderWay(owner.pid)),
        _ => Ok(()),
    }
}

pub(crate) fn state(connection: &Connection, run: RunId) -> Result<(RunState, Owner), Problem> {
    let sql = "SELECT outcome, owner_pid, owner_started, owner_boot FROM run WHERE id = ?1";
    let found = connection.prepare(sql)?.query_row([run.0], |row| {
        let owner = Owner { pid: row.get(1)?, started: row.get(2)?, boot: row.get(3)? };
        Ok((row.get::<_, Option<String>>(0)?, owner))
    });
    let (outcome, owner) = found.optional()?.ok_or(Problem::NoRun(run))?;
    let state = match outcome {
        Some(outcome) => RunState::Ended(from_json("outcome", &outcome)?),
        None if owner.is_alive() => RunState::Running,
        None => RunState::Interrupted,
    };
    Ok((state, owner))
}

fn ids(connection: &Connection) -> Result<Vec<RunId>, Problem> {
    let mut ids = connection.prepare("SELECT id FROM run ORDER BY id")?;
    let ids = ids.query_map([], |row| row.get(0).map(RunId))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

fn summary(connection: &Connection, run: RunId) -> Result<RunSummary, Problem> {
    let (state, _) = state(connection, run)?;
    // Counting millions of steps in a file that is not in memory takes seconds: finished runs have the number stored.
    let sql = "SELECT title, started_unix_ms, steps_planned, \
               coalesce(steps_done, (SELECT count(*) FROM step WHERE run = ?1)), environment, repeat \
               FROM run WHERE id = ?1";
    let targets = targets(connection, run)?.into_iter().map(|(target, _)| target.name).collect();
    let (summary, environment, repeat) = connection.prepare(sql)?.query_row([run.0], |row| {
        let summary = RunSummary {
            id: run,
            title: row.get(0)?,
            started_unix_ms: row.get::<_, i64>(1)?.cast_unsigned(),
            state,
            steps_planned: row.get(2)?,
            steps_done: row.get(3)?,
            repeat: None,
            targets,
            imported: false,
        };
        Ok((summary, row.get::<_, String>(4)?, row.get::<_, Option<String>>(5)?))
    })?;
    let environment: Facts = from_json("environment", &environment)?;
    let imported = environment.get(ORIGIN_FACT).is_some_and(|origin| origin == IMPORTED);
    let repeat = repeat.map(|rule| from_json("repeat", &rule)).transpose()?;
    Ok(RunSummary { repeat, imported, ..summary })
}

fn targets(connection: &Connection, run: RunId) -> Result<Vec<(TargetIdentity, Facts)>, Problem> {
    let sql = "SELECT name, url, facts FROM target WHERE run = ?1 ORDER BY position";
    let mut rows = connection.prepare(sql)?;
    let rows = rows.query_map([run.0], |row| {
        Ok((TargetIdentity { name: row.get(0)?, url: row.get(1)? }, row.get::<_, Option<String>>(2)?))
    })?;
    let with_facts = |row: rusqlite::Result<(TargetIdentity, Option<String>)>| {
        let (target, facts) = row?;
        Ok((target, facts.map_or(Ok(Facts::new()), |facts| from_json("facts", &facts))?))
    };
    rows.map(with_facts).collect()
}

/// The steps of a run in the order of the schedule.
fn steps(
    connection: &Connection,
    run: RunId,
    targets: Option<&[usize]>,
    mut reader: step::RowReader,
) -> Result<Vec<StepResult>, Problem> {
    let mut rows = connection.prepare(&step::select(targets))?;
    let mut rows = rows.query([run.0])?;
    let mut steps = Vec::new();
    while let Some(row) = rows.next()? {
        steps.push(reader.read(row)?);
    }
    Ok(steps)
}

/// A run without its steps.
fn load_header(connection: &Connection, run: RunId) -> Result<StoredRun, Problem> {
    let (state, _) = state(connection, run)?;
    let (targets, facts) = targets(connection, run)?.into_iter().unzip();
    let sql = "SELECT title, started_unix_ms, version, plan, steps_planned, seed, environment, repeat FROM run \
               WHERE id = ?1";
    let (mut header, seed, environment, repeat) = connection.query_row(sql, [run.0], |row| {
        let header = RunHeader {
            title: row.get(0)?,
            started_unix_ms: row.get::<_, i64>(1)?.cast_unsigned(),
            version: row.get(2)?,
            plan: row.get(3)?,
            steps_planned: row.get(4)?,
            repeat: None,
            seed: 0,
            environment: Facts::new(),
            targets,
        };
        Ok((header, row.get::<_, String>(5)?, row.get::<_, String>(6)?, row.get::<_, Option<String>>(7)?))
    })?;
    header.seed = seed.parse().map_err(|error| Problem::value("seed", error))?;
    header.environment = from_json("environment", &environment)?;
    header.repeat = repeat.map(|rule| from_json("repeat", &rule)).transpose()?;
    Ok(StoredRun { id: run, header, state, facts, steps: Vec::new() })
}

/// Creates an empty file that only its owner can read: a database contains names of servers, shares and accounts. An
/// error is left to SQLite, which reports it with the file.
fn create_private(path: &Path) {
    let mut new = OpenOptions::new();
    new.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut new, 0o600);
    let _ = new.open(path);
}
