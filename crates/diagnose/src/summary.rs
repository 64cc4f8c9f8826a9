//! What limits the three kinds of use, in one sentence each.

use sharebench_model::units::{percent, show_nanos, show_operation_rate, show_rate};

use crate::budget::Budget;
use crate::evidence::{Evidence, Experiment};
use crate::operations::Operation;

/// One sentence each for small operations, for one large stream and for many users; fewer if they were not measured.
pub fn limits(evidence: &Evidence, budgets: &[Budget]) -> Vec<(&'static str, String)> {
    [
        ("small operations", small(evidence, budgets)),
        ("one large stream", stream(evidence)),
        ("many users", users(evidence)),
    ]
    .into_iter()
    .filter_map(|(use_of, sentence)| Some((use_of, sentence?)))
    .collect()
}

fn small(evidence: &Evidence, budgets: &[Budget]) -> Option<String> {
    let budget = budgets.iter().find(|budget| budget.operation == Operation::SmallRead)?;
    let part = budget.largest();
    let merged = budget.merged.iter().filter(|(_, other)| *other == part);
    let merged: Vec<&str> = merged.map(|(other, _)| other.noun()).collect();
    let also = if merged.is_empty() { String::new() } else { format!(" with {}", merged.join(" and ")) };
    let local = if evidence.protocol == "local" && evidence.mount.is_none() { " (a local disk)" } else { "" };
    Some(format!(
        "{}{also}: {} of {}{local}",
        part.noun(),
        percent(budget.share(part), 0),
        show_nanos(budget.total_ns.value)
    ))
}

fn stream(evidence: &Evidence) -> Option<String> {
    let compared = evidence.comparisons.get(&Experiment::Connections);
    let write = evidence.write.as_ref().map(|write| format!("writes {}", show_rate(write.bytes_per_s)));
    let read = compared.map(|compared| {
        let cpu = percent(compared.client_share, 0);
        format!(
            "reads {} ({:.2} times as much over four connections; {cpu} of one CPU here)",
            show_rate(compared.base_bytes_per_s),
            compared.ratio.value
        )
    });
    let depth = evidence
        .comparisons
        .get(&Experiment::Depth)
        .filter(|_| compared.is_none())
        .map(|compared| format!("reads {} one request at a time", show_rate(compared.base_bytes_per_s)));
    let parts: Vec<String> = read.into_iter().chain(depth).chain(write).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn users(evidence: &Evidence) -> Option<String> {
    let one = evidence.series.typical_ns(Operation::SmallReadAgain)?;
    let burst = evidence.series.typical_ns(Operation::Burst)?;
    let factor = f64::from(evidence.burst) * one / burst;
    let rate = f64::from(evidence.burst) / (burst / 1e9);
    let limit = if factor < 2.0 {
        "requests in flight wait for each other: what limits one user limits all"
    } else {
        "requests in flight overlap: more users get more, until the server's CPU is full"
    };
    Some(format!(
        "{limit} ({} small reads at once: {}, {factor:.1} times one at a time)",
        evidence.burst,
        show_operation_rate(rate)
    ))
}
