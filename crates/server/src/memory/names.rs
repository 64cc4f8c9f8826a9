//! The names of one directory of a memory volume, or of two for a move between them.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, RwLockWriteGuard};

use crate::memory::content::write_lock;
use crate::memory::node::Directory;
use crate::name::fold_case;
use crate::{NodeId, VolumeError, VolumeResult};

/// The names of one directory, indexed by name, by folded name and by cookie.
#[derive(Default)]
pub(super) struct Names {
    by_name: BTreeMap<Arc<str>, Name>,
    by_cookie: BTreeMap<u64, Arc<str>>,
    by_folded_name: BTreeMap<(String, u64), Arc<str>>,
    last_cookie: u64,
    subdirectories: u32,
    /// The directory itself was removed: no name may be added.
    pub(super) removed: bool,
}

/// The object of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) node: NodeId,
    pub(super) directory: bool,
    cookie: u64,
}

impl Names {
    /// The object of `name`.
    pub(super) fn get(&self, name: &str) -> Option<Name> {
        self.by_name.get(name).copied()
    }

    /// The object of the only name that equals `name` except for case.
    pub(super) fn get_folded(&self, name: &str) -> Option<(String, Name)> {
        let folded = fold_case(name);
        let range = (folded.clone(), 0)..=(folded, u64::MAX);
        let mut matches = self.by_folded_name.range(range);
        match (matches.next(), matches.next()) {
            (Some((_, only)), None) => Some((only.to_string(), self.get(only)?)),
            _ => None,
        }
    }

    /// Adds a new name after all others.
    pub(super) fn insert(&mut self, name: &str, node: NodeId, directory: bool) {
        // Cookies are never reused, so that a listing that continues after a removal neither repeats nor skips
        // an entry.
        self.last_cookie += 1;
        let cookie = self.last_cookie;
        let name = Arc::<str>::from(name);
        self.by_cookie.insert(cookie, Arc::clone(&name));
        self.by_folded_name.insert((fold_case(&name), cookie), Arc::clone(&name));
        self.by_name.insert(name, Name { node, directory, cookie });
        self.subdirectories += u32::from(directory);
    }

    /// Removes a name.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some(removed) = self.by_name.remove(name) {
            self.by_cookie.remove(&removed.cookie);
            self.by_folded_name.remove(&(fold_case(name), removed.cookie));
            self.subdirectories -= u32::from(removed.directory);
        }
    }

    /// Number of names of directories.
    pub(super) fn subdirectories(&self) -> u32 {
        self.subdirectories
    }

    /// True if there are no names.
    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Up to `limit` names after `cookie`, in order of creation.
    pub(super) fn after(&self, cookie: u64, limit: usize) -> Vec<(String, NodeId, u64)> {
        let range = (Bound::Excluded(cookie), Bound::Unbounded);
        let names = self.by_cookie.range(range).take(limit);
        names
            .filter_map(|(cookie, name)| Some((name.to_string(), self.by_name.get(name)?.node, *cookie)))
            .collect()
    }
}

/// The names of the source and target directory of a move, which may be the same.
pub(super) struct NamePair<'a> {
    source: RwLockWriteGuard<'a, Names>,
    target: Option<RwLockWriteGuard<'a, Names>>,
}

impl<'a> NamePair<'a> {
    /// Locks both directories, in no particular order. Only the holder of the tree's lock for moves may call it.
    pub(super) fn lock(source: &'a Directory, target: &'a Directory) -> Self {
        let target = (!std::ptr::eq(source, target)).then(|| write_lock(&target.names));
        Self { source: write_lock(&source.names), target }
    }

    /// Moves a name if source and target are unchanged since the caller looked them up.
    pub(super) fn and_move(
        mut self,
        name: &str,
        new_name: &str,
        moved: Name,
        replaced: Option<Name>,
    ) -> VolumeResult<()> {
        // A file may have been created or removed in the meantime, because that locks only one directory.
        if self.source.get(name) != Some(moved) {
            return Err(VolumeError::NotFound);
        }
        let target = self.target.as_mut().unwrap_or(&mut self.source);
        if target.removed {
            return Err(VolumeError::Stale);
        }
        if target.get(new_name) != replaced {
            return Err(VolumeError::Exists);
        }
        target.remove(new_name);
        target.insert(new_name, moved.node, moved.directory);
        self.source.remove(name);
        Ok(())
    }
}
