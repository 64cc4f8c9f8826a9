//! Repeated code: pairs of places whose lines differ in names, numbers and strings only.
//!
//! The rule, for every Rust file of the repository, tests included:
//! - A line counts if it has code with a name, a keyword or a number. Blank lines, comments, attributes, lines of brackets,
//!   lines of a string alone, imports and declarations of modules are skipped, as if they were not there.
//! - The shape of a line is its code without spaces and strings, where every name is the same name and every number is the
//!   same number. Keywords and punctuation stay.
//! - Two places repeat each other if at least [`LINES`] consecutive lines have the same shapes and do not overlap. At least
//!   [`DISTINCT`] of each of these lines differ in shape, so that a list of fields or of match arms is no repetition.
//! - A pair is as long as possible, and counts once. A third place makes three pairs.
//! - A pair is identical if its lines are the same letters, apart from indentation. A pair that is partly identical counts as
//!   one identical pair per part of at least [`LINES`] lines.

use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::source::Source;

/// Fewest lines of a pair.
const LINES: usize = 6;
/// How many of [`LINES`] consecutive lines must differ from each other in shape.
const DISTINCT: usize = 5;

/// Words that are no names.
const KEYWORDS: [&str; 39] = [
    "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false",
    "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return",
    "self", "Self", "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while",
    "yield",
];

/// What two places have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// All but names, numbers and strings.
    Shape,
    /// Every letter.
    Letters,
}

/// Two places that repeat each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Number of lines that count.
    pub lines: usize,
    /// `crates/x/src/a.rs:12`.
    pub first: String,
    pub second: String,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lines: {} and {}", self.lines, self.first, self.second)
    }
}

/// A line that counts.
struct Line {
    /// From 1.
    number: usize,
    shape: u64,
    letters: u64,
}

/// [`LINES`] consecutive lines: the hash of all, the file and the first line.
type Window = (u64, usize, usize);

/// Two equal windows: both files, the distance between the first lines, and the first line of the first window.
type Match = (usize, usize, isize, usize);

/// Every pair, the longest first.
pub fn pairs(sources: &[Source], likeness: Likeness) -> Vec<Pair> {
    let files: Vec<Vec<Line>> = sources.iter().map(lines).collect();
    let mut matches = matches(&files, likeness);
    matches.sort_unstable();
    let place = |file: usize, line: usize| format!("{}:{}", sources[file].path, files[file][line].number);
    let mut pairs: Vec<Pair> = matches
        .chunk_by(|a, b| (a.0, a.1, a.2, a.3 + 1) == *b)
        .map(|run| {
            let (first, second, distance, line) = run[0];
            Pair {
                lines: run.len() + LINES - 1,
                first: place(first, line),
                second: place(second, line.saturating_add_signed(distance)),
            }
        })
        .collect();
    pairs.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.first.cmp(&b.first)));
    pairs
}

fn matches(files: &[Vec<Line>], likeness: Likeness) -> Vec<Match> {
    let mut windows = windows(files, likeness);
    windows.sort_unstable();
    let mut found = Vec::new();
    for same in windows.chunk_by(|a, b| a.0 == b.0) {
        for (index, (_, first, line)) in same.iter().enumerate() {
            for (_, second, other) in &same[index + 1..] {
                let distance = other.cast_signed() - line.cast_signed();
                if first != second || distance >= LINES.cast_signed() {
                    found.push((*first, *second, distance, *line));
                }
            }
        }
    }
    found
}

fn windows(files: &[Vec<Line>], likeness: Likeness) -> Vec<Window> {
    let mut windows = Vec::new();
    for (file, lines) in files.iter().enumerate() {
        for (start, window) in lines.windows(LINES).enumerate() {
            let distinct =
                (0..LINES).filter(|at| window[..*at].iter().all(|line| line.shape != window[*at].shape));
            if distinct.count() >= DISTINCT {
                let mut hasher = DefaultHasher::new();
                for line in window {
                    match likeness {
                        Likeness::Shape => line.shape.hash(&mut hasher),
                        Likeness::Letters => line.letters.hash(&mut hasher),
                    }
                }
                windows.push((hasher.finish(), file, start));
            }
        }
    }
    windows
}

/// The lines of a file that count.
fn lines(source: &Source) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut in_import = false;
    for (index, (code, text)) in source.code.lines().zip(source.text.lines()).enumerate() {
        let code = code.trim();
        in_import |= is_import(code);
        if in_import {
            in_import = !code.contains(';');
        } else if let Some(shape) = shape(code).filter(|_| !code.starts_with('#')) {
            let mut letters = DefaultHasher::new();
            text.trim().hash(&mut letters);
            lines.push(Line { number: index + 1, shape, letters: letters.finish() });
        }
    }
    lines
}

/// True for the first line of an import, and for the declaration of a module in another file.
fn is_import(code: &str) -> bool {
    let item = match code.strip_prefix("pub") {
        Some(rest) => rest.trim_start_matches(|c| c != ' ').trim_start(),
        None => code,
    };
    item.starts_with("use ") || item.starts_with("mod ") && item.ends_with(';')
}

/// Hash of what is left of a line without its names and numbers; none for a line that does not count.
fn shape(code: &str) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let mut counts = false;
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, after) = rest.split_at(end);
        rest = after;
        if !is_word(first) {
            if !first.is_whitespace() {
                first.hash(&mut hasher);
            }
            continue;
        }
        counts = true;
        match first {
            '0'..='9' => '0'.hash(&mut hasher),
            _ if KEYWORDS.contains(&word) => word.hash(&mut hasher),
            _ => 'a'.hash(&mut hasher),
        }
    }
    counts.then(|| hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::{Likeness, Pair, Source, pairs};

    const BODY: &str = "fn first(a: u8) -> u8 {
    let b = a + 1; // one
    // A comment.

    if b > 20 {
        return f(\"text\", b);
    }
    match b {
        X::Y => g(b),
        _ => 3,
    }
}
";

    fn found(texts: &[&str], likeness: Likeness) -> Vec<Pair> {
        let name = |(index, text): (usize, &&str)| Source::new(format!("{index}.rs"), *text);
        let sources: Vec<_> = texts.iter().enumerate().map(name).collect();
        pairs(&sources, likeness)
    }

    fn pair(lines: usize, first: &str, second: &str) -> Pair {
        Pair { lines, first: first.to_owned(), second: second.to_owned() }
    }

    #[test]
    fn names_numbers_strings_and_comments_do_not_matter_for_the_shape() {
        let other =
            BODY.replace("first", "second").replace("20", "7").replace("text", "").replace("// one", "");
        let other = format!("use a::{{\n    b,\n}};\nstruct S;\n{other}");
        assert_eq!(found(&[BODY, &other], Likeness::Shape), [pair(7, "0.rs:1", "1.rs:5")]);
        assert_eq!(found(&[BODY, &other], Likeness::Letters), []);
        assert_eq!(found(&[BODY, &BODY.replace("return", "")], Likeness::Shape), []);
    }

    #[test]
    fn each_two_of_three_places_are_a_pair() {
        let indented = BODY.replace('\n', "\n    ");
        let all = [pair(7, "0.rs:1", "1.rs:1"), pair(7, "0.rs:1", "2.rs:1"), pair(7, "1.rs:1", "2.rs:1")];
        assert_eq!(found(&[BODY, BODY, &indented], Likeness::Letters), all);
        assert_eq!(found(&[BODY, BODY, &indented], Likeness::Shape), all);
    }

    #[test]
    fn one_file_repeats_itself_but_a_list_is_no_repetition() {
        assert_eq!(found(&[&[BODY, BODY].concat()], Likeness::Shape), [pair(7, "0.rs:1", "0.rs:13")]);
        let list = "A::B => \"x\",\n".repeat(40);
        assert_eq!(found(&[&list, &list], Likeness::Shape), []);
    }
}
