//! Errors of the results database.

use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

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
    /// The file exists and cannot be opened.
    #[error("this user may not open the file")]
    CannotOpen,
    /// There is no such file.
    #[error("no results database is here; commands that measure create it, and --db names another one")]
    NoFile,
    /// The file does not exist and cannot be created.
    #[error("the file cannot be created; may this user write to its directory?")]
    CannotCreate,
    /// The directory of the file does not exist.
    #[error("the directory {} does not exist", .0.display())]
    NoDirectory(PathBuf),
    /// The path names a directory.
    #[error("this is a directory; --db takes a file")]
    Directory,
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
    /// A process died while it wrote, and this user may not undo its unfinished change.
    #[error(
        "a process died while it wrote, and this user may not write to the file; to undo its unfinished change, run \
         `sharebench runs` as a user who may"
    )]
    Unfinished,
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

    /// The reason for which SQLite could not open the file.
    pub(crate) fn opening(self, path: &Path) -> StoreError {
        let problem = match (self, std::fs::metadata(path)) {
            (_, Ok(found)) if found.is_dir() => Self::Directory,
            (Self::CannotOpen, Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                // The parent of a bare name is the empty path.
                match path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists()) {
                    Some(parent) => Self::NoDirectory(parent.to_owned()),
                    None => Self::NoFile,
                }
            }
            // Another process has created it meanwhile.
            (Self::CannotOpen, Ok(_)) if std::fs::File::open(path).is_ok() => Self::NoFile,
            (problem, _) => problem,
        };
        problem.at(path, "open")
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
        if error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_READONLY_ROLLBACK) {
            return Self::Unfinished;
        }
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
