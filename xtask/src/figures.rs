//! Figures of size and structure of the repository, which [`crate::limits`] holds against their limits.
//!
//! Production lines are those of `crates/*/src` that have code, without tests: no comments, no blank lines, no items under
//! `#[cfg(test)]`, no files of tests. Tuple parameters are counted in production, repetitions everywhere. A cycle is the
//! largest group of files of a crate that import each other.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::codecs;
use crate::duplicates::{self, Likeness, Pair};
use crate::file_cycles;
use crate::module_graph;
use crate::source::Source;
use crate::tuple_parameters;

/// Prefix of the names of cycles.
pub const CYCLE: &str = "cycle of ";

/// Pairs in the detail of their number.
const PRINTED_PAIRS: usize = 5;

/// A figure with what a reader needs to lower it.
pub struct Figure {
    pub value: usize,
    pub detail: String,
}

/// Every figure by its name.
pub fn all(sources: &[Source]) -> BTreeMap<String, Figure> {
    let plain = |value| Figure { value, detail: String::new() };
    let production = production(sources);
    let tuples = production.values().flatten().map(|code| tuple_parameters::count(code)).sum();
    let mut figures = BTreeMap::from([
        ("lines of Rust".to_owned(), plain(sources.iter().map(|source| source.text.lines().count()).sum())),
        (
            "lines of production".to_owned(),
            plain(production.values().flatten().map(|code| lines(code)).sum()),
        ),
        ("tuple parameters".to_owned(), plain(tuples)),
        ("duplicates".to_owned(), repeated(&duplicates::pairs(sources, Likeness::Shape))),
        ("duplicates to the letter".to_owned(), repeated(&duplicates::pairs(sources, Likeness::Letters))),
    ]);
    for (crate_path, files) in file_cycles::largest(sources) {
        let detail = format!(": {}", files.iter().cloned().collect::<Vec<_>>().join(", "));
        figures.insert(format!("{CYCLE}{crate_path}"), Figure { value: files.len(), detail });
    }
    let codecs = codecs::outside_of_wire(sources).into_iter();
    figures.extend(codecs.map(|(path, count)| (format!("codec in {path}"), plain(count))));
    figures
}

fn repeated(pairs: &[Pair]) -> Figure {
    let longest = pairs.iter().take(PRINTED_PAIRS).map(|pair| format!("\n  {pair}"));
    Figure { value: pairs.len(), detail: longest.collect() }
}

/// Writes every figure as a line of the limits, and for each crate its part of them as a comment.
pub fn print(sources: &[Source], out: &mut dyn Write) -> io::Result<()> {
    for (name, figure) in all(sources) {
        writeln!(out, "{name} {}", figure.value)?;
    }
    for (crate_path, codes) in production(sources) {
        let production: usize = codes.iter().map(|code| lines(code)).sum();
        let tuples: usize = codes.iter().map(|code| tuple_parameters::count(code)).sum();
        writeln!(out, "# {crate_path}: {production} lines of production, {tuples} tuple parameters")?;
    }
    Ok(())
}

/// Writes every pair of places that repeat each other, the longest first.
pub fn print_duplicates(sources: &[Source], out: &mut dyn Write) -> io::Result<()> {
    for (title, likeness) in [("Identical", Likeness::Letters), ("Alike", Likeness::Shape)] {
        let pairs = duplicates::pairs(sources, likeness);
        writeln!(out, "{title}: {} pairs", pairs.len())?;
        for pair in pairs {
            writeln!(out, "  {pair}")?;
        }
    }
    Ok(())
}

fn lines(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

/// The code of the production files of each crate, without tests.
fn production(sources: &[Source]) -> BTreeMap<&str, Vec<String>> {
    let crates = module_graph::crates(sources).into_iter().filter(|(path, _)| path.starts_with("crates/"));
    crates
        .map(|(crate_path, files)| {
            let modules = module_graph::modules(crate_path, &files).into_iter();
            (crate_path, modules.map(|module| module.code).collect())
        })
        .collect()
}
