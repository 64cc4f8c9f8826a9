//! Both engines, on every file system this machine offers.

use sharebench_doubles::conformance::{Suite, Summary};
use sharebench_local::beneath::Resolution;
use sharebench_local::{Engine, LocalTarget};

use crate::conformance::Scratch;

async fn passes(target: LocalTarget, suite: Suite) -> Summary {
    let summary = crate::conformance::passes(target, suite).await;
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
    summary
}

/// `/tmp` is on the machine's disk, `/dev/shm` in memory.
const PARENTS: [&str; 2] = ["/tmp", "/dev/shm"];

#[tokio::test]
async fn psync_conforms() {
    for parent in PARENTS {
        let Some(place) = Scratch::new(parent, "psync") else { continue };
        passes(LocalTarget::new(&place.0).with_engine(Engine::Psync), Suite::default()).await;
    }
}

#[tokio::test]
async fn paths_that_are_opened_by_component_conform() {
    for parent in PARENTS {
        let Some(place) = Scratch::new(parent, "components") else { continue };
        passes(LocalTarget::new(&place.0).with_resolution(Resolution::Components), Suite::default()).await;
    }
}

#[tokio::test]
async fn uring_conforms() {
    for parent in PARENTS {
        let Some(place) = Scratch::new(parent, "uring") else { continue };
        passes(LocalTarget::new(&place.0).with_engine(Engine::Uring), Suite::default()).await;
    }
}

#[tokio::test]
async fn auto_conforms_to_a_depth_of_200() {
    let place = Scratch::new("/tmp", "auto").unwrap();
    let summary = passes(LocalTarget::new(&place.0), Suite { max_depth: 200, ..Suite::default() }).await;
    assert!(summary.counted.requests > 3000, "{summary:?}");
}

#[tokio::test]
async fn direct_io_conforms_with_aligned_records() {
    let place = Scratch::new("/tmp", "direct").unwrap();
    for engine in [Engine::Psync, Engine::Uring] {
        let suite = Suite { alignment: 4096, ..Suite::default() };
        passes(LocalTarget::new(&place.0).with_engine(engine).with_direct(true), suite).await;
    }
}
