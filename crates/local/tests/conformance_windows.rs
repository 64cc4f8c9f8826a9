//! The conformance suite on a directory of this machine, cached and unbuffered.
#![cfg(windows)]

use std::path::PathBuf;

use sharebench_local::WindowsTarget;
use sharebench_target::conformance::{Suite, Summary};

/// A directory of its own that goes away again.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sharebench-windows-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let left: Vec<_> = std::fs::read_dir(&self.0).into_iter().flatten().collect();
        let _ = std::fs::remove_dir_all(&self.0);
        assert!(left.is_empty() || std::thread::panicking(), "left over: {left:?}");
    }
}

/// A durable write is followed by FlushFileBuffers.
fn suite() -> Suite {
    Suite { durable_write_requests: 2, ..Suite::default() }
}

async fn passes(target: WindowsTarget, suite: Suite) -> Summary {
    let summary = suite.run(&target).await.unwrap_or_else(|failures| panic!("{failures}"));
    assert_eq!(summary.passed.len(), Suite::step_names().count());
    summary
}

#[tokio::test]
async fn overlapped_io_conforms_to_a_depth_of_200() {
    let place = Scratch::new("cached");
    let summary = passes(WindowsTarget::new(&place.0), Suite { max_depth: 200, ..suite() }).await;
    assert!(summary.counted.requests > 3000, "{summary:?}");
}

#[tokio::test]
async fn unbuffered_io_conforms_with_aligned_records() {
    let place = Scratch::new("unbuffered");
    let suite = Suite { alignment: 4096, ..suite() };
    passes(WindowsTarget::new(&place.0).with_direct(true), suite).await;
}
