//! The names of one directory of a memory volume, or of two for a move between them.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;
use std::sync::{Arc, RwLockWriteGuard};

use crate::volume::memory::content::{NumberMap, write_lock};
use crate::volume::memory::node::Directory;
use crate::volume::name::fold_case;
use crate::{NodeId, VolumeError, VolumeResult};

/// The names of one directory, indexed by name, by folded name and by cookie.
///
/// A look-up in a directory of 100,000 names must not take much longer than in an empty one. What it costs there are the misses of the
/// CPU's caches, so that the indexes hold numbers next to each other, and few names are compared.
#[derive(Default)]
pub(super) struct Names {
    /// Makes the keys of the indexes, so that no client can choose names whose keys are equal.
    keys: RandomState,
    by_name: NamesByKey,
    /// The keys of folded names, each with the cookie of a name.
    by_folded_name: BTreeSet<(u64, u64)>,
    by_cookie: BTreeMap<u64, (Arc<str>, NodeId)>,
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
        self.by_name.get(self.keys.hash_one(name), name)
    }

    /// The object of the only name that equals `name` except for case.
    pub(super) fn get_folded(&self, name: &str) -> Option<(String, Name)> {
        let folded = fold_case(name);
        let key = self.keys.hash_one(folded.as_str());
        let candidates = self.by_folded_name.range((key, 0)..=(key, u64::MAX));
        let names = candidates.filter_map(|(_, cookie)| Some(&self.by_cookie.get(cookie)?.0));
        let mut matches = names.filter(|name| fold_case(name) == folded);
        match (matches.next(), matches.next()) {
            (Some(only), None) => Some((only.to_string(), self.get(only)?)),
            _ => None,
        }
    }

    /// A name of a node.
    pub(super) fn name_of(&self, node: NodeId) -> Option<String> {
        let found = self.by_cookie.values().find(|(_, other)| *other == node);
        found.map(|(name, _)| name.to_string())
    }

    /// Adds a new name after all others.
    pub(super) fn insert(&mut self, name: &str, node: NodeId, directory: bool) {
        // Cookies are never reused, so that a listing that continues after a removal neither repeats nor skips
        // an entry.
        self.last_cookie += 1;
        let cookie = self.last_cookie;
        let key = self.keys.hash_one(name);
        let folded = self.keys.hash_one(fold_case(name).as_str());
        let name = Arc::<str>::from(name);
        self.by_cookie.insert(cookie, (Arc::clone(&name), node));
        self.by_folded_name.insert((folded, cookie));
        self.by_name.insert(key, name, Name { node, directory, cookie });
        self.subdirectories += u32::from(directory);
    }

    /// Removes a name.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some(removed) = self.by_name.remove(self.keys.hash_one(name), name) {
            self.by_cookie.remove(&removed.cookie);
            let folded = self.keys.hash_one(fold_case(name).as_str());
            self.by_folded_name.remove(&(folded, removed.cookie));
            self.subdirectories -= u32::from(removed.directory);
        }
    }

    /// Number of names of directories.
    pub(super) fn subdirectories(&self) -> u32 {
        self.subdirectories
    }

    /// True if there are no names.
    pub(super) fn is_empty(&self) -> bool {
        self.by_cookie.is_empty()
    }

    /// Up to `limit` names after `cookie`, in order of creation.
    pub(super) fn after(&self, cookie: u64, limit: usize) -> Vec<(String, NodeId, u64)> {
        let range = (Bound::Excluded(cookie), Bound::Unbounded);
        let names = self.by_cookie.range(range).take(limit);
        names.map(|(cookie, (name, node))| (name.to_string(), *node, *cookie)).collect()
    }
}

/// Names by a key of 64 bits. The map keeps the key, so that it can grow without a look at every name, which would stop all
/// clients for some tenths of a second at a million names.
#[derive(Default)]
struct NamesByKey {
    first: NumberMap<(Arc<str>, Name)>,
    /// Names whose key another name has, with that key; there are none unless two keys happen to be equal.
    others: Vec<(u64, Arc<str>, Name)>,
}

impl NamesByKey {
    fn get(&self, key: u64, name: &str) -> Option<Name> {
        let (first, found) = self.first.get(&key)?;
        if &**first == name {
            return Some(*found);
        }
        let other = self.others.iter().find(|(_, other, _)| &**other == name);
        other.map(|(_, _, found)| *found)
    }

    /// Adds a name that is not there.
    fn insert(&mut self, key: u64, name: Arc<str>, found: Name) {
        match self.first.entry(key) {
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert((name, found));
            }
            std::collections::hash_map::Entry::Occupied(_) => self.others.push((key, name, found)),
        }
    }

    fn remove(&mut self, key: u64, name: &str) -> Option<Name> {
        if &*self.first.get(&key)?.0 != name {
            let at = self.others.iter().position(|(_, other, _)| &**other == name)?;
            return Some(self.others.swap_remove(at).2);
        }
        let (_, removed) = self.first.remove(&key)?;
        if let Some(at) = self.others.iter().position(|(other, _, _)| *other == key) {
            let (_, name, found) = self.others.swap_remove(at);
            self.first.insert(key, (name, found));
        }
        Some(removed)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_whose_keys_are_equal_stay_apart() {
        let mut names = NamesByKey::default();
        let object = |number| Name { node: NodeId(number), directory: false, cookie: number };
        for (number, name) in ["first", "second", "third"].into_iter().enumerate() {
            names.insert(7, name.into(), object(number as u64));
        }
        names.insert(8, "other".into(), object(3));
        assert_eq!(names.get(7, "second"), Some(object(1)));
        assert_eq!(names.get(7, "fourth"), None);
        assert_eq!(names.get(9, "first"), None);
        assert_eq!(names.remove(7, "fourth"), None);
        assert_eq!(names.remove(7, "first"), Some(object(0)));
        assert_eq!([names.get(7, "first"), names.get(7, "third")], [None, Some(object(2))]);
        assert_eq!(names.remove(7, "second"), Some(object(1)));
        assert_eq!(names.remove(7, "third"), Some(object(2)));
        assert!(names.others.is_empty());
        assert_eq!(names.get(8, "other"), Some(object(3)));
    }

    #[test]
    fn only_one_name_may_equal_another_except_for_case() {
        let mut names = Names::default();
        names.insert("Brief", NodeId(1), false);
        let found = names.get_folded("bRIEF").map(|(stored, found)| (stored, found.node));
        assert_eq!(found, Some(("Brief".to_owned(), NodeId(1))));
        names.insert("BRIEF", NodeId(2), false);
        assert_eq!(names.get_folded("brief"), None);
        names.remove("Brief");
        assert_eq!(names.get_folded("brief").map(|(stored, _)| stored), Some("BRIEF".to_owned()));
    }
}
