//! Source files: Rust files split into code and prose, and every other text that people read.

use std::path::Path;
use std::{fs, io};

/// Replaces a character of code in [`Source::prose`], so that two strings do not read as one sentence.
pub const CODE: char = '\u{1}';

/// Folders that contain no text of ours: build output, captured data, vendored libraries.
const SKIPPED_FOLDERS: [&str; 5] = ["data", "corpus", "echarts", "counter_samples", "node_modules"];
/// Files that people read, besides Rust sources. Scripts have no extension.
const TEXT_EXTENSIONS: [&str; 13] =
    ["md", "toml", "js", "mjs", "css", "html", "sql", "sh", "py", "c", "json", "txt", "snap"];

/// One file of the workspace.
///
/// A Rust file is split into `code` and `prose`. Both have the lines of `text`, and a position in one of them
/// is, counted in characters, the position in the others. Any other file is prose only.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// The file as it is.
    pub text: String,
    /// The code; strings, characters and comments are spaces.
    pub code: String,
    /// Comments and strings without their markers; characters of code are [`CODE`].
    pub prose: String,
    /// The comments alone, without their markers; all else is blank. Documents are their own comment.
    pub comments: String,
}

impl Source {
    /// Splits a Rust file.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let (code, comments) = split(&text);
        Self {
            path: path.into(),
            prose: prose(&text, &code),
            comments: without_markers(&comments),
            code,
            text,
        }
    }

    /// Takes a file that is not Rust.
    pub fn document(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { path: path.into(), code: String::new(), prose: text.clone(), comments: text.clone(), text }
    }

    /// Takes a file of either kind.
    #[cfg(test)]
    pub fn read(path: &str, text: &str) -> Self {
        if extension(path) == "rs" { Self::new(path, text) } else { Self::document(path, text) }
    }

    /// True for files of Rust.
    pub fn is_rust(&self) -> bool {
        extension(&self.path) == "rs"
    }

    /// True for Markdown.
    pub fn is_document(&self) -> bool {
        extension(&self.path) == "md"
    }

    /// Folder of the crate (`crates/engine`, `tests`), or the first folder, or the name of a file at the root.
    pub fn area(&self) -> &str {
        let depth = usize::from(self.path.starts_with("crates/"));
        let end = self.path.match_indices('/').nth(depth).map_or(self.path.len(), |(at, _)| at);
        &self.path[..end]
    }

    /// Reads every file that people read and that is not Rust, in the order of their paths.
    pub fn documents(root: &Path) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for folder in ["bench", "crates", "docs", "fuzz", "plans", "tests", "xtask"] {
            if root.join(folder).is_dir() {
                collect_documents(root, &root.join(folder), &mut found)?;
            }
        }
        let at_root = [
            "ARCHITECTURE.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "Cargo.toml",
            "README.md",
            "SECURITY.md",
            "justfile",
            "test",
        ];
        for name in at_root {
            if let Ok(text) = fs::read_to_string(root.join(name)) {
                found.push(Self::document(name, text));
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Reads all Rust files of the workspace, in the order of their paths.
    pub fn all(root: &Path) -> io::Result<Vec<Self>> {
        let mut sources = Vec::new();
        for folder in ["bench", "crates", "fuzz", "tests", "xtask"] {
            if root.join(folder).is_dir() {
                collect(root, &root.join(folder), &mut sources)?;
            }
        }
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(sources)
    }
}

fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// True for the folder in which Cargo builds a package or workspace. Modules and crates may be called `target` as well.
fn is_build_output(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "target") && folder.with_file_name("Cargo.toml").is_file()
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if !is_build_output(&path) {
                collect(root, &path, sources)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            sources.push(Source::new(name, fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

fn collect_documents(root: &Path, folder: &Path, found: &mut Vec<Source>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let is_skipped = SKIPPED_FOLDERS.contains(&name.as_str()) || is_build_output(&path);
            if !is_skipped && !name.starts_with('.') {
                collect_documents(root, &path, found)?;
            }
            continue;
        }
        let is_text = match name.rsplit_once('.') {
            Some((stem, extension)) => !stem.is_empty() && TEXT_EXTENSIONS.contains(&extension),
            None => true,
        };
        // Binary files have no text to check.
        if let Some(text) = is_text.then(|| fs::read_to_string(&path).ok()).flatten() {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            found.push(Source::document(name, text));
        }
    }
    Ok(())
}

/// Keeps comments and strings; comment markers and escaped line breaks become spaces, code becomes [`CODE`].
fn prose(text: &str, code: &str) -> String {
    let kept =
        text.chars().zip(code.chars()).map(|(c, code)| if code == ' ' || c == '\n' { c } else { CODE });
    without_markers(&kept.collect::<String>()).replace("\\n", "  ")
}

/// Blanks `//`, `///` and `//!` at the start of the comments.
fn without_markers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let body = line.trim_start_matches([' ', CODE]);
        let marker = body.len() - body.trim_start_matches("//").trim_start_matches(['/', '!']).len();
        let indent = line.len() - body.len();
        kept.push_str(&line[..indent]);
        kept.extend(std::iter::repeat_n(' ', marker));
        kept.push_str(&body[marker..]);
    }
    kept
}

/// Returns the code without strings and comments, and the comments without the rest; blanked characters become
/// spaces, and line breaks stay.
fn split(text: &str) -> (String, String) {
    let mut code = String::with_capacity(text.len());
    let mut comments = String::with_capacity(text.len());
    let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = literal_length(rest, code.chars().last()).unwrap_or(0);
        if length == 0 {
            code.push(first);
            comments.push(blank(first));
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (literal, after) = rest.split_at(length);
        code.extend(literal.chars().map(blank));
        if literal.starts_with('/') {
            comments.push_str(literal);
        } else {
            comments.extend(literal.chars().map(blank));
        }
        rest = after;
    }
    (code, comments)
}

/// Returns the bytes of the comment, string or character that `rest` starts with.
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
    // A quote that starts like a character but does not end like one is a lifetime.
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
    fn code_contains_no_strings_and_comments() {
        let text =
            "let a = \"{ \\\" {\"; // }\nlet b = '{'; let c: &'a str = r#\"}\"{\"#; /* { */ f('\\'') }";
        let code = Source::new("x.rs", text).code;
        assert_eq!(code.chars().filter(|c| "{}".contains(*c)).collect::<String>(), "}");
        assert_eq!(code.lines().count(), 2);
        assert!(code.contains("&'a str"), "{code}");
    }

    #[test]
    fn prose_contains_comments_and_strings_only() {
        let text = "//! Opens.\nlet a = \"one\\ntwo\"; // wh\u{e9}n\n/// Last.";
        let source = Source::new("x.rs", text);
        let words: String = source.prose.replace(super::CODE, "");
        assert_eq!(
            words.split_whitespace().collect::<Vec<_>>(),
            ["Opens.", "\"one", "two\"", "//", "wh\u{e9}n", "Last."]
        );
        assert_eq!(source.prose.chars().count(), text.chars().count());
    }

    #[test]
    fn area_is_the_crate_or_the_first_folder() {
        let area = |path: &str| Source::document(path, "").area().to_owned();
        assert_eq!(area("crates/engine/src/lib.rs"), "crates/engine");
        assert_eq!(area("docs/design/x.md"), "docs");
        assert_eq!(area("README.md"), "README.md");
    }
}
