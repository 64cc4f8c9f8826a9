//! Citations: every document, section, rule and link that code and documents cite exists in the repository.
//!
//! A citation names the path from the root and the number of a section or a rule: `docs/protocols/ncp.md 2.2`,
//! `docs/measure/measurement-rules.md R8`. Documents may also link to each other with relative links.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::Source;
use crate::vocabulary::LineStarts;

/// The headings of every document of the repository.
#[derive(Debug, Default)]
pub struct Documents {
    by_path: BTreeMap<String, Document>,
    /// Paths of all other files, as far as they are text.
    files: BTreeSet<String>,
}

/// What one document offers to citations.
#[derive(Debug, Default)]
struct Document {
    /// Numbers that open a heading or an item of a list: `2`, `2.2`, `R8`.
    sections: BTreeSet<String>,
    anchors: BTreeSet<String>,
}

impl Documents {
    /// Reads the headings of all documents among these files.
    pub fn new(files: &[Source]) -> Self {
        let mut documents = Self::default();
        for file in files {
            documents.files.insert(file.path.clone());
            if file.is_document() {
                documents.by_path.insert(file.path.clone(), Document::new(&file.text));
            }
        }
        documents
    }

    /// Returns one finding per citation of a file that does not resolve.
    pub fn check(&self, file: &Source) -> Vec<String> {
        let is_document = file.is_document();
        // Strings are data; a citation is in a comment.
        let text = file.comments.as_str();
        let lines = LineStarts::new(text);
        let mut found: Vec<(usize, String)> = Vec::new();
        found.extend(self.check_paths(file, text));
        if is_document {
            found.extend(self.check_links(file, text));
        }
        if !file.path.ends_with("measurement-rules.md") {
            found.extend(bare_rules(text));
        }
        found.sort();
        found.into_iter().map(|(at, what)| format!("{}:{}: {what}", file.path, lines.number(at))).collect()
    }

    /// Checks every mention of a document, with the sections that follow it.
    fn check_paths(&self, file: &Source, text: &str) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (end, _) in text.match_indices(".md") {
            let after = &text[end + 3..];
            let start = text[..end].rfind(|c: char| !c.is_ascii_alphanumeric() && !"-_./".contains(c));
            let start = start.map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
            let path = &text[start..end + 3];
            let is_part = after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            // Links are checked on their own, and a bare `.md` is an extension.
            let is_link = text[..start].ends_with("](") || text[..start].ends_with(':');
            if is_part || is_link || path.rsplit('/').next() == Some(".md") {
                continue;
            }
            let sections = cited_sections(after);
            let Some(document) = self.by_path.get(path) else {
                let is_neighbour = sections.is_empty() && self.resolve(&file.path, path).is_some();
                let text_of_link = after.starts_with("](") || after.starts_with("`](");
                // Documents show commands that write documents.
                let is_example = !file.is_rust() && sections.is_empty() && !path.starts_with("docs/");
                if !is_neighbour && !text_of_link && !is_example {
                    found.push((start, format!("{path}: no such document; cite the path from the root")));
                }
                continue;
            };
            for section in sections.into_iter().filter(|section| !document.sections.contains(*section)) {
                found.push((start, format!("{path} has no section {section}")));
            }
        }
        found
    }

    fn check_links(&self, file: &Source, text: &str) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (at, _) in text.match_indices("](") {
            let target = &text[at + 2..];
            let target = &target[..target.find([')', ' ', '\n']).unwrap_or(target.len())];
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            // A scheme, or Rust code in backticks such as `parts[0](x)`.
            if target.contains("://") || target.starts_with("mailto:") || is_inside_code(text, at) {
                continue;
            }
            let resolved =
                if path.is_empty() { Some(file.path.clone()) } else { self.resolve(&file.path, path) };
            let Some(resolved) = resolved else {
                found.push((at, format!("the link {target} leads to no file")));
                continue;
            };
            let document = self.by_path.get(&resolved);
            if !anchor.is_empty() && !document.is_some_and(|document| document.anchors.contains(anchor)) {
                found.push((at, format!("the link {target} leads to no heading")));
            }
        }
        found
    }

    /// Returns the path from the root of a path relative to the folder of a file, if a file or folder is there.
    fn resolve(&self, from: &str, path: &str) -> Option<String> {
        let mut parts: Vec<&str> = from.split('/').collect();
        parts.pop();
        for part in path.trim_end_matches('/').split('/') {
            match part {
                "." => {}
                ".." => drop(parts.pop()?),
                part => parts.push(part),
            }
        }
        let resolved = parts.join("/");
        let folder = format!("{resolved}/");
        let exists = self.files.contains(&resolved)
            || self.files.range(folder.clone()..).next().is_some_and(|file| file.starts_with(&folder));
        exists.then_some(resolved)
    }

    /// Adds files that are no text, such as pictures, as targets of links.
    pub fn add_files(&mut self, paths: impl IntoIterator<Item = String>) {
        self.files.extend(paths);
    }
}

impl Document {
    fn new(text: &str) -> Self {
        let mut document = Self::default();
        let mut is_code = false;
        for line in text.lines() {
            is_code ^= line.starts_with("```");
            let heading = line.trim_start_matches('#');
            if !is_code && heading.len() < line.len() && heading.starts_with(' ') {
                let anchor = anchor(heading.trim());
                let same =
                    (1..100).map(|n| format!("{anchor}-{n}")).find(|other| !document.anchors.contains(other));
                let is_new = document.anchors.insert(anchor);
                document.anchors.extend(same.filter(|_| !is_new));
            }
            let content = line.trim_start_matches(['#', '-', '*', '|', ' ']);
            if content.len() < line.len() || line.starts_with(|c: char| c.is_ascii_digit()) {
                document.sections.extend(leading_number(content).map(str::to_owned));
            }
        }
        document
    }
}

/// Returns `2`, `2.2` or `R8` if the text opens with it.
fn leading_number(text: &str) -> Option<&str> {
    let end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || *at == 0 && *c == 'R'))
        .map_or(text.len(), |(at, _)| at);
    let number = text[..end].trim_end_matches('.');
    let has_digits = number.trim_start_matches('R').starts_with(|c: char| c.is_ascii_digit());
    let ends = !text[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '%');
    (has_digits && ends).then_some(number)
}

/// Returns the sections that follow the path of a document: `2.2` and `3.4` in the text " 2.2 and 3.4".
fn cited_sections(after: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = after.trim_start_matches(['`', ',']);
    loop {
        let next = rest.trim_start();
        let number = leading_number(next).filter(|number| {
            // A plain integer after the first may count something.
            let follows = next.len() < rest.len();
            follows && (found.is_empty() || number.contains('.') || number.starts_with('R'))
        });
        let Some(number) = number else { return found };
        found.push(number);
        rest = &next[number.len()..];
        rest = [", ", " and ", ",\n", " to "]
            .into_iter()
            .find_map(|s| rest.strip_prefix(s).map(|_| &rest[s.len() - 1..]))
            .unwrap_or("");
    }
}

/// Finds citations of a rule without the path of its document.
fn bare_rules(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('R') {
        let Some(rule) = leading_number(&text[at..]) else { continue };
        let before = text[..at].trim_end();
        let is_word = text[..at].ends_with(|c: char| !c.is_whitespace() && c != '(');
        let is_cited = [".md", ".md`", "and", ","].iter().any(|end| before.ends_with(end));
        if !is_word && !is_cited && rule.len() <= 3 {
            found.push((at, format!("the rule {rule} is cited without docs/measure/measurement-rules.md")));
        }
    }
    found
}

/// True if an odd number of backticks precedes the position in its line.
fn is_inside_code(text: &str, at: usize) -> bool {
    let line = &text[text[..at].rfind('\n').map_or(0, |newline| newline + 1)..at];
    line.matches('`').count() % 2 == 1
}

/// Forms the anchor of a heading as GitHub does.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-' || *c == '_');
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::{Documents, Source};

    const NCP: &str = "# NCP\n\n## 2 Wire\n### 2.2 Reply header\n```\n# 9.9 code\n```\n- **x**\n";
    const RULES: &str = "# Rules\n- **R8** Warm up.\n- R1: compare.\n### 3.1 Blocks, and more\n";

    fn check(path: &str, text: &str) -> Vec<String> {
        let file = Source::read(path, text);
        let files = [
            Source::document("docs/protocols/ncp.md", NCP),
            Source::document("docs/measure/measurement-rules.md", RULES),
            Source::document("docs/design/cells.md", "# x"),
            Source::document("README.md", "# x"),
        ];
        let findings = Documents::new(&files).check(&file);
        let prefix = format!("{path}:");
        findings.into_iter().map(|finding| finding.strip_prefix(&prefix).unwrap().to_owned()).collect()
    }

    #[test]
    fn citations_that_resolve_have_no_findings() {
        let text = "//! See docs/protocols/ncp.md 2.2, docs/protocols/ncp.md 2 and 2.2 (docs/measure/measurement-rules.md\n\
                    //! R8, R1). README.md, docs/design/cells.md and docs/measure/measurement-rules.md 3.1.\nlet a = \"STATUS.md\";";
        assert_eq!(check("crates/x/src/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn citations_that_do_not_resolve_are_found() {
        let text = "// docs/protocols/ncp.md 2.2 and 2.3\n// docs/measure/measurement-rules.md\n// R9\n// docs/design/x.md";
        assert_eq!(
            check("a.rs", text),
            [
                "1: docs/protocols/ncp.md has no section 2.3",
                "2: docs/measure/measurement-rules.md has no section R9",
                "4: docs/design/x.md: no such document; cite the path from the root",
            ]
        );
    }

    #[test]
    fn citations_without_a_path_are_found() {
        let found = check("a.rs", "/// Warm up (R8), see ncp.md 2.2.\nfn f() {}");
        assert_eq!(
            found,
            [
                "1: the rule R8 is cited without docs/measure/measurement-rules.md",
                "1: ncp.md: no such document; cite the path from the root",
            ]
        );
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let text = "[a](protocols/ncp.md#22-reply-header) [b](../README.md) [c](design) [d](https://x.y/#z)
[measurement-rules.md](measure/measurement-rules.md#31-blocks-and-more) `v[0](x)` [self](#top)\n# Top";
        let with_self = Source::document("docs/a.md", text);
        assert_eq!(check("docs/a.md", text), ["2: the link #top leads to no heading"]);
        let findings = Documents::new(std::slice::from_ref(&with_self)).check(&with_self);
        assert!(
            findings.iter().any(|f| f.contains("protocols/ncp.md#22-reply-header leads to no file")),
            "{findings:?}"
        );
        assert!(!findings.iter().any(|f| f.contains("#top")), "{findings:?}");
    }
}
