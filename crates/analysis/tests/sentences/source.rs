//! The constant parts of the string literals of source files.

use std::path::Path;

/// Literals that no output contains: names of settings and parts of descriptions that are looked for, and a reason that
/// is only printed if the arithmetic of a fit fails.
pub const NOT_PRINTED: [&str; 5] =
    ["packet signature", "cache buffers", "no network", "local disk", "no law fits these rates"];

/// The files with this extension in a directory and those below it, with their text, in the order of their names.
pub fn files(directory: &Path, extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// The constant parts with two words or more of the literals before the tests of a file.
pub fn fragments(source: &str) -> Vec<String> {
    let production = source.split("#[cfg(test)]").next().unwrap_or_default();
    literals(production)
        .iter()
        .flat_map(|literal| parts(literal))
        .filter(|part| has_two_words(part))
        .collect()
}

/// The literals of a source text, with escapes replaced. Comments, attributes and characters have none.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in joined(source).lines() {
        let line = line.trim_start();
        if line.starts_with("//") || line.starts_with("#[") && !line.starts_with("#[error") {
            continue;
        }
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '/' if chars.peek() == Some(&'/') => break,
                '\'' => skip_character(&mut chars),
                '"' => found.push(literal(&mut chars)),
                _ => {}
            }
        }
    }
    found
}

/// Lines whose literal continues after a backslash are one line.
fn joined(source: &str) -> String {
    let mut text = String::new();
    let mut continues = false;
    for line in source.lines() {
        let line = if continues { line.trim_start() } else { line };
        continues = line.ends_with('\\');
        text += line.strip_suffix('\\').unwrap_or(line);
        if !continues {
            text.push('\n');
        }
    }
    text
}

/// Skips `'"'` and `'\''`; the begin of a lifetime needs nothing skipped.
fn skip_character(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('\\') => {
            chars.nth(1);
        }
        Some('"') => {
            chars.next();
        }
        _ => {}
    }
}

/// The text up to the closing quote.
fn literal(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some(c) => text.push(c),
                None => break,
            },
            c => text.push(c),
        }
    }
    text
}

/// The parts between placeholders, trimmed.
fn parts(literal: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in literal.chars() {
        match c {
            '{' => {
                depth += 1;
                parts.push(String::new());
            }
            '}' => depth -= 1,
            c if depth == 0 => parts.last_mut().unwrap().push(c),
            _ => {}
        }
    }
    parts.iter().flat_map(|part| part.split('\n')).map(|part| part.trim().to_owned()).collect()
}

fn has_two_words(part: &str) -> bool {
    let is_word =
        |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || ",:;'()-.".contains(c));
    part.split(' ').filter(is_word).count() > 1
}

#[test]
fn literals_are_found_with_their_constant_parts() {
    let source = r#"
/// A "comment with words" is none.
#[doc = "nor is this one"]
fn f<'a>() { let c = '"'; format!("{name}: two \
    words of {} {more:.1} and so on", "one", '\'') // "not this one"
}
#[cfg(test)]
mod tests { const TEXT: &str = "not in tests"; }
"#;
    assert_eq!(fragments(source), [": two words of", "and so on"]);
}
