//! Errors of the results database.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::stored::RunId;

/// A failure of the store: which file, in which step, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {step}: {problem}", path.display())]
pub struct StoreError {
    /// The database file.
    pub path: PathBuf,
    /// The failed operation, such as `record step 17 of run 3`.
    pub step: String,
    /// Why it failed.
    #[source]
    pub problem: Problem,
}

/// Why a step on the store failed.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// There is no such file, or its directory is missing.
    #[error("cannot be opened or created; does the directory exist, and may you use it?")]
    CannotOpen,
    /// The file is something else.
    #[error("not a sharebench database (not an SQLite file)")]
    NotADatabase,
    /// An SQLite file of another program.
    #[error("not a sharebench database (an SQLite file of another program)")]
    Foreign,
    /// Written by an older sharebench.
    #[error(
        "written by an older sharebench (schema {found}, this program reads {known}); \
         keep it for the version that wrote it, and name another file with --db"
    )]
    Older {
        /// Schema version of the file.
        found: i64,
        /// Version that this program reads and writes.
        known: i64,
    },
    /// Written by a newer sharebench.
    #[error("written by a newer sharebench (schema {found}, this program reads {known}); update sharebench")]
    Newer {
        /// Schema version of the file.
        found: i64,
        /// Version that this program reads and writes.
        known: i64,
    },
    /// The file is damaged.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// The disk is full.
    #[error("the disk is full; steps recorded before are safe")]
    DiskFull,
    /// File, directory or file system does not allow writing.
    #[error("the file or its directory is read-only")]
    ReadOnly,
    /// Another process held the file too long.
    #[error("another process is using the file")]
    Busy,
    /// No such run.
    #[error("there is no run {0}; `sharebench runs` lists them")]
    NoRun(RunId),
    /// The file holds no runs at all.
    #[error("there are no runs yet")]
    NoRuns,
    /// A finished run is immutable.
    #[error("the run has ended and is immutable")]
    Ended,
    /// A run belongs to the process that measures it.
    #[error("the run is under way in process {0}")]
    UnderWay(u32),
    /// An event came before the run was started, or for a step that was recorded before.
    #[error("out of order: {0}")]
    OutOfOrder(String),
    /// A stored value cannot be read back.
    #[error("column {column}: {detail}")]
    Value {
        /// Which column.
        column: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// Any other failure of the database.
    #[error(transparent)]
    Sqlite(rusqlite::Error),
}

impl Problem {
    pub(crate) fn at(self, path: &Path, step: impl Into<String>) -> StoreError {
        StoreError { path: path.to_owned(), step: step.into(), problem: self }
    }

    pub(crate) fn value(column: &'static str, detail: impl std::fmt::Display) -> Self {
        Self::Value { column, detail: detail.to_string() }
    }
}

/// Why a run was not written in another format.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] std::io::Error),
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen) => Self::CannotOpen,
            Some(ErrorCode::NotADatabase) => Self::NotADatabase,
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt(error.to_string()),
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            _ => Self::Sqlite(error),
        }
    }
}
