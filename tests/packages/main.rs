//! What a release consists of besides the program: monitoring, orchestration, and packages in a clean root.
#![expect(clippy::unwrap_used, reason = "all of it is tests, which clippy sees by #[test] only")]

mod manifests;
mod monitoring;

use std::path::{Path, PathBuf};

/// A file of the repository.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}
