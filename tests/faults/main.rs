//! The fault suite: what becomes of a real run when its server, its network, its storage, its machine or its user fails in the
//! middle. The outcomes are the table of `docs/faults.md`, which this suite writes and compares.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of it is tests, which clippy sees by #[test] only"
)]

mod case;
mod client;
mod memory_group;
mod network;
mod peer;
mod plan;
mod protocol;
mod scene;
mod server;
mod stage;
mod storage;
#[path = "../end_to_end/stored.rs"]
#[expect(dead_code, reason = "other suites ask more of it")]
mod stored;
mod table;
mod within;

use case::Case;

/// Faults under way at once: most of them wait most of the time.
const AT_ONCE: usize = 4;

#[test]
fn every_fault_ends_as_the_table_says() {
    let groups = [server::CASES, network::CASES, protocol::CASES, storage::CASES, client::CASES];
    let cases: Vec<&Case> = groups.into_iter().flatten().filter(|case| case.wanted()).collect();
    let rows = case::run_all(&cases, AT_ONCE);
    table::write_or_compare(&cases, &rows);
}
