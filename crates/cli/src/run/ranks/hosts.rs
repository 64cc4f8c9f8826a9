//! The list of machines of a run, for people.

use std::collections::BTreeMap;

/// Largest number of machines in the list.
const MAX_NAMED: usize = 8;

/// Names of machines with their number of ranks; long lists are cut.
pub fn hosts(names: &[String]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let more = counts.len().saturating_sub(MAX_NAMED);
    let show = |(name, count): (&&str, &usize)| {
        if *count == 1 { (*name).to_owned() } else { format!("{name} ({count})") }
    };
    let named = counts.iter().take(MAX_NAMED).map(show).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_contains_each_machine_once() {
        let names: Vec<String> = ["a", "b", "a"].map(str::to_owned).to_vec();
        assert_eq!(hosts(&names), "a (2), b");
    }
}
