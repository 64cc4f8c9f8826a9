//! The conformance suite over both engines, on every file system this machine offers.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};

use sharebench_local::beneath::Resolution;
use sharebench_local::{Engine, PosixTarget};
use sharebench_target::conformance::{Suite, Summary};

/// A directory of its own that goes away again.
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: &str, name: &str) -> Option<Self> {
        let path = Path::new(parent).join(format!("sharebench-posix-{name}-{}", std::process::id()));
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

async fn passes(target: PosixTarget, suite: Suite) -> Summary {
    let summary = suite.run(&target).await.unwrap_or_else(|failures| panic!("{failures}"));
    assert_eq!(summary.passed.len(), Suite::step_names().count());
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
    summary
}

/// `/tmp` is on the machine's disk, `/dev/shm` in memory.
const PARENTS: [&str; 2] = ["/tmp", "/dev/shm"];

#[tokio::test]
async fn psync_conforms() {
    for parent in PARENTS {
        let Some(place) = Scratch::new(parent, "psync") else { continue };
        passes(PosixTarget::new(&place.0).with_engine(Engine::Psync), Suite::default()).await;
    }
}

#[tokio::test]
async fn paths_that_are_opened_by_component_conform() {
    for parent in PARENTS {
        let Some(place) = Scratch::new(parent, "components") else { continue };
        passes(PosixTarget::new(&place.0).with_resolution(Resolution::Components), Suite::default()).await;
    }
}

#[tokio::test]
async fn uring_conforms() {
    for parent in PARENTS {
        let Some(place) = Scratch::new(parent, "uring") else { continue };
        passes(PosixTarget::new(&place.0).with_engine(Engine::Uring), Suite::default()).await;
    }
}

#[tokio::test]
async fn auto_conforms_to_a_depth_of_200() {
    let place = Scratch::new("/tmp", "auto").unwrap();
    let summary = passes(PosixTarget::new(&place.0), Suite { max_depth: 200, ..Suite::default() }).await;
    assert!(summary.counted.requests > 3000, "{summary:?}");
}

#[tokio::test]
async fn direct_io_conforms_with_aligned_records() {
    let place = Scratch::new("/tmp", "direct").unwrap();
    for engine in [Engine::Psync, Engine::Uring] {
        let suite = Suite { alignment: 4096, ..Suite::default() };
        passes(PosixTarget::new(&place.0).with_engine(engine).with_direct(true), suite).await;
    }
}
