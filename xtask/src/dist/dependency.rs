//! The crates that the program is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::command;
use super::kind::Kind;

/// A crate of the registry that is compiled into the program, or that generates code of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    pub name: String,
    pub version: String,
    /// SPDX expression of its manifest.
    pub licence: String,
    /// Unpacked source.
    pub source: PathBuf,
}

/// Returns the normal dependencies of a kind of program, by name and version.
pub fn linked(root: &Path, kind: Kind) -> io::Result<Vec<Dependency>> {
    let mut line = vec!["metadata", "--locked", "--format-version", "1", "--filter-platform", kind.target()];
    if kind == Kind::Mpi {
        line.extend(["--features", "sharebench/mpi"]);
    }
    let metadata = command::output("cargo", &line, root)?;
    parse(&metadata).ok_or_else(|| io::Error::other("cargo metadata has an unknown form"))
}

/// Walks the resolved graph from the program; crates of the workspace lead to others but are not dependencies.
fn parse(metadata: &str) -> Option<Vec<Dependency>> {
    let metadata: Value = serde_json::from_str(metadata).ok()?;
    let by_id = |list: &Value| -> Option<BTreeMap<String, Value>> {
        list.as_array()?.iter().map(|item| Some((item["id"].as_str()?.to_owned(), item.clone()))).collect()
    };
    let packages = by_id(&metadata["packages"])?;
    let nodes = by_id(&metadata["resolve"]["nodes"])?;
    let mut waiting = vec![packages.iter().find(|(_, package)| package["name"] == "sharebench")?.0.clone()];
    let mut reached = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        for dependency in nodes.get(&id)?["deps"].as_array()? {
            let normal = dependency["dep_kinds"].as_array()?.iter().any(|kind| kind["kind"].is_null());
            let id = dependency["pkg"].as_str()?;
            if normal && !reached.contains(id) {
                waiting.push(id.to_owned());
            }
        }
        reached.insert(id);
    }
    let mut found: Vec<Dependency> = reached
        .iter()
        .filter_map(|id| packages.get(id))
        .filter(|package| !package["source"].is_null())
        .map(|package| {
            Some(Dependency {
                name: package["name"].as_str()?.to_owned(),
                version: package["version"].as_str()?.to_owned(),
                licence: package["license"].as_str().unwrap_or("NOASSERTION").to_owned(),
                source: Path::new(package["manifest_path"].as_str()?).parent()?.to_owned(),
            })
        })
        .collect::<Option<_>>()?;
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Some(found)
}
