//! From evidence to causes: one rule per cause, each with its evidence, its gain and the setting to change.

mod access;
mod case;
mod cause;
mod client;
mod gain;
mod login;
mod metadata;
mod mounted;
mod network;
mod protocol;
mod segments;
mod server;
mod storage;
#[cfg(test)]
mod tests;

use self::case::{Case, settings};
pub use self::case::{Finding, Verdict};
pub use self::cause::Cause;
pub use self::gain::{Gain, Saving};
use crate::budget::Budget;
use crate::evidence::Evidence;

/// Judges the evidence by every rule.
pub fn judge(evidence: &Evidence, budgets: &[Budget]) -> Verdict {
    let mut case = Case { evidence, budgets, verdict: Verdict::default() };
    // First: what this machine does to itself is no fault of the network or the server.
    client::judge(&mut case);
    network::judge(&mut case);
    // After the network: lost segments are out of order as well. Before the server: jitter is no work.
    segments::judge(&mut case);
    server::judge(&mut case);
    storage::judge(&mut case);
    protocol::judge(&mut case);
    login::judge(&mut case);
    metadata::judge(&mut case);
    mounted::judge(&mut case);
    access::judge(&mut case);
    let mut verdict = case.verdict;
    verdict.findings.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    verdict
}
