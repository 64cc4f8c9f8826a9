//! Packed statements: `let (a, b) = (x, y);` binds several names in one statement.

use crate::source::Source;
use crate::vocabulary::LineStarts;

/// Returns one finding per `let` that unpacks a literal tuple.
pub fn check(source: &Source) -> Vec<String> {
    let lines = LineStarts::new(&source.code);
    packed(&source.code)
        .map(|at| {
            format!(
                "{}:{}: several bindings in one tuple: write one `let` each",
                source.path,
                lines.number(at)
            )
        })
        .collect()
}

fn packed(code: &str) -> impl Iterator<Item = usize> + '_ {
    let starts = code.match_indices("let ").map(|(at, _)| at);
    starts.filter(|at| {
        !code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_') && is_packed(&code[at + 4..])
    })
}

/// True for `(..) = (x, y);` and `[..] = [x, y];`. A refutable pattern has `else`, which ends it otherwise.
fn is_packed(statement: &str) -> bool {
    let Some((_, rest)) = group(statement.trim_start()) else { return false };
    // A type may follow the pattern.
    let Some(equals) = rest.find(['=', ';']).filter(|at| rest[*at..].starts_with('=')) else { return false };
    let Some((commas, rest)) = group(rest[equals + 1..].trim_start()) else { return false };
    commas > 0 && rest.trim_start().starts_with(';')
}

/// Returns the top-level commas of the parenthesis or bracket that `text` starts with, and the text after it.
fn group(text: &str) -> Option<(usize, &str)> {
    if !text.starts_with(['(', '[']) {
        return None;
    }
    let mut depth = 0_usize;
    let mut commas = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ',' if depth == 1 => commas += 1,
            ')' | ']' | '}' if depth == 1 => return Some((commas, &text[at + 1..])),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Source, check};

    #[test]
    fn only_literal_tuples_are_packed() {
        let text = "let (a, b) = (1, 2);\nlet (a, mut b): (u8, u8) = (\n    f(x),\n    2,\n);
let (a, b) = pair();\nlet (a, b) = (x, y).min(z);\nlet (Some(a), Some(b)) = (x, y) else { return };
if let (Some(a), 1) = (x, y) {}\nlet [a, b] = [1, 2];\nlet (a, b) = (pair());\nlet x = 1;\n// let (a, b) = (1, 2);";
        let lines: Vec<_> = check(&Source::new("a.rs", text))
            .iter()
            .map(|f| f.split(':').nth(1).unwrap().to_owned())
            .collect();
        assert_eq!(lines, ["1", "2", "10"]);
    }
}
