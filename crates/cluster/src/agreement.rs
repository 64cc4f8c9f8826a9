//! Agreement of ranks before they measure, and differences between their machines.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::transport::Lost;

/// Mismatches that a message lists; it counts the others.
const MAX_LISTED: usize = 8;

/// The reason why one rank cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// The rank with the reason.
    pub rank: u32,
    /// Its machine.
    pub host: String,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} ({}): {}", self.rank, self.host, self.reason)
    }
}

/// Why ranks cannot continue together.
///
/// All ranks get the same error, unless one of them was lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgreementError {
    /// A rank can no longer be reached.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// Some ranks have a reason not to continue.
    #[error("{}", list(.0))]
    Mismatches(Vec<Mismatch>),
}

fn list(complaints: &[Mismatch]) -> String {
    let mut lines: Vec<String> = complaints.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if complaints.len() > MAX_LISTED {
        lines.push(format!("and {} other ranks", complaints.len() - MAX_LISTED));
    }
    lines.join("\n")
}

/// Description of a rank and its machine, which it sends when it joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankInfo {
    /// Name of its machine.
    pub host: String,
    /// Version of the program.
    pub version: String,
    /// Properties that should be equal on all machines, by name.
    pub facts: BTreeMap<String, String>,
}

/// Returns one sentence per property that differs, with the ranks that deviate from the majority.
pub fn differences(infos: &[RankInfo]) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> =
        infos.iter().flat_map(|info| info.facts.keys()).collect();
    names.into_iter().filter_map(|name| differing(name, infos)).collect()
}

fn differing(name: &str, infos: &[RankInfo]) -> Option<String> {
    let value = |info: &RankInfo| info.facts.get(name).map_or("not known", String::as_str).to_owned();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    // The majority and not the leader is the reference: the odd machine is what the user has to look at.
    for info in infos {
        *counts.entry(value(info)).or_default() += 1;
    }
    if counts.len() < 2 {
        return None;
    }
    let first = value(infos.first()?);
    // If two values are equally frequent, the value of the leader is the majority.
    let majority = counts.iter().max_by_key(|(value, count)| (**count, **value == first))?.0;
    let others = (0..).zip(infos).filter(|(_, info)| value(info) != *majority);
    let others: Vec<String> = others
        .map(|(rank, info): (u32, &RankInfo)| format!("rank {rank} ({}) {}", info.host, value(info)))
        .collect();
    let more = others.len().saturating_sub(MAX_LISTED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{name}: most have {majority}, but {}{rest}", others[..others.len() - more].join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(host: &str, cores: &str) -> RankInfo {
        let facts = BTreeMap::from([("cores".to_owned(), cores.to_owned())]);
        RankInfo { host: host.into(), version: "1".into(), facts }
    }

    #[test]
    fn deviating_rank_is_named() {
        let infos = [info("a", "8"), info("b", "8"), info("c", "2")];
        assert_eq!(differences(&infos), ["cores: most have 8, but rank 2 (c) 2"]);
        assert_eq!(differences(&infos[..2]), Vec::<String>::new());
        assert_eq!(differences(&[info("a", "8"), info("b", "2")]), ["cores: most have 8, but rank 1 (b) 2"]);
    }

    #[test]
    fn many_mismatches_are_listed_in_a_few_lines() {
        let complaint = |rank| Mismatch { rank, host: "c".into(), reason: "no".into() };
        let message = AgreementError::Mismatches((0..20).map(complaint).collect()).to_string();
        assert_eq!(message.lines().count(), MAX_LISTED + 1);
        assert!(message.starts_with("rank 0 (c): no\n"), "{message}");
        assert!(message.ends_with("and 12 other ranks"), "{message}");
    }
}
