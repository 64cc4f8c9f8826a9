//! `cargo xtask counts`: figures of language and layout per crate, to compare two states of the repository.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use crate::module_graph;
use crate::packing;
use crate::source::Source;
use crate::vocabulary::{LIST, Vocabulary};

/// Figures of one crate or folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Counts {
    /// Uses of words of the vocabulary list.
    words: usize,
    /// Groups of modules that import each other, and the modules in them.
    cycles: usize,
    modules_in_cycles: usize,
    /// `let` statements that unpack a literal tuple.
    packed: usize,
    /// Lines of Rust with a comment that is no doc comment.
    commented: usize,
    /// Words of each doc comment.
    doc_words: Vec<usize>,
    /// Lines of Rust.
    lines: usize,
}

/// Prints one row per crate and one for all.
///
/// The list of words is that of this repository, so that two states are compared by the same list.
pub fn print(root: &Path, out: &mut impl Write) -> io::Result<()> {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(root).join(LIST);
    let vocabulary = Vocabulary::parse(&std::fs::read_to_string(list)?).unwrap_or_default();
    let sources = Source::all(root)?;
    let mut areas: BTreeMap<String, Counts> = BTreeMap::new();
    for file in sources.iter().chain(&Source::documents(root)?) {
        let counts = areas.entry(file.area().to_owned()).or_default();
        counts.words += vocabulary.check(file).len();
        if file.is_rust() {
            counts.add_rust(file);
        }
    }
    for cycle in module_graph::cycles(&sources) {
        let counts = areas.entry(cycle.crate_path().to_owned()).or_default();
        counts.cycles += 1;
        counts.modules_in_cycles += cycle.modules();
    }
    let mut total = Counts::default();
    for counts in areas.values() {
        total.merge(counts);
    }
    writeln!(
        out,
        "{:22} {:>7} {:>7} {:>8} {:>7} {:>13} {:>10} {:>7}",
        "area", "words", "cycles", "modules", "packed", "comments/100", "doc words", "lines"
    )?;
    for (area, counts) in areas.iter().chain([(&"total".to_owned(), &total)]) {
        counts.print_row(area, out)?;
    }
    Ok(())
}

impl Counts {
    fn add_rust(&mut self, file: &Source) {
        self.packed += packing::check(file).len();
        self.lines += file.text.lines().count();
        let mut words_of_comment = 0;
        for (text, comment) in file.text.lines().zip(file.comments.lines()) {
            let line = text.trim_start();
            if let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
                words_of_comment += doc.split_whitespace().count();
                continue;
            }
            self.add_doc_comment(words_of_comment);
            words_of_comment = 0;
            self.commented += usize::from(!comment.trim().is_empty());
        }
        self.add_doc_comment(words_of_comment);
    }

    fn add_doc_comment(&mut self, words: usize) {
        if words > 0 {
            self.doc_words.push(words);
        }
    }

    fn merge(&mut self, other: &Self) {
        let Self { words, cycles, modules_in_cycles, packed, commented, doc_words, lines } = other;
        self.words += words;
        self.cycles += cycles;
        self.modules_in_cycles += modules_in_cycles;
        self.packed += packed;
        self.commented += commented;
        self.doc_words.extend(doc_words);
        self.lines += lines;
    }

    fn median_doc_words(&self) -> usize {
        let mut sorted = self.doc_words.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }

    fn print_row(&self, area: &str, out: &mut impl Write) -> io::Result<()> {
        let comments = self.commented as f64 * 100.0 / self.lines.max(1) as f64;
        writeln!(
            out,
            "{area:22} {:7} {:7} {:8} {:7} {comments:13.2} {:10} {:7}",
            self.words,
            self.cycles,
            self.modules_in_cycles,
            self.packed,
            self.median_doc_words(),
            self.lines
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Source};

    #[test]
    fn figures_of_one_file() {
        let text = "//! One two.\n\n/// Three\n/// words here.\nfn f() { // why\n    // more\n    let (a, b) = (1, 2);\n    g(\"http://x // y\");\n}\n";
        let mut counts = Counts::default();
        counts.add_rust(&Source::new("a.rs", text));
        assert_eq!(
            counts,
            Counts { packed: 1, commented: 2, doc_words: vec![2, 3], lines: 9, ..Counts::default() }
        );
        assert_eq!(counts.median_doc_words(), 3);
    }
}
