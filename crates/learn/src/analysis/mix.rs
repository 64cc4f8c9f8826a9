//! The mix of operations: that of the input, and that of the preset.

use std::collections::BTreeMap;

use sharebench_plan::{Operation, Times};

use super::classes::Class;
use super::sequence::{NameChange, Sequence, Subject};
use super::transactions::Transaction;
use crate::fit::mean_of;
use crate::fit::sample_of;

/// One operation of plans, and its shares of all operations.
#[derive(Debug, Clone, PartialEq)]
pub struct MixRow {
    /// Its name in plans.
    pub operation: &'static str,
    /// Operations of the input, as plans count them.
    pub captured: u64,
    /// Their share, 0 to 1.
    pub captured_share: f64,
    /// The share in the preset, 0 to 1.
    pub preset_share: f64,
}

/// Counts what a sequence has, as operations of plans.
pub fn count_sequence(sequence: &Sequence, seen: &mut BTreeMap<&'static str, u64>) {
    let mut add = |name: &'static str, count: u32| {
        if count > 0 {
            *seen.entry(name).or_default() += u64::from(count);
        }
    };
    match sequence.subject {
        Subject::Space => return add("space", 1),
        Subject::Connect => return add("connect", 1),
        Subject::File(_) | Subject::Directory(_) => {}
    }
    add("list", sequence.lists);
    if sequence.opened || sequence.has_data() && !sequence.kept {
        add(if sequence.created { "create" } else { "open" }, 1);
        add("close", 1);
    }
    add("stat", sequence.stats_before() + sequence.stats[1] + sequence.stats[2]);
    add("read", sequence.reads.count);
    add("write", sequence.writes.count);
    add("set-size", sequence.set_sizes);
    add("flush", sequence.flushes);
    match sequence.name {
        NameChange::None => {}
        NameChange::Renamed => add("rename", 1),
        NameChange::Removed => add("delete", 1),
    }
}

/// The mix of both, the most frequent operation of the input first.
pub fn mix(
    seen: &BTreeMap<&'static str, u64>,
    transactions: &[Transaction],
    classes: &[Class],
) -> Vec<MixRow> {
    let mut planned: BTreeMap<&'static str, f64> = BTreeMap::new();
    for transaction in transactions {
        let class = transaction.class.and_then(|class| classes.get(class));
        for operation in &transaction.operations {
            let count = f64::from(transaction.weight) * requests(operation, class);
            *planned.entry(operation.name()).or_default() += count;
        }
    }
    let all_seen: u64 = seen.values().sum();
    let all_planned: f64 = planned.values().sum();
    let mut names: Vec<&'static str> = seen.keys().chain(planned.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    let mut rows: Vec<MixRow> = names
        .into_iter()
        .map(|operation| {
            let captured = seen.get(operation).copied().unwrap_or(0);
            let planned = planned.get(operation).copied().unwrap_or(0.0);
            MixRow {
                operation,
                captured,
                captured_share: captured as f64 / all_seen.max(1) as f64,
                preset_share: if all_planned > 0.0 { planned / all_planned } else { 0.0 },
            }
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.captured));
    rows
}

/// How many requests an operation is, on average over the files of its class.
fn requests(operation: &Operation, class: Option<&Class>) -> f64 {
    let (Operation::Read(requests) | Operation::Write(requests)) = operation else { return 1.0 };
    let (Times::All, Some(size), Some(class)) = (requests.times, &requests.size, class) else {
        return if let Times::Count(count) = requests.times { f64::from(count) } else { 1.0 };
    };
    let request = mean_of(size).max(1.0);
    let files = sample_of(&class.size.law);
    let all: f64 = files.iter().map(|(_, weight)| *weight as f64).sum();
    let sum: f64 =
        files.iter().map(|(bytes, weight)| (*bytes as f64 / request).ceil() * *weight as f64).sum();
    if all > 0.0 { sum / all } else { 1.0 }
}
