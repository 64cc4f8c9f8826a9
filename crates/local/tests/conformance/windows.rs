//! Cached and unbuffered I/O.

use sharebench_doubles::conformance::Suite;
use sharebench_local::LocalTarget;

use crate::conformance::{Scratch, passes};

/// A durable write is followed by `FlushFileBuffers`.
fn suite() -> Suite {
    Suite { durable_write_requests: 2, ..Suite::default() }
}

#[tokio::test]
async fn overlapped_io_conforms_to_a_depth_of_200() {
    let place = Scratch::new(std::env::temp_dir(), "cached").unwrap();
    let summary = passes(LocalTarget::new(&place.0), Suite { max_depth: 200, ..suite() }).await;
    assert!(summary.counted.requests > 3000, "{summary:?}");
}

#[tokio::test]
async fn unbuffered_io_conforms_with_aligned_records() {
    let place = Scratch::new(std::env::temp_dir(), "unbuffered").unwrap();
    let suite = Suite { alignment: 4096, ..suite() };
    passes(LocalTarget::new(&place.0).with_direct(true), suite).await;
}
