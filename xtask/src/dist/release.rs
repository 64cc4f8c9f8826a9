//! What every part of a release has in common.

use std::io;
use std::path::{Path, PathBuf};

use super::command;

/// What every part of a release has in common.
///
/// The instant of the last commit is the time of every file in every package. The same program therefore produces the
/// same bytes on every machine, whenever the packages are made.
#[derive(Debug, Clone)]
pub(super) struct Release {
    /// Root of the repository.
    pub root: PathBuf,
    pub version: String,
    /// Seconds since 1970 (`SOURCE_DATE_EPOCH` of reproducible-builds.org).
    pub epoch: String,
}

impl Release {
    pub fn from_root(root: &Path) -> io::Result<Self> {
        let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(epoch) => epoch,
            Err(_) => command::output("git", &["log", "-1", "--format=%ct"], root)?.trim().to_owned(),
        };
        Ok(Self { root: root.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), epoch })
    }
}
