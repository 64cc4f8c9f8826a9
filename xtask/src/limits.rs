//! Limits of size and structure, which the repository must not exceed (`xtask/limits.txt`).
//!
//! Production lines are those of `crates/*/src` that have code, without tests: no comments, no blank lines, no items under
//! `#[cfg(test)]`, no files of tests. Tuple parameters are parameters of production functions whose type is a tuple, or a
//! reference to one. A cycle is the largest group of files of a crate that import each other.

use std::collections::BTreeMap;

use crate::file_cycles;
use crate::module_graph;
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
    for (name, figure) in figures(sources) {
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

/// Prefix of the names of cycles, and the limit of crates without a limit of their own.
const CYCLE: &str = "cycle of ";
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

/// A figure with what a reader needs to lower it.
struct Figure {
    value: usize,
    detail: String,
}

fn figures(sources: &[Source]) -> BTreeMap<String, Figure> {
    let plain = |value| Figure { value, detail: String::new() };
    let production: Vec<String> = production(sources);
    let lines = |code: &String| code.lines().filter(|line| !line.trim().is_empty()).count();
    let mut figures = BTreeMap::from([
        ("lines of Rust".to_owned(), plain(sources.iter().map(|source| source.text.lines().count()).sum())),
        ("lines of production".to_owned(), plain(production.iter().map(lines).sum())),
        ("tuple parameters".to_owned(), plain(production.iter().map(|code| tuple_parameters(code)).sum())),
    ]);
    for (crate_path, files) in file_cycles::largest(sources) {
        let detail = format!(": {}", files.iter().cloned().collect::<Vec<_>>().join(", "));
        figures.insert(format!("{CYCLE}{crate_path}"), Figure { value: files.len(), detail });
    }
    figures
}

/// The code of each production file, without tests.
fn production(sources: &[Source]) -> Vec<String> {
    let crates = module_graph::crates(sources).into_iter().filter(|(path, _)| path.starts_with("crates/"));
    crates
        .flat_map(|(crate_path, files)| {
            module_graph::modules(crate_path, &files)
                .into_iter()
                .map(|module| module.code)
                .collect::<Vec<_>>()
        })
        .collect()
}

fn tuple_parameters(code: &str) -> usize {
    code.match_indices("fn ").filter_map(|(at, _)| parameters(&code[at..])).map(tuples).sum()
}

/// The text between the parentheses of a signature.
fn parameters(signature: &str) -> Option<&str> {
    let start = signature.find(['(', ';', '{']).filter(|at| signature[*at..].starts_with('('))?;
    let mut depth = 0_usize;
    for (at, c) in signature[start..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 1 => return Some(&signature[start + 1..start + at]),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Number of parameters whose type is a tuple of two or more, or a reference to one.
fn tuples(list: &str) -> usize {
    let mut depth = 0_usize;
    let mut count = 0;
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '>' if !list[..at].ends_with(['-', '=']) => depth = depth.saturating_sub(1),
            ':' if depth == 0 && !list[..at].ends_with(':') && !list[at + 1..].starts_with(':') => {
                let kind = list[at + 1..].trim_start().trim_start_matches('&').trim_start_matches("mut ");
                let kind = kind.trim_start();
                let is_tuple = kind.starts_with('(') && !kind.starts_with("()");
                count += usize::from(is_tuple);
            }
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::{Source, check, tuple_parameters};

    #[test]
    fn only_types_of_parameters_count() {
        let code = "fn a((x, y): (u8, u8), z: &(u8, u8)) -> (u8, u8) { let f: (u8, u8) = g(|p: (u8, u8)| p); }
            fn b(f: impl Fn((u8, u8)) -> u8, v: Vec<(u8, u8)>, nothing: ()) {} fn c<'a>(x: &'a mut u8) where T: X;";
        assert_eq!(tuple_parameters(code), 2);
    }

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
        let limits = "# text\nlines of Rust 10\nlines of production 6\ntuple parameters 0\ncycle of any other crate 2\n";
        assert_eq!(with(limits), "");
        let lower =
            with("lines of Rust 9\nlines of production 5\ntuple parameters 0\ncycle of crates/x 1\nx 1\n");
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
