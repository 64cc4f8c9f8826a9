//! What the sessions of a target know together of the directories that they have open.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::beneath::Identity;

/// The identity of the working directories that the sessions of one target use, by name.
///
/// The first session that opens a working directory determines its identity. As long as any session keeps it open, the
/// others accept no other directory of this name. When the last one closes it, the entry expires: the pre-step command
/// may then mount the file system anew, which changes device numbers.
///
/// It also knows which other directories the sessions keep open, so that all of them learn of a removal by one.
#[derive(Debug, Default)]
pub(crate) struct KnownDirectories {
    working: Mutex<BTreeMap<Vec<u8>, Weak<Identity>>>,
    kept: Mutex<BTreeMap<Vec<u8>, Weak<AtomicBool>>>,
}

impl KnownDirectories {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Weak<Identity>>> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Weak<AtomicBool>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The identity that the sessions agree on; `found` if no session has the directory open.
    pub fn agree(&self, name: &[u8], found: Identity) -> Arc<Identity> {
        let mut known = self.lock();
        if let Some(agreed) = known.get(name).and_then(Weak::upgrade) {
            return agreed;
        }
        known.retain(|_, identity| identity.strong_count() > 0);
        let agreed = Arc::new(found);
        known.insert(name.to_vec(), Arc::downgrade(&agreed));
        agreed
    }

    pub fn current(&self, name: &[u8]) -> Option<Identity> {
        self.lock().get(name).and_then(Weak::upgrade).map(|identity| *identity)
    }

    pub fn remove(&self, name: &[u8]) {
        self.lock().remove(name);
    }

    /// A session keeps the directory of a path open from now on. The flag is true until a session of this process removes or
    /// renames the directory, or one above it.
    pub fn keep(&self, path: &[u8]) -> Arc<AtomicBool> {
        let mut kept = self.kept();
        if let Some(flag) = kept.get(path).and_then(Weak::upgrade) {
            return flag;
        }
        kept.retain(|_, flag| flag.strong_count() > 0);
        let flag = Arc::new(AtomicBool::new(true));
        kept.insert(path.to_vec(), Arc::downgrade(&flag));
        flag
    }

    /// The name of a path means another directory or none from now on: nobody uses what was kept at or below it.
    pub fn invalidate(&self, path: &[u8]) {
        let is_at_or_below = |kept: &[u8]| {
            kept.strip_prefix(path).is_some_and(|rest| rest.first().is_none_or(|next| *next == b'/'))
        };
        let mut kept = self.kept();
        let names = kept.range::<[u8], _>((Bound::Included(path), Bound::Unbounded)).map(|(name, _)| name);
        let alike = names.take_while(|name| name.starts_with(path));
        let stale: Vec<_> = alike.filter(|name| is_at_or_below(name)).cloned().collect();
        for name in stale {
            if let Some(flag) = kept.remove(&name).and_then(|flag| flag.upgrade()) {
                flag.store(false, Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_ends_what_is_kept_at_and_below_its_path_only() {
        let known = KnownDirectories::default();
        let paths: [&[u8]; 5] = [b"w/a", b"w/a-b", b"w/a/c", b"w/a/c/d", b"w"];
        let flags = paths.map(|path| known.keep(path));
        assert!(Arc::ptr_eq(&known.keep(b"w/a/c"), &flags[2]), "sessions share a flag");
        known.invalidate(b"w/a");
        let now = flags.each_ref().map(|flag| flag.load(Ordering::Acquire));
        assert_eq!(now, [false, true, false, false, true]);
        assert!(known.keep(b"w/a").load(Ordering::Acquire), "a new directory of this name");
    }
}
