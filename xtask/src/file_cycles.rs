//! Import cycles between the files of a crate: a file can be read without all those that it forms a cycle with.
//!
//! A name that a module re-exports or imports leads to the file that defines it, so that a `mod.rs` that only declares and
//! re-exports is in no cycle. Files of tests are no part of the graph.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use crate::module_graph::{self, Edges, Module};
use crate::source::Source;

/// Largest number of steps from a re-export to the definition.
const MAX_STEPS: usize = 8;

/// The modules of a crate by their path, each with the names that it imports.
struct Names<'a> {
    by_path: HashMap<&'a [String], (&'a Module<'a>, Imports)>,
}

/// The absolute path that each imported name of a module stands for.
type Imports = HashMap<String, Vec<String>>;

/// The largest group of files of each crate that import each other; empty if there is none.
pub fn largest(sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let largest =
        |edges| module_graph::groups(&edges).into_iter().max_by_key(BTreeSet::len).unwrap_or_default();
    graphs(sources).into_iter().map(|(crate_path, edges)| (crate_path.to_owned(), largest(edges))).collect()
}

/// Writes every group of files that import each other, each file with what it imports of the group.
pub fn print(sources: &[Source], out: &mut dyn Write) -> io::Result<()> {
    for (crate_path, edges) in graphs(sources) {
        for group in module_graph::groups(&edges) {
            writeln!(out, "{crate_path}: {} files", group.len())?;
            for file in &group {
                let imported: Vec<_> =
                    edges[file].keys().filter(|other| group.contains(*other)).map(String::as_str).collect();
                writeln!(out, "  {file} imports {}", imported.join(", "))?;
            }
        }
    }
    Ok(())
}

/// The imports of each crate from file to file.
fn graphs(sources: &[Source]) -> BTreeMap<&str, Edges> {
    let graph = |(crate_path, files): (_, Vec<&Source>)| {
        (crate_path, edges(&module_graph::modules(crate_path, &files)))
    };
    module_graph::crates(sources).into_iter().map(graph).collect()
}

fn edges(modules: &[Module<'_>]) -> Edges {
    let names = Names::new(modules);
    let mut edges = Edges::new();
    for module in modules {
        for path in uses(module, &names) {
            if let Some(file) = names.file_of(&path).filter(|file| *file != module.file.path) {
                let place = module.file.path.clone();
                edges.entry(module.file.path.clone()).or_default().entry(file.to_owned()).or_insert(place);
            }
        }
    }
    edges
}

/// The absolute paths that the code of a module uses. An import alone is a use, except in a module with children, which
/// may only re-export.
fn uses(module: &Module<'_>, names: &Names<'_>) -> Vec<Vec<String>> {
    let Some((_, imports)) = names.by_path.get(module.path.as_slice()) else { return Vec::new() };
    let children = names.children(module);
    let code = if children.is_empty() { module.code.clone() } else { without_imports(&module.code) };
    let within = Module { file: module.file, code, path: module.path.clone() };
    let mut found: Vec<_> =
        module_graph::paths_from_keywords(&within).into_iter().map(|(_, path)| path).collect();
    if children.is_empty() {
        return found;
    }
    for word in words(&within.code) {
        if let Some(path) = imports.get(word) {
            found.push(path.clone());
        } else if children.contains(word) {
            found.extend(
                module_graph::uses_of(&within.code, word).map(|rest| [&module.path[..], &rest].concat()),
            );
        }
    }
    found
}

impl<'a> Names<'a> {
    fn new(modules: &'a [Module<'a>]) -> Self {
        let by_path =
            modules.iter().map(|module| (module.path.as_slice(), (module, imports(module, modules))));
        Self { by_path: by_path.collect() }
    }

    /// Names of the modules that a module declares in files of their own.
    fn children(&self, module: &Module<'_>) -> BTreeSet<&'a str> {
        let depth = module.path.len();
        let below =
            self.by_path.keys().filter(|path| path.len() == depth + 1 && path.starts_with(&module.path));
        below.map(|path| path[depth].as_str()).collect()
    }

    /// The file that defines what an absolute path names.
    fn file_of(&self, path: &[String]) -> Option<&str> {
        let mut path = path.to_vec();
        for _ in 0..MAX_STEPS {
            let depth = (0..=path.len()).rev().find(|depth| self.by_path.contains_key(&path[..*depth]))?;
            let (module, imports) = &self.by_path[&path[..depth]];
            let Some(known) = path.get(depth).and_then(|name| imports.get(name)) else {
                return Some(&module.file.path);
            };
            path = [known, &path[depth + 1..]].concat();
        }
        None
    }
}

/// What the names of a module's `use` items stand for, within the crate.
fn imports(module: &Module<'_>, modules: &[Module<'_>]) -> Imports {
    let mut imports = Imports::new();
    for text in module_graph::use_items(&module.code) {
        for path in module_graph::use_tree(text) {
            let is_child = |name: &String| {
                modules.iter().any(|other| {
                    other.path.len() == module.path.len() + 1
                        && other.path.starts_with(&module.path)
                        && other.path.last() == Some(name)
                })
            };
            let absolute = match path.first() {
                Some(first) if ["crate", "self", "super"].contains(&first.as_str()) => {
                    module_graph::absolute(&path, &module.path, 0)
                }
                Some(first) if is_child(first) => Some([&module.path[..], &path].concat()),
                _ => None,
            };
            if let (Some(absolute), Some(name)) = (absolute, path.last()) {
                imports.insert(name.clone(), absolute);
            }
        }
    }
    imports
}

/// Blanks the `use` items.
fn without_imports(code: &str) -> String {
    let mut kept = code.to_owned();
    for text in module_graph::use_items(code) {
        let start = text.as_ptr() as usize - code.as_ptr() as usize;
        kept.replace_range(start..start + text.len(), &" ".repeat(text.len()));
    }
    kept
}

fn words(code: &str) -> BTreeSet<&str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Source, largest};

    fn group(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> =
            files.iter().map(|(name, text)| Source::new(format!("crates/x/src/{name}"), *text)).collect();
        let strip = |path: &String| path.trim_start_matches("crates/x/src/").to_owned();
        largest(&sources)["crates/x"].iter().map(strip).collect()
    }

    #[test]
    fn names_lead_through_reexports_to_their_files() {
        let found = group(&[
            ("lib.rs", "mod a;\nmod b;\npub use a::One;"),
            ("a/mod.rs", "mod one;\nmod two;\npub use one::One;\npub use two::Two;"),
            ("a/one.rs", "use super::Two;\npub struct One;"),
            ("a/two.rs", "use crate::b::f;\npub struct Two;"),
            ("b.rs", "use crate::One;\npub fn f() {}"),
        ]);
        assert_eq!(found, ["a/one.rs", "a/two.rs", "b.rs"]);
    }

    #[test]
    fn module_that_uses_its_children_counts() {
        let found = group(&[
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod one;\nuse one::f;\npub fn g() { f() }"),
            ("a/one.rs", "pub fn f() { super::g() }"),
        ]);
        assert_eq!(found, ["a/mod.rs", "a/one.rs"]);
        let called = group(&[
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod one;\npub fn g() { one::f() }"),
            ("a/one.rs", "pub fn f() { super::g() }"),
        ]);
        assert_eq!(called, found);
    }

    #[test]
    fn tests_are_in_no_cycle() {
        let found = group(&[
            ("lib.rs", "mod a;\n#[cfg(test)]\nmod tests;"),
            ("a.rs", "pub fn f() {}\n#[cfg(test)]\nmod t { use crate::tests::x; }"),
            ("tests.rs", "use crate::a::f;"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
