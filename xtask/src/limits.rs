//! Limits of size and structure, which the repository must not exceed (`xtask/limits.txt`). The figures that they hold are
//! defined in [`crate::figures`].

use std::collections::BTreeMap;

use crate::figures::{self, CYCLE};
use crate::source::Source;

/// File of the limits: `NAME LIMIT` lines; a line that starts with `#` is a comment.
pub const LIMITS: &str = "xtask/limits.txt";

/// Returns one finding per figure above its limit, and per limit that is unknown or missing.
pub fn check(sources: &[Source], limits: &str) -> Vec<String> {
    let mut limits = match parse(limits) {
        Ok(limits) => limits,
        Err(finding) => return vec![finding],
    };
    let mut findings = Vec::new();
    for (name, figure) in figures::all(sources) {
        match limits.remove(name.as_str()) {
            Some(limit) if figure.value > limit => {
                findings
                    .push(format!("{LIMITS}: {name}: {}, more than {limit}{}", figure.value, figure.detail));
            }
            Some(_) => {}
            None if name.starts_with(CYCLE) && figure.value <= limits_of_cycles(&limits) => {}
            None => {
                findings
                    .push(format!("{LIMITS}: {name}: {}, without a limit{}", figure.value, figure.detail));
            }
        }
    }
    limits.remove(CYCLES);
    findings.extend(limits.keys().map(|name| format!("{LIMITS}: nothing is called {name}")));
    findings
}

/// Limit of the cycles of crates without a limit of their own.
const CYCLES: &str = "cycle of any other crate";

fn limits_of_cycles(limits: &BTreeMap<&str, usize>) -> usize {
    limits.get(CYCLES).copied().unwrap_or_default()
}

fn parse(text: &str) -> Result<BTreeMap<&str, usize>, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let split =
                line.rsplit_once(' ').and_then(|(name, limit)| Some((name.trim(), limit.parse().ok()?)));
            split.ok_or_else(|| format!("{LIMITS}: {line:?} is no name with a number"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Source, check};

    #[test]
    fn figures_are_held_against_their_limits() {
        let sources = [
            Source::new(
                "crates/x/src/lib.rs",
                "//! Text.\nmod a;\nmod b;\n#[cfg(test)]\nmod tests { fn t() {} }\n",
            ),
            Source::new("crates/x/src/a.rs", "use crate::b::B;\n\npub struct A;\n"),
            Source::new("crates/x/src/b.rs", "use crate::a::A;\npub struct B;\n"),
        ];
        let with = |limits: &str| check(&sources, limits).join("\n");
        let zero = "tuple parameters 0\nduplicates 0\nduplicates to the letter 0\n";
        let limits =
            format!("# text\nlines of Rust 10\nlines of production 6\n{zero}cycle of any other crate 2\n");
        assert_eq!(with(&limits), "");
        let lower =
            with(&format!("lines of Rust 9\nlines of production 5\n{zero}cycle of crates/x 1\nx 1\n"));
        let expected =
            "xtask/limits.txt: cycle of crates/x: 2, more than 1: crates/x/src/a.rs, crates/x/src/b.rs
xtask/limits.txt: lines of Rust: 10, more than 9
xtask/limits.txt: lines of production: 6, more than 5
xtask/limits.txt: nothing is called x";
        assert_eq!(lower, expected);
        assert!(with("lines").contains("no name with a number"));
        assert!(with("").contains("tuple parameters: 0, without a limit"));
    }
}
