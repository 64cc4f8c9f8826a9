//! Import cycles: the folders of a crate form layers, so no folder imports from one that imports from it.
//!
//! A node of the graph is a top-level module of a crate: `src/x.rs` together with `src/x/`. The root (`lib.rs`
//! or `main.rs`) counts as a node only for the items that it defines itself; its re-exports lead to the module
//! that defines them. Modules for tests are no part of the graph.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::source::Source;
use crate::vocabulary::LineStarts;

/// Name of the node for items that `lib.rs` or `main.rs` defines.
const ROOT: &str = "the crate root";

/// Imports of one crate: from node to node, with the place of one such import.
pub type Edges = BTreeMap<String, BTreeMap<String, String>>;

/// A set of modules that import each other.
#[derive(Debug)]
pub struct Cycle {
    crate_path: String,
    modules: usize,
    /// Modules along a shortest cycle; each with the place where it imports the next one.
    path: Vec<(String, String)>,
}

impl Cycle {
    /// Number of modules that this cycle connects.
    pub fn modules(&self) -> usize {
        self.modules
    }

    /// Folder of the crate.
    pub fn crate_path(&self) -> &str {
        &self.crate_path
    }
}

/// Returns one finding per group of modules that import each other.
pub fn check(sources: &[Source]) -> Vec<String> {
    cycles(sources)
        .into_iter()
        .map(|Cycle { crate_path, modules, path }| {
            let first = path.first().map_or("", |(name, _)| name.as_str());
            let steps: Vec<_> = path.iter().map(|(name, place)| format!("{name} ({place})")).collect();
            format!(
                "{crate_path}/src: {modules} modules form an import cycle: {} -> {first}",
                steps.join(" -> ")
            )
        })
        .collect()
}

/// Finds the import cycles of every crate.
pub fn cycles(sources: &[Source]) -> Vec<Cycle> {
    crates(sources).into_iter().flat_map(|(crate_path, files)| cycles_of_crate(crate_path, &files)).collect()
}

/// The files of each crate by its folder.
pub fn crates(sources: &[Source]) -> BTreeMap<&str, Vec<&Source>> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        if let Some((crate_path, _)) = source.path.split_once("/src/") {
            crates.entry(crate_path).or_default().push(source);
        }
    }
    crates
}

fn cycles_of_crate(crate_path: &str, files: &[&Source]) -> Vec<Cycle> {
    let edges = edges(crate_path, files);
    groups(&edges)
        .into_iter()
        .map(|group| Cycle {
            crate_path: crate_path.to_owned(),
            modules: group.len(),
            path: shortest_cycle(&edges, &group),
        })
        .collect()
}

/// A file of a crate with its module path: `["cell", "pass"]` for `src/cell/pass.rs`, empty for the root.
pub struct Module<'a> {
    pub file: &'a Source,
    /// Without strings, comments and items for tests.
    pub code: String,
    pub path: Vec<String>,
}

/// The modules of a crate, without those for tests.
pub fn modules<'a>(crate_path: &str, files: &[&'a Source]) -> Vec<Module<'a>> {
    let mut modules = Vec::new();
    let mut test_modules = BTreeSet::new();
    for &file in files {
        let path = module_path(&file.path[crate_path.len() + "/src/".len()..]);
        let (code, tests) = without_test_items(&file.code);
        test_modules.extend(tests.into_iter().map(|name| [path.clone(), vec![name]].concat()));
        modules.push(Module { file, code, path });
    }
    modules.retain(|module| !(1..=module.path.len()).any(|n| test_modules.contains(&module.path[..n])));
    // Programs in `src/bin` are crates of their own.
    modules.retain(|module| module.path.first().is_none_or(|name| name != "bin"));
    modules
}

fn edges(crate_path: &str, files: &[&Source]) -> Edges {
    let modules = modules(crate_path, files);
    let nodes: BTreeSet<String> = modules.iter().filter_map(|module| module.path.first().cloned()).collect();
    let exported = root_names(&modules, &nodes);
    let mut edges = Edges::new();
    for module in &modules {
        let from = module.path.first().map_or(ROOT, String::as_str);
        let lines = LineStarts::new(&module.code);
        for (at, target) in imports(module, &nodes) {
            let to = match target.first() {
                Some(name) if nodes.contains(name) => name.as_str(),
                Some(name) => exported.get(name).map_or(ROOT, String::as_str),
                None => ROOT,
            };
            // The root declares and re-exports its modules; that is no import.
            if to != from {
                edges
                    .entry(from.to_owned())
                    .or_default()
                    .entry(to.to_owned())
                    .or_insert_with(|| format!("{}:{}", module.file.path, lines.number(at)));
            }
        }
    }
    edges
}

fn module_path(file: &str) -> Vec<String> {
    let parts: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    match parts.last().map(String::as_str) {
        Some("mod") => parts[..parts.len() - 1].to_vec(),
        Some("lib" | "main") if parts.len() == 1 => Vec::new(),
        _ => parts,
    }
}

/// The trees of the `use` items, without the keyword.
pub fn use_items(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices("use ").filter(|(at, _)| starts_word(code, *at)).map(|(start, _)| {
        let text = &code[start + "use ".len()..];
        &text[..text.find(';').unwrap_or(text.len())]
    })
}

/// Names that the root imports from its modules, each with the module.
fn root_names(modules: &[Module<'_>], nodes: &BTreeSet<String>) -> HashMap<String, String> {
    let mut names = HashMap::new();
    for root in modules.iter().filter(|module| module.path.is_empty()) {
        for text in use_items(&root.code) {
            for mut path in use_tree(text) {
                if path.first().is_some_and(|first| first == "crate" || first == "self") {
                    path.remove(0);
                }
                if let (Some(first), Some(last)) = (path.first(), path.last())
                    && nodes.contains(first)
                {
                    names.insert(last.clone(), first.clone());
                }
            }
        }
    }
    names
}

/// Returns the position and the absolute path of every import of a module.
fn imports(module: &Module<'_>, nodes: &BTreeSet<String>) -> Vec<(usize, Vec<String>)> {
    let mut found = paths_from_keywords(module);
    if module.path.is_empty() {
        found.extend(root_uses(&module.code, nodes));
    }
    found
}

/// Returns the position and the absolute form of every path that starts with `crate`, `super` or `self`.
pub fn paths_from_keywords(module: &Module<'_>) -> Vec<(usize, Vec<String>)> {
    let code = &module.code;
    let inline = inline_modules(code);
    let mut found = Vec::new();
    for keyword in ["crate", "super", "self"] {
        for (at, _) in code.match_indices(keyword).filter(|(at, _)| starts_word(code, *at)) {
            // `pub(in crate::x)` restricts visibility, and the tail of `super::super` belongs to its head.
            let before = code[..at].trim_end();
            let is_visibility =
                before.ends_with("in") && before[..before.len() - 2].trim_end().ends_with('(');
            if is_visibility || before.ends_with("::") || !code[at + keyword.len()..].starts_with("::") {
                continue;
            }
            let depth = inline.iter().filter(|range| range.contains(&at)).count();
            for path in use_tree(&code[at..]) {
                found.extend(absolute(&path, &module.path, depth).map(|path| (at, path)));
            }
        }
    }
    found
}

/// The paths in `code` that start with the name of a module.
pub fn uses_of<'a>(code: &'a str, name: &str) -> impl Iterator<Item = Vec<String>> + use<'a> {
    let start = format!("{name}::");
    let places: Vec<usize> = code.match_indices(&start).map(|(at, _)| at).collect();
    places.into_iter().filter(|at| starts_word(code, *at)).flat_map(|at| use_tree(&code[at..]))
}

/// Returns the places where the code of the root uses one of its modules, except in `use` and `mod` items.
fn root_uses(code: &str, nodes: &BTreeSet<String>) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut at = 0;
    for statement in code.split_inclusive(';') {
        let item = statement.trim_start().trim_start_matches("pub ");
        let item = item.rsplit('}').next().unwrap_or(item).trim_start();
        if !item.starts_with("use ") && !item.starts_with("pub(crate) use ") {
            for node in nodes {
                let path = format!("{node}::");
                let uses = statement.match_indices(&path).filter(|(at, _)| starts_word(statement, *at));
                found.extend(uses.map(|(offset, _)| (at + offset, vec![node.clone()])));
            }
        }
        at += statement.len();
    }
    found
}

/// Resolves `crate`, `self` and `super`; `None` if the path leaves the crate.
pub fn absolute(path: &[String], module: &[String], inline_depth: usize) -> Option<Vec<String>> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let rest = match path.first().map(String::as_str) {
        Some("crate") => return Some(path[1..].to_vec()),
        Some("self") => &path[1..],
        _ => &path[supers..],
    };
    // Inline modules are below the module of the file; their own names do not matter here.
    let up = supers.saturating_sub(inline_depth);
    let base = &module[..module.len().checked_sub(up)?];
    let below = inline_depth.saturating_sub(supers);
    if below > 0 { Some(module.to_vec()) } else { Some([base, rest].concat()) }
}

/// Expands the path that `text` starts with: `a::{b, c::d}` gives `a::b` and `a::c::d`; `as` names are ignored.
pub fn use_tree(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    expand(text, &mut Vec::new(), &mut found);
    found
}

/// Returns the rest of the text after the path.
fn expand<'a>(mut text: &'a str, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let depth = prefix.len();
    loop {
        text = text.trim_start();
        if let Some(mut list) = text.strip_prefix('{') {
            loop {
                list = list.trim_start();
                if let Some(rest) = list.strip_prefix('}') {
                    text = rest;
                    break;
                }
                let rest = expand(list, prefix, found);
                let rest = rest.trim_start_matches(|c: char| c != ',' && c != '}' && c != ';');
                list = rest.strip_prefix(',').unwrap_or(rest);
                if list.is_empty() || list.starts_with(';') {
                    text = list;
                    break;
                }
            }
            break;
        }
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        if name.is_empty() {
            // `*`, or the `<` of a turbofish.
            found.push(prefix.clone());
            text = rest;
            break;
        }
        prefix.push(name.to_owned());
        if let Some(next) = rest.strip_prefix("::") {
            text = next;
            continue;
        }
        found.push(prefix.clone());
        text = rest;
        break;
    }
    prefix.truncate(depth);
    text
}

fn starts_word(code: &str, at: usize) -> bool {
    !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Returns the positions inside `mod name { .. }`.
fn inline_modules(code: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("mod ").filter(|(at, _)| starts_word(code, *at)) {
        let after = code[at + 4..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').trim_start();
        if after.starts_with('{') {
            let start = code.len() - after.len();
            found.push(start..start + item_length(after));
        }
    }
    found
}

/// Blanks the items under `#[cfg(test)]`, and returns the names of the modules among them.
fn without_test_items(code: &str) -> (String, Vec<String>) {
    let mut kept = code.to_owned();
    let mut names = Vec::new();
    for attribute in ["#[cfg(test)]", "#[cfg(all(test,"] {
        while let Some(start) = kept.find(attribute) {
            let mut item = &kept[start..];
            while item.starts_with("#[") {
                item = item[item.find(']').map_or(item.len(), |at| at + 1)..].trim_start();
            }
            if let Some((_, module)) = item.split_once("mod ").filter(|(before, _)| before.len() < 12) {
                let end = module.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(module.len());
                names.push(module[..end].to_owned());
            }
            let end = kept.len() - item.len() + item_length(item);
            let blank: String = kept[start..end].chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
            kept.replace_range(start..end, &blank);
        }
    }
    (kept, names)
}

/// Returns the bytes of the item that `text` starts with: up to its `;` or its closing brace.
fn item_length(text: &str) -> usize {
    let keyword = text.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
    let needs_semicolon = ["use ", "const ", "static ", "type "].iter().any(|word| keyword.starts_with(word))
        && !keyword.starts_with("const fn");
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' if depth <= 1 && !needs_semicolon => return at + 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Groups the nodes that reach each other, without the groups of one.
pub fn groups(edges: &Edges) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<String>> =
        edges.keys().map(|node| (node, reachable(edges, node))).collect();
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for (node, others) in &reached {
        if groups.iter().any(|group| group.contains(*node)) {
            continue;
        }
        let group: BTreeSet<String> = others
            .iter()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(*node)))
            .cloned()
            .collect();
        if group.len() > 1 {
            groups.push(group);
        }
    }
    groups
}

fn reachable(edges: &Edges, start: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        for next in edges.get(node).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    reached
}

/// Finds a shortest cycle within a group, with the place of each import.
fn shortest_cycle(edges: &Edges, group: &BTreeSet<String>) -> Vec<(String, String)> {
    let mut shortest: Option<Vec<&String>> = None;
    for start in group {
        let mut paths = vec![vec![start]];
        let mut seen = BTreeSet::new();
        let mut found = None;
        while found.is_none() && !paths.is_empty() {
            let mut longer = Vec::new();
            for path in &paths {
                let nexts = edges.get(path[path.len() - 1]).into_iter().flat_map(BTreeMap::keys);
                for next in nexts {
                    if next == start {
                        found.get_or_insert_with(|| path.clone());
                    } else if seen.insert(next) {
                        longer.push([path.as_slice(), &[next]].concat());
                    }
                }
            }
            paths = longer;
        }
        if let Some(path) = found
            && shortest.as_ref().is_none_or(|known| path.len() < known.len())
        {
            shortest = Some(path);
        }
    }
    let path = shortest.unwrap_or_default();
    let next = |index: usize| path[(index + 1) % path.len()];
    path.iter()
        .enumerate()
        .map(|(index, node)| ((*node).clone(), edges[*node][next(index)].clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Source, check, use_tree};

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> =
            files.iter().map(|(name, text)| Source::new(format!("crates/x/src/{name}"), *text)).collect();
        check(&sources)
    }

    #[test]
    fn use_trees_are_expanded() {
        let paths: Vec<_> =
            use_tree("crate::{a::{self, B as C}, d::*, e};").iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["crate::a::self", "crate::a::B", "crate::d", "crate::e"]);
    }

    #[test]
    fn cycle_is_printed_with_the_places() {
        let found = findings(&[
            ("lib.rs", "pub mod a;\nmod b;\nmod c;\npub use b::Thing;"),
            ("a.rs", "\nuse crate::Thing;"),
            ("b/mod.rs", "mod part;"),
            ("b/part.rs", "fn f() {\n    super::super::c::g();\n}"),
            ("c.rs", "use crate::{a::f, std::x};"),
        ]);
        assert_eq!(
            found,
            [
                "crates/x/src: 3 modules form an import cycle: a (crates/x/src/a.rs:2) -> b (crates/x/src/b/part.rs:2) \
              -> c (crates/x/src/c.rs:1) -> a"
            ]
        );
    }

    #[test]
    fn tests_folders_and_reexports_form_no_cycle() {
        let found = findings(&[
            (
                "lib.rs",
                "pub mod a;\nmod b;\n#[cfg(test)]\nmod checks;\npub use a::{A, B};\npub(crate) use b::C;",
            ),
            (
                "a.rs",
                "mod inner { use super::A; }\n#[cfg(test)]\nmod tests { use crate::b::C; }\npub(in crate::b) fn f() {}",
            ),
            ("a/deep.rs", "use super::A; use crate::a::x;"),
            ("b.rs", "use crate::{A, B};\n// crate::checks::x"),
            ("checks.rs", "use crate::{a, b};"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn items_of_the_root_count() {
        let found = findings(&[
            ("main.rs", "mod a;\nfn main() { a::run() }\nstruct State;"),
            ("a.rs", "use crate::State;"),
        ]);
        assert!(
            found[0].contains("2 modules form an import cycle: a (crates/x/src/a.rs:1) -> the crate root"),
            "{found:?}"
        );
    }
}
