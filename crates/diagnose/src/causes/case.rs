//! What the rules have in common: the evidence, and the findings so far.

use serde::Serialize;
use sharebench_stats::Estimate;

use super::cause::Cause;
use super::gain::Gain;
use crate::budget::Budget;
use crate::evidence::Evidence;
use crate::operations::Operation;

/// A cause that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Which cause.
    pub cause: Cause,
    /// One sentence that states it.
    pub title: String,
    /// The numbers that prove it.
    pub evidence: String,
    /// What its removal gains.
    pub gain: Gain,
    /// What to change, one setting or action each.
    pub settings: Vec<&'static str>,
    /// Share of the time of the operation that suffers most, 0 to 1: findings are listed by it.
    pub weight: f64,
}

/// What the evidence says.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Verdict {
    /// The causes, the most expensive first.
    pub findings: Vec<Finding>,
    /// Causes that can be neither confirmed nor excluded, each with what would settle it.
    pub unsettled: Vec<String>,
}

/// Evidence and the verdict so far.
pub(super) struct Case<'a> {
    pub evidence: &'a Evidence,
    pub budgets: &'a [Budget],
    pub verdict: Verdict,
}

impl Case<'_> {
    pub fn budget(&self, operation: Operation) -> Option<&Budget> {
        self.budgets.iter().find(|budget| budget.operation == operation)
    }

    /// Median of `one` minus `times` the median of `other`, nanoseconds.
    pub fn difference(&self, one: Operation, times: f64, other: Operation) -> Option<Estimate> {
        self.evidence.series.difference(one, times, other)
    }

    /// True if the estimate is certainly at least `limit`. If its interval contains the limit, `what` becomes unsettled.
    pub fn exceeds(&mut self, estimate: Estimate, limit: f64, what: &str) -> bool {
        match estimate.interval {
            Some(interval) if interval.low >= limit => true,
            _ if estimate.value < limit => false,
            _ => {
                let settle =
                    "the interval is too wide; repeat with a longer --for on a quieter machine and share";
                self.verdict.unsettled.push(format!("{what}: {settle}"));
                false
            }
        }
    }

    pub fn found(&self, cause: Cause) -> Option<&Finding> {
        self.verdict.findings.iter().find(|finding| finding.cause == cause)
    }

    pub fn find(&mut self, finding: Finding) {
        self.verdict.findings.push(finding);
    }
}

/// The settings of the protocol of a share, from a table of protocol and setting. `*` is for each protocol.
pub(super) fn settings(evidence: &Evidence, table: &[(&str, &'static str)]) -> Vec<&'static str> {
    let mounted = evidence.mount.as_ref().map(|mount| if mount.is_nfs() { "nfs" } else { "smb" });
    let protocol = mounted.unwrap_or(&evidence.protocol);
    table.iter().filter(|(known, _)| *known == "*" || *known == protocol).map(|(_, text)| *text).collect()
}
