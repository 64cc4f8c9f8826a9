//! Names of the target in memory, and the operations on names alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use sharebench_model::{Entry, ErrorClass, MetaOp, MetaYield, OpError, OpStep, Stat};

use crate::memory_content::{Content, fails, lock};

/// Directories have no content; a file's content outlives its name while it is open.
pub(crate) type Tree = BTreeMap<String, Option<Arc<Mutex<Content>>>>;

/// The parent of a new name is a directory.
pub(crate) fn check_parent(tree: &Tree, path: &str, request: &'static str) -> Result<(), OpError> {
    match path.rsplit_once('/') {
        Some((parent, _)) if !matches!(tree.get(parent), Some(None)) => {
            fails(ErrorClass::NotFound, request, "no such directory")
        }
        _ => Ok(()),
    }
}

fn below(tree: &Tree, path: &str) -> Vec<Entry> {
    below_after(tree, path, "").collect()
}

/// The entries of a directory whose names come after `last`.
pub(crate) fn below_after<'t>(
    tree: &'t Tree,
    path: &str,
    last: &str,
) -> impl Iterator<Item = Entry> + use<'t> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let from = format!("{prefix}{last}");
    let whole = prefix.clone();
    let names = tree.range(from.clone()..).take_while(move |(name, _)| name.starts_with(&whole));
    names.filter(move |(name, _)| **name != from).filter_map(move |(name, content)| {
        let rest = name.strip_prefix(&prefix).filter(|rest| !rest.is_empty() && !rest.contains('/'))?;
        let size = content.as_ref().map(|content| lock(content).size);
        Some(Entry { name: rest.to_owned(), directory: content.is_none(), size })
    })
}

/// True if the path is that of a directory.
pub(crate) fn is_directory(tree: &Tree, path: &str) -> Result<bool, OpError> {
    let missing = || OpError::new(ErrorClass::NotFound, OpStep::Request("lookup"), "no such name");
    if path.is_empty() { Ok(true) } else { Ok(tree.get(path).ok_or_else(missing)?.is_none()) }
}

/// Operations on names alone.
pub(crate) fn names(tree: &mut Tree, op: &MetaOp) -> Result<MetaYield, OpError> {
    let missing = || OpError::new(ErrorClass::NotFound, OpStep::Request("lookup"), "no such name");
    let is_dir = is_directory;
    match op {
        MetaOp::Stat { path } => {
            let size = tree.get(path).and_then(|content| content.as_ref().map(|content| lock(content).size));
            return Ok(MetaYield::Stat(Stat { directory: is_dir(tree, path)?, size: size.unwrap_or(0) }));
        }
        MetaOp::List { path } => {
            return if is_dir(tree, path)? {
                Ok(MetaYield::Entries(below(tree, path)))
            } else {
                fails(ErrorClass::Refused, "list", "not a directory")
            };
        }
        MetaOp::MakeDir { path } => {
            check_parent(tree, path, "make directory")?;
            if tree.contains_key(path) {
                return fails(ErrorClass::Exists, "make directory", "name exists");
            }
            tree.insert(path.clone(), None);
        }
        MetaOp::RemoveDir { path } => {
            if !is_dir(tree, path)? {
                return fails(ErrorClass::Refused, "remove directory", "a file");
            }
            if below_after(tree, path, "").next().is_some() {
                return fails(ErrorClass::NotEmpty, "remove directory", "has entries");
            }
            tree.remove(path);
        }
        MetaOp::Remove { path } => {
            if is_dir(tree, path)? {
                return fails(ErrorClass::Refused, "remove", "a directory");
            }
            tree.remove(path);
        }
        MetaOp::Rename { from, to } => {
            check_parent(tree, to, "rename")?;
            let below = format!("{from}/");
            let itself = tree.get_key_value(from).map(|(name, _)| name);
            let within = tree.range(below.clone()..).map(|(name, _)| name);
            let within = within.take_while(|name| name.starts_with(&below));
            let moved: Vec<_> = itself.into_iter().chain(within).cloned().collect();
            if moved.is_empty() {
                return Err(missing());
            }
            for name in moved {
                if let Some(content) = tree.remove(&name) {
                    tree.insert(format!("{to}{}", &name[from.len()..]), content);
                }
            }
        }
        MetaOp::Link { from, to } => {
            check_parent(tree, to, "link")?;
            if tree.contains_key(to) {
                return fails(ErrorClass::Exists, "link", "name exists");
            }
            let content = tree.get(from).ok_or_else(missing)?.clone();
            if content.is_none() {
                return fails(ErrorClass::Refused, "link", "a directory");
            }
            tree.insert(to.clone(), content);
        }
        MetaOp::SetModified { path, .. } => {
            is_dir(tree, path)?;
        }
        _ => return Err(OpError::unsupported("not an operation on names")),
    }
    Ok(MetaYield::Done)
}
