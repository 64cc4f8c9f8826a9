//! The conformance suite on directories of this machine, with every way to read and write them.
#![cfg(any(target_os = "linux", windows))]

#[cfg(target_os = "linux")]
mod unix;
#[cfg(windows)]
mod windows;

use std::path::{Path, PathBuf};

use sharebench_doubles::conformance::{Suite, Summary};
use sharebench_local::LocalTarget;

/// A directory of its own that goes away again.
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: impl AsRef<Path>, name: &str) -> Option<Self> {
        let path = parent.as_ref().join(format!("sharebench-local-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).ok().map(|()| Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let left: Vec<_> = std::fs::read_dir(&self.0).into_iter().flatten().collect();
        let _ = std::fs::remove_dir_all(&self.0);
        assert!(left.is_empty() || std::thread::panicking(), "left over: {left:?}");
    }
}

async fn passes(target: LocalTarget, suite: Suite) -> Summary {
    let summary = suite.run(&target).await.unwrap_or_else(|failures| panic!("{failures}"));
    assert_eq!(summary.passed.len(), Suite::step_names().count());
    summary
}
