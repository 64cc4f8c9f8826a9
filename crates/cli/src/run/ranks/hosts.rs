//! Names of the machines that measure together.

use std::collections::BTreeMap;

/// Most machines that are named.
const NAMED: usize = 8;

/// Names of machines, each once.
pub fn hosts(names: &[String]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let more = counts.len().saturating_sub(NAMED);
    let show = |(name, count): (&&str, &usize)| {
        if *count == 1 { (*name).to_owned() } else { format!("{name} ({count})") }
    };
    let named = counts.iter().take(NAMED).map(show).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_named_once() {
        let names: Vec<String> = ["a", "b", "a"].map(str::to_owned).to_vec();
        assert_eq!(hosts(&names), "a (2), b");
    }
}
