//! The list of words and names that sources, documents and output do not use.

use std::collections::HashMap;

use crate::source::{CODE, Source};

/// File of the list; its head documents the format.
pub const LIST: &str = "xtask/vocabulary.txt";

/// Where a pattern applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everywhere,
    /// Identifiers in code.
    Names,
    /// Comments, strings and documents.
    Prose,
}

/// What an entry looks for.
#[derive(Debug)]
enum Pattern {
    /// Consecutive words, in any case, also as parts of an identifier.
    Words(Vec<String>),
    /// A whole identifier in code, or between backticks. A `*` at the end matches any rest.
    Identifier(String),
    /// An option of the command line, such as `--between`.
    Flag(String),
}

/// One line of the list.
#[derive(Debug)]
struct Entry {
    pattern: Pattern,
    replacement: String,
    scope: Scope,
    /// Phrases in which the words are correct.
    allowed: Vec<Vec<String>>,
}

/// A file or folder that may use some of the patterns.
#[derive(Debug)]
struct Exception {
    path: String,
    patterns: Vec<String>,
}

/// The parsed list.
#[derive(Debug, Default)]
pub struct Vocabulary {
    entries: Vec<Entry>,
    exceptions: Vec<Exception>,
    /// Entries of [`Pattern::Words`] by their first word.
    by_first_word: HashMap<String, Vec<usize>>,
}

/// A word of a text: a run of letters, or a part of a camel-case identifier.
#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    word: &'a str,
    at: usize,
    /// Only white space, a hyphen or an underscore separates this word from the previous one.
    joined: bool,
}

impl Vocabulary {
    /// Parses the list, or returns one finding per line that it cannot parse.
    pub fn parse(text: &str) -> Result<Self, Vec<String>> {
        let mut vocabulary = Self::default();
        let mut findings = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if vocabulary.parse_line(line).is_none() {
                findings.push(format!("{LIST}:{}: a line has 2 to 4 fields, an exception 3", number + 1));
            }
        }
        for (index, entry) in vocabulary.entries.iter().enumerate() {
            if let Pattern::Words(words) = &entry.pattern {
                vocabulary.by_first_word.entry(words[0].clone()).or_default().push(index);
            }
        }
        if findings.is_empty() { Ok(vocabulary) } else { Err(findings) }
    }

    fn parse_line(&mut self, line: &str) -> Option<()> {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        if let Some(path) = fields[0].strip_prefix("except ") {
            let [_, patterns, reason] = fields[..] else { return None };
            let patterns = patterns.split(';').map(|pattern| pattern.trim().to_owned()).collect();
            self.exceptions.push(Exception { path: path.trim().to_owned(), patterns });
            return (!reason.is_empty()).then_some(());
        }
        let scope = match fields.get(2).copied().unwrap_or_default() {
            "" => Scope::Everywhere,
            "names" => Scope::Names,
            "prose" => Scope::Prose,
            _ => return None,
        };
        let allowed = fields.get(3).copied().unwrap_or_default();
        let allowed = allowed.split(';').map(words_of).filter(|words| !words.is_empty()).collect();
        let replacement = (*fields.get(1).filter(|field| !field.is_empty())?).to_owned();
        // Several patterns may share one replacement.
        for pattern in fields[0].split(';').map(str::trim).filter(|pattern| !pattern.is_empty()) {
            let entry = Entry {
                pattern: Pattern::parse(pattern),
                replacement: replacement.clone(),
                scope,
                allowed: Vec::clone(&allowed),
            };
            self.entries.push(entry);
        }
        Some(())
    }

    /// Returns one finding per use of a pattern, in the order of the lines.
    pub fn check(&self, source: &Source) -> Vec<String> {
        let lines = LineStarts::new(&source.prose);
        let mut hits: Vec<(usize, &Entry)> = Vec::new();
        for (text, scope) in [(&source.prose, Scope::Prose), (&source.code, Scope::Names)] {
            let code_lines = (scope == Scope::Names).then(|| LineStarts::new(text));
            let lines = code_lines.as_ref().unwrap_or(&lines);
            self.find(text, scope, |at, entry| hits.push((lines.number(at), entry)));
        }
        hits.sort_by_key(|(line, _)| *line);
        hits.into_iter()
            .filter(|(_, entry)| !self.is_excepted(&source.path, entry))
            .map(|(line, Entry { pattern, replacement, .. })| {
                format!("{}:{line}: \"{}\": write {replacement}", source.path, pattern.name())
            })
            .collect()
    }

    fn is_excepted(&self, path: &str, entry: &Entry) -> bool {
        self.exceptions.iter().any(|exception| {
            path.starts_with(&exception.path)
                && exception.patterns.iter().any(|pattern| pattern == "*" || *pattern == entry.pattern.name())
        })
    }

    fn find<'a>(&'a self, text: &str, scope: Scope, mut hit: impl FnMut(usize, &'a Entry)) {
        let tokens = tokens(text);
        let mut lower = String::new();
        for (index, token) in tokens.iter().enumerate() {
            lower.clear();
            lower.extend(token.word.chars().map(|c| c.to_ascii_lowercase()));
            for &entry in self.by_first_word.get(&lower).into_iter().flatten() {
                let entry = &self.entries[entry];
                if entry.applies(scope) && entry.matches(&tokens, index) {
                    hit(token.at, entry);
                }
            }
        }
        for entry in self.entries.iter().filter(|entry| entry.applies(scope)) {
            match &entry.pattern {
                Pattern::Words(_) => {}
                Pattern::Identifier(name) => {
                    for at in identifiers(text, name) {
                        if scope == Scope::Names || text[..at].ends_with('`') {
                            hit(at, entry);
                        }
                    }
                }
                Pattern::Flag(flag) => flags(text, flag).for_each(|at| hit(at, entry)),
            }
        }
    }
}

impl Pattern {
    fn parse(text: &str) -> Self {
        if text.starts_with("--") {
            Self::Flag(text.to_owned())
        } else if text.contains(|c: char| c == '_' || c == '*' || c.is_ascii_uppercase()) {
            Self::Identifier(text.to_owned())
        } else {
            Self::Words(words_of(text))
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Words(words) => words.join(" "),
            Self::Identifier(name) | Self::Flag(name) => name.clone(),
        }
    }
}

impl Entry {
    fn applies(&self, scope: Scope) -> bool {
        self.scope == Scope::Everywhere || self.scope == scope
    }

    fn matches(&self, tokens: &[Token<'_>], index: usize) -> bool {
        let Pattern::Words(words) = &self.pattern else { return false };
        starts_with(tokens, index, words)
            && !self.allowed.iter().any(|phrase| {
                // The words may be anywhere in the allowed phrase.
                (0..phrase.len()).any(|offset| {
                    phrase[offset..].starts_with(words)
                        && index.checked_sub(offset).is_some_and(|start| starts_with(tokens, start, phrase))
                })
            })
    }
}

fn starts_with(tokens: &[Token<'_>], index: usize, words: &[String]) -> bool {
    let Some(found) = tokens.get(index..index + words.len()) else { return false };
    let same = |(token, word): (&Token<'_>, &String)| token.word.eq_ignore_ascii_case(word);
    found.iter().zip(words).all(same) && found[1..].iter().all(|token| token.joined)
}

fn words_of(text: &str) -> Vec<String> {
    text.split([' ', '-', '_']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(text.len() / 6);
    let mut at = 0;
    let mut joined = false;
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphabetic() {
            joined &= bytes[at].is_ascii_whitespace() || matches!(bytes[at], b'-' | b'_');
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < bytes.len() && bytes[at].is_ascii_alphabetic() && !is_hump(bytes, at) {
            at += 1;
        }
        found.push(Token { word: &text[start..at], at: start, joined });
        joined = true;
    }
    found
}

/// True where a new word of a camel-case identifier begins: `maxRead`, `NFSTarget`.
fn is_hump(bytes: &[u8], at: usize) -> bool {
    let next_is_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    bytes[at].is_ascii_uppercase()
        && (bytes[at - 1].is_ascii_lowercase() || bytes[at - 1].is_ascii_uppercase() && next_is_lower)
}

fn identifiers<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let stem = name.trim_end_matches('*');
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(stem).map(|(at, _)| at).filter(move |at| {
        let end_is_free = stem.len() < name.len() || !text[at + stem.len()..].starts_with(part);
        end_is_free && !text[..*at].ends_with(part)
    })
}

fn flags<'a>(text: &'a str, flag: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |c: char| c.is_alphanumeric() || c == '-' || c == '_' || c == CODE;
    text.match_indices(flag)
        .map(|(at, _)| at)
        .filter(move |at| !text[..*at].ends_with(part) && !text[at + flag.len()..].starts_with(part))
}

/// Line numbers by position.
#[derive(Debug)]
pub struct LineStarts(Vec<usize>);

impl LineStarts {
    /// Finds the lines of a text.
    pub fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// Returns the number of the line that contains this byte; the first line is 1.
    pub fn number(&self, at: usize) -> usize {
        self.0.partition_point(|newline| *newline < at) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::{Source, Vocabulary};

    const LIST: &str = "# pattern | replacement | scope | allowed
room; rooms | crate | | room for
so many | N
card | rank information | names
Order | `Request`
MOST_* | `MAX_`
--between | `--pre-step-cmd`
except plans/ | room; so many | names of the 1997 test
";

    fn check(path: &str, text: &str) -> Vec<String> {
        let source = Source::read(path, text);
        let prefix = format!("{path}:");
        Vocabulary::parse(LIST)
            .unwrap()
            .check(&source)
            .into_iter()
            .map(|finding| {
                finding.strip_prefix(&prefix).unwrap().split(": write").next().unwrap().replace('"', "")
            })
            .collect()
    }

    #[test]
    fn words_are_found_in_prose_and_in_identifiers() {
        let text = "//! Rooms here, so\n//! many of them.\nfn room_of(aRoom: MyCard) -> Mushroom {}\n";
        assert_eq!(check("a.rs", text), ["1: rooms", "1: so many", "3: room", "3: room", "3: card"]);
        assert_eq!(check("a.md", "The card. A room."), ["1: room"]);
    }

    #[test]
    fn phrases_end_at_punctuation_and_code() {
        assert_eq!(check("a.md", "It is so. Many rest."), Vec::<String>::new());
        assert_eq!(check("a.rs", "f(\"so\", \"many\")"), Vec::<String>::new());
    }

    #[test]
    fn allowed_phrases_and_excepted_files_have_no_findings() {
        assert_eq!(check("a.md", "There is room\nfor two. A room forms."), ["2: room"]);
        assert_eq!(check("plans/a.toml", "# so many rooms: a room"), ["1: rooms"]);
    }

    #[test]
    fn identifiers_match_whole_and_flags_too() {
        assert_eq!(
            check("a.rs", "struct Order; struct Orders; // Order `Order`\n"),
            ["1: Order", "1: Order"]
        );
        assert_eq!(check("a.rs", "const MOST_FILES: u8 = AL_MOST_;"), ["1: MOST_*"]);
        assert_eq!(check("a.md", "`--between CMD`, --between-steps, ---between"), ["1: --between"]);
    }

    #[test]
    fn malformed_lines_are_findings() {
        assert_eq!(Vocabulary::parse("room\nroom | x | nowhere\nexcept a | b |\n").unwrap_err().len(), 3);
        assert!(Vocabulary::parse(&std::fs::read_to_string("vocabulary.txt").unwrap()).is_ok());
    }
}
