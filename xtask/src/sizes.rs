//! The size ratchet: files and functions stay small, and the list of exceptions may only shrink.

use std::collections::BTreeMap;

use crate::source::Source;

/// File of the exceptions: one `path lines` or `path::function lines` per line; `#` opens a comment.
pub const EXCEPTIONS: &str = "xtask/size-exceptions.txt";

const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 70;

/// One line for everything too long, and for every exception that is larger than needed.
pub fn check(sources: &[Source], exceptions: &str) -> Vec<String> {
    let mut allowed: BTreeMap<&str, usize> = exceptions
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .filter_map(|line| line.trim().rsplit_once(' '))
        .filter_map(|(place, lines)| Some((place.trim(), lines.parse().ok()?)))
        .collect();
    let mut findings = Vec::new();
    for (place, lines, limit) in sources.iter().flat_map(too_long) {
        match allowed.remove(place.as_str()) {
            Some(granted) if lines == granted => {}
            Some(granted) if lines < granted => {
                findings.push(format!("{EXCEPTIONS}: {place} has shrunk to {lines} lines; write that"));
            }
            _ => findings.push(format!("{place}: {lines} lines, more than {limit}")),
        }
    }
    findings.extend(allowed.keys().map(|place| format!("{EXCEPTIONS}: {place} needs no exception any more")));
    findings
}

fn too_long(source: &Source) -> Vec<(String, usize, usize)> {
    let lines = source.text.lines().count();
    let mut long = Vec::new();
    if lines > FILE_LINES {
        long.push((source.path.clone(), lines, FILE_LINES));
    }
    let functions = functions(&source.code).into_iter().filter(|(_, lines)| *lines > FUNCTION_LINES);
    long.extend(functions.map(|(name, lines)| (format!("{}::{name}", source.path), lines, FUNCTION_LINES)));
    long
}

/// Name and length of each function with a body, the nested ones included.
fn functions(code: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        if let Some(name) = function_name(line) {
            found.extend(body_length(&lines[start..]).map(|length| (name, length)));
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    words.find(|word| *word == "fn")?;
    let name = words.next()?.split(['(', '<']).next()?;
    (!name.is_empty()).then_some(name)
}

/// Lines up to the brace that closes the first one opened; none for a declaration without body.
fn body_length(lines: &[&str]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut brackets = 0_usize;
    for (number, line) in lines.iter().enumerate() {
        for c in line.chars() {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets = brackets.saturating_sub(1),
                '{' => depth += 1,
                '}' if depth <= 1 => return (depth == 1).then_some(number + 1),
                '}' => depth -= 1,
                ';' if depth == 0 && brackets == 0 => return None,
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Source, check, functions};

    #[test]
    fn functions_are_measured_from_signature_to_brace() {
        let code =
            "impl X {\n    pub async fn a<T>(\n        x: [u8; 4],\n    ) -> u8 {\n        { 1 }\n    }\n}\n
trait T {\n    fn declared();\n    fn b() {}\n}";
        assert_eq!(functions(code), [("a", 5), ("b", 1)]);
    }

    #[test]
    fn exceptions_hold_and_only_shrink() {
        let long = Source::new("crates/x/src/lib.rs", "//! x\n".repeat(410));
        let findings = |exceptions: &str| check(std::slice::from_ref(&long), exceptions).join("\n");
        assert!(findings("").contains("410 lines, more than 400"));
        assert_eq!(findings("crates/x/src/lib.rs 410 # a table"), "");
        assert!(findings("crates/x/src/lib.rs 409").contains("410 lines"));
        assert!(findings("crates/x/src/lib.rs 420").contains("has shrunk to 410"));
        assert!(findings("crates/x/src/lib.rs 410\ngone.rs 500").contains("gone.rs needs no exception"));
    }
}
