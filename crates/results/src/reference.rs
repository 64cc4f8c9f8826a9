//! How users name a run: `7`, `last`, `A.db:7`, `A.db:last`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Problem, StoreError};
use crate::store::Store;
use crate::stored::RunId;

/// The part of a run reference that selects a run within a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichRun {
    /// By its number.
    Number(RunId),
    /// The newest.
    Last,
}

/// A run as the user names it on the command line: a number or `last`, optionally in another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReference {
    /// The file, where one was named.
    pub path: Option<PathBuf>,
    /// Which of its runs.
    pub which: WhichRun,
}

/// The reason why a text does not name a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' names no run; write a number or 'last', with a file in front if needed: 7, last, other.db:7")]
pub struct ReferenceError(String);

impl FromStr for RunReference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let error = || ReferenceError(text.to_owned());
        // The last colon: a path may contain colons itself.
        let (path, which) = match text.rsplit_once(':') {
            Some(("", _)) => return Err(error()),
            Some((path, which)) => (Some(PathBuf::from(path)), which),
            None => (None, text),
        };
        let which = match which {
            "last" => WhichRun::Last,
            number => {
                let id = number.parse().ok().filter(|id: &i64| *id > 0 && !number.starts_with('+'));
                WhichRun::Number(RunId(id.ok_or_else(error)?))
            }
        };
        Ok(Self { path, which })
    }
}

impl RunReference {
    /// Opens the file named, or the default one, for reading.
    pub fn open(&self, default: &Path) -> Result<Store, StoreError> {
        Store::open_read_only(self.path.as_deref().unwrap_or(default))
    }

    /// The run's number; it exists.
    pub fn resolve(&self, store: &Store) -> Result<RunId, StoreError> {
        match self.which {
            WhichRun::Last => store.last_run(),
            WhichRun::Number(run) => {
                let known = store.runs()?.iter().any(|summary| summary.id == run);
                if known { Ok(run) } else { Err(Problem::NoRun(run).at(store.path(), "find the run")) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_parse() {
        let read = |text: &str| text.parse::<RunReference>().map(|run| (run.path, run.which));
        let seven = WhichRun::Number(RunId(7));
        assert_eq!(read("7"), Ok((None, seven)));
        assert_eq!(read("last"), Ok((None, WhichRun::Last)));
        assert_eq!(read("dir/A.db:7"), Ok((Some("dir/A.db".into()), seven)));
        assert_eq!(read("a:b.db:last"), Ok((Some("a:b.db".into()), WhichRun::Last)));
        for text in ["", ":", ":7", "A.db", "A.db:", "A.db:first", "0", "-1", "+7", "7.0"] {
            assert!(read(text).unwrap_err().to_string().contains("names no run"), "{text}");
        }
    }
}
