//! What ranks must agree on before they measure, and how they differ.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::transport::Lost;

/// Most complaints that are told; more of them say the same.
const MAX_TOLD: usize = 8;

/// What one rank has against going on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// Who complains.
    pub rank: u32,
    /// Its machine.
    pub host: String,
    /// What about.
    pub what: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} ({}): {}", self.rank, self.host, self.what)
    }
}

/// Why ranks do not go on together; the same on every rank unless one was lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Discord {
    /// A rank cannot be reached any more.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// Some ranks have something against it.
    #[error("{}", told(.0))]
    Complaints(Vec<Complaint>),
}

fn told(complaints: &[Complaint]) -> String {
    let mut lines: Vec<String> = complaints.iter().take(MAX_TOLD).map(ToString::to_string).collect();
    if complaints.len() > MAX_TOLD {
        lines.push(format!("and {} other ranks", complaints.len() - MAX_TOLD));
    }
    lines.join("\n")
}

/// What a rank says of itself when it joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Name of its machine.
    pub host: String,
    /// Version of the program.
    pub version: String,
    /// What should be alike on all machines, by name.
    pub facts: BTreeMap<String, String>,
}

/// How machines differ: of each fact, the ranks that are not as most are.
pub fn unlike(cards: &[Card]) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> =
        cards.iter().flat_map(|card| card.facts.keys()).collect();
    names.into_iter().filter_map(|name| differing(name, cards)).collect()
}

fn differing(name: &str, cards: &[Card]) -> Option<String> {
    let value = |card: &Card| card.facts.get(name).map_or("not known", String::as_str).to_owned();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for card in cards {
        *counts.entry(value(card)).or_default() += 1;
    }
    if counts.len() < 2 {
        return None;
    }
    let first = value(cards.first()?);
    // Where two are as common as each other, the leader's is the usual one.
    let usual = counts.iter().max_by_key(|(value, count)| (**count, **value == first))?.0;
    let others = (0..).zip(cards).filter(|(_, card)| value(card) != *usual);
    let others: Vec<String> = others
        .map(|(rank, card): (u32, &Card)| format!("rank {rank} ({}) {}", card.host, value(card)))
        .collect();
    let more = others.len().saturating_sub(MAX_TOLD);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{name}: most have {usual}, but {}{rest}", others[..others.len() - more].join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(host: &str, cores: &str) -> Card {
        let facts = BTreeMap::from([("cores".to_owned(), cores.to_owned())]);
        Card { host: host.into(), version: "1".into(), facts }
    }

    #[test]
    fn the_one_that_is_unlike_is_named() {
        let cards = [card("a", "8"), card("b", "8"), card("c", "2")];
        assert_eq!(unlike(&cards), ["cores: most have 8, but rank 2 (c) 2"]);
        assert_eq!(unlike(&cards[..2]), Vec::<String>::new());
        assert_eq!(unlike(&[card("a", "8"), card("b", "2")]), ["cores: most have 8, but rank 1 (b) 2"]);
    }

    #[test]
    fn many_complaints_are_told_in_a_few_lines() {
        let complaint = |rank| Complaint { rank, host: "c".into(), what: "no".into() };
        let told = Discord::Complaints((0..20).map(complaint).collect()).to_string();
        assert_eq!(told.lines().count(), MAX_TOLD + 1);
        assert!(told.starts_with("rank 0 (c): no\n") && told.ends_with("and 12 other ranks"), "{told}");
    }
}
