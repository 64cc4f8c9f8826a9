//! The fault suite: the outcome of a real run when server, network, storage, client machine or user fails in the middle. The
//! table in `docs/results/faults.md` contains the outcomes; this suite writes and compares it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the whole file is test code, which clippy recognises only by #[test]"
)]

mod case;
mod client;
mod fault_test;
mod memory_group;
mod network;
mod nfs4;
mod peer;
mod plan;
mod protocol;
mod server;
mod stage;
mod storage;
#[path = "../stored.rs"]
#[expect(dead_code, reason = "other suites use more of it")]
mod stored;
mod table;
mod within;

use case::Case;
use sharebench_tests::Sample;

/// Without `SHAREBENCH_LONG`, one case in N runs.
const SAMPLED: u64 = 3;
/// Concurrent cases: most of them wait most of the time.
const CONCURRENCY: usize = 4;

#[test]
fn outcome_of_every_fault_equals_the_table() {
    let groups = [server::CASES, network::CASES, protocol::CASES, nfs4::CASES, storage::CASES, client::CASES];
    let all: Vec<&Case> = groups.into_iter().flatten().collect();
    let sample = Sample::one_in(SAMPLED);
    let cases: Vec<&Case> = all.iter().copied().filter(|case| sample.contains(&case.name())).collect();
    sample.announce("faults", cases.len(), all.len());
    let rows = case::run_all(&cases, CONCURRENCY);
    table::write_or_compare(&cases, &rows, cases.len() == all.len());
}
