//! The size ratchet: few functions are long, and every long file is listed with its reason.

use std::collections::BTreeMap;

use crate::source::Source;

/// File of the exceptions: one `path # reason` per line; a line that starts with `#` is a comment.
pub const EXCEPTIONS: &str = "xtask/long-files.txt";

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;
/// Functions longer than [`FUNCTION_LINES`] are fewer than this part of all functions: the share of ripgrep.
const LONG_FUNCTIONS_PERMILLE: usize = 8;

/// A function that is longer than [`FUNCTION_LINES`].
struct LongFunction {
    place: String,
    lines: usize,
}

/// Returns one finding per long file without a reason, per exception that no file needs, and per long
/// function if the share of long functions is too high.
pub fn check(sources: &[Source], exceptions: &str) -> Vec<String> {
    let mut findings = check_files(sources, exceptions);
    findings.extend(check_functions(sources));
    findings
}

fn check_files(sources: &[Source], exceptions: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut reasons: BTreeMap<&str, &str> = BTreeMap::new();
    for line in exceptions.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (path, reason) = line.split_once('#').unwrap_or((line, ""));
        if reason.trim().is_empty() {
            findings.push(format!("{EXCEPTIONS}: {} has no reason", path.trim()));
        }
        reasons.insert(path.trim(), reason.trim());
    }
    for source in sources {
        let lines = source.text.lines().count();
        if lines > FILE_LINES && reasons.remove(source.path.as_str()).is_none() {
            findings
                .push(format!("{}: {lines} lines, more than {FILE_LINES} (see {EXCEPTIONS})", source.path));
        }
    }
    findings.extend(reasons.keys().map(|path| format!("{EXCEPTIONS}: {path} needs no exception any more")));
    findings
}

fn check_functions(sources: &[Source]) -> Vec<String> {
    let mut count = 0;
    let mut long = Vec::new();
    for source in sources {
        for (name, lines) in functions(&source.code) {
            count += 1;
            if lines > FUNCTION_LINES {
                long.push(LongFunction { place: format!("{}::{name}", source.path), lines });
            }
        }
    }
    if long.len() * 1000 < count * LONG_FUNCTIONS_PERMILLE || long.is_empty() {
        return Vec::new();
    }
    let share = format!("{} of {count} functions are too long", long.len());
    long.iter()
        .map(|LongFunction { place, lines }| {
            format!("{place}: {lines} lines, more than {FUNCTION_LINES}; {share}")
        })
        .collect()
}

/// Returns name and length of each function with a body, nested functions included.
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

/// Returns the lines up to the brace that closes the first one, or `None` for a declaration without body.
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
    fn function_length_counts_from_signature_to_brace() {
        let code =
            "impl X {\n    pub async fn a<T>(\n        x: [u8; 4],\n    ) -> u8 {\n        { 1 }\n    }\n}\n
trait T {\n    fn declared();\n    fn b() {}\n}";
        assert_eq!(functions(code), [("a", 5), ("b", 1)]);
    }

    #[test]
    fn long_file_needs_a_reason() {
        let long = Source::new("crates/x/src/lib.rs", "//! x\n".repeat(610));
        let findings = |exceptions: &str| check(std::slice::from_ref(&long), exceptions).join("\n");
        assert!(findings("").contains("610 lines, more than 600"));
        assert_eq!(findings("# files\ncrates/x/src/lib.rs # one table of the protocol"), "");
        assert!(findings("crates/x/src/lib.rs").contains("has no reason"));
        assert!(
            findings("crates/x/src/lib.rs # a table\ngone.rs # x").contains("gone.rs needs no exception")
        );
    }

    #[test]
    fn share_of_long_functions_is_limited() {
        let long = format!("fn long() {{\n{}}}\n", "    step();\n".repeat(80));
        let source = |short: usize| Source::new("a.rs", long.clone() + &"fn short() {}\n".repeat(short));
        assert_eq!(
            check(&[source(10)], ""),
            ["a.rs::long: 82 lines, more than 70; 1 of 11 functions are too long"]
        );
        assert_eq!(check(&[source(200)], ""), Vec::<String>::new());
    }
}
