//! A Rust source file: its text, and its code with the content of strings and comments blanked out.

use std::path::Path;
use std::{fs, io};

/// One file of the workspace.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// The file as it is.
    pub text: String,
    /// The same lines, where strings, characters and comments are spaces.
    pub code: String,
}

impl Source {
    /// A file with this content.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { path: path.into(), code: blank(&text), text }
    }

    /// All Rust files of the workspace, in the order of their paths.
    pub fn all(root: &Path) -> io::Result<Vec<Self>> {
        let mut sources = Vec::new();
        for folder in ["crates", "tests", "xtask", "fuzz"] {
            if root.join(folder).is_dir() {
                collect(root, &root.join(folder), &mut sources)?;
            }
        }
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(sources)
    }
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(root, &path, sources)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            sources.push(Source::new(name, fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

/// Replaces what strings, characters and comments hold by spaces; line breaks stay.
fn blank(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = literal_length(rest, code.chars().last()).unwrap_or(0);
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            let (literal, after) = rest.split_at(length);
            code.extend(literal.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = after;
        }
    }
    code
}

/// Bytes of the comment, string or character that `rest` starts with.
fn literal_length(rest: &str, before: Option<char>) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |at| at + 2));
    }
    if rest.starts_with('r') && !before.is_some_and(|c| c.is_alphanumeric() && c != 'b' || c == '_') {
        let hashes = rest[1..].len() - rest[1..].trim_start_matches('#').len();
        if rest[1 + hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = hashes + 2;
            return Some(rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len()));
        }
        return None;
    }
    let quote = rest.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    let length = quoted_length(rest, quote);
    // What starts like a character but does not end like one is a lifetime.
    let is_character =
        || rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\'') && !rest.starts_with("''");
    (quote == '"' || is_character()).then_some(length)
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn only_code_is_left() {
        let text =
            "let a = \"{ \\\" {\"; // }\nlet b = '{'; let c: &'a str = r#\"}\"{\"#; /* { */ f('\\'') }";
        let code = Source::new("x.rs", text).code;
        assert_eq!(code.chars().filter(|c| "{}".contains(*c)).collect::<String>(), "}");
        assert_eq!(code.lines().count(), 2);
        assert!(code.contains("&'a str"), "{code}");
    }
}
