//! The requester's caches of a session: one per open file, which all connections share.

use std::collections::BTreeMap;

use sharebench_model::{FileRef, OpError};

use crate::target::session::cache::{CacheSize, FileCache};

/// What an operation that bypasses the cache and changes the file, a large write or a commit, has of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Claim {
    #[default]
    None,
    /// The operation waits until nothing is dirty and no request of the cache is in progress.
    Waiting,
    /// The cache is empty, and no other operation uses it until this one ends.
    Held,
}

/// The caches of a session, with the errors that their write-backs left.
///
/// A file has one cache, whatever connection transfers it, so that the connections of a session see the same contents.
/// It lives from the open to the close of the file. A file that is open twice has none: each open would have a cache
/// of its own, and one would not see what the other keeps. As requesters did, the table relies on the open mode for
/// files that others use (docs/protocols/ncp.md 5.3).
#[derive(Debug, Default)]
pub(crate) struct CacheTable {
    caches: BTreeMap<FileRef, FileCache>,
    /// Errors of write-backs, reported by the next operation on the file.
    deferred_errors: BTreeMap<FileRef, OpError>,
    /// The opens of each name in lower case.
    opens: BTreeMap<String, Vec<FileRef>>,
    /// Number of changes for which an operation may wait.
    changes: u64,
}

impl CacheTable {
    /// Notes an open; the file is cached if no other open of the name exists. Otherwise the caches of the other opens
    /// are to be removed, after their dirty data has been written.
    pub(crate) fn open(&mut self, file: FileRef, name: &str, size: CacheSize) -> Vec<FileRef> {
        let opens = self.opens.entry(name.to_lowercase()).or_default();
        let others = opens.clone();
        opens.push(file);
        if others.is_empty() {
            self.caches.insert(file, FileCache::new(size));
        }
        others
    }

    /// Notes a close.
    pub(crate) fn close(&mut self, file: FileRef) {
        self.remove(file);
        self.deferred_errors.remove(&file);
        self.opens.retain(|_, opens| {
            opens.retain(|open| *open != file);
            !opens.is_empty()
        });
    }

    /// Removes the cache of a file.
    pub(crate) fn remove(&mut self, file: FileRef) {
        self.caches.remove(&file);
        self.changes += 1;
    }

    /// The cached files.
    pub(crate) fn files(&self) -> Vec<FileRef> {
        self.caches.keys().copied().collect()
    }

    /// Invalidates the clean data of a file.
    pub(crate) fn invalidate(&mut self, file: FileRef) {
        if let Some(cache) = self.get(file) {
            cache.invalidate();
        }
    }

    pub(super) fn get(&mut self, file: FileRef) -> Option<&mut FileCache> {
        self.caches.get_mut(&file)
    }

    /// Keeps the error of a write-back, unless an earlier one is still to be reported.
    pub(super) fn defer_error(&mut self, file: FileRef, error: OpError) {
        self.deferred_errors.entry(file).or_insert(error);
    }

    pub(super) fn take_error(&mut self, file: FileRef) -> Option<OpError> {
        self.deferred_errors.remove(&file)
    }

    /// Gives up the claim of an operation that ends.
    pub(super) fn release(&mut self, file: FileRef, claim: Claim) {
        if claim == Claim::None {
            return;
        }
        if let Some(cache) = self.get(file) {
            cache.release(claim == Claim::Held);
        }
        self.changes += 1;
    }

    /// Notes that a request of a cache has ended.
    pub(super) fn note_change(&mut self) {
        self.changes += 1;
    }

    /// Number of changes so far. While it grows, waiting operations are tried again.
    pub(crate) const fn changes(&self) -> u64 {
        self.changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_is_open_twice_is_not_cached() {
        let size = CacheSize { buffers: 2, bytes: 64 };
        let mut table = CacheTable::default();
        assert_eq!(table.open(FileRef(1), "Dir/File", size), []);
        assert_eq!(table.open(FileRef(2), "dir/other", size), []);
        assert_eq!(table.open(FileRef(3), "dir/FILE", size), [FileRef(1)]);
        table.remove(FileRef(1));
        assert_eq!(table.files(), [FileRef(2)]);
        table.close(FileRef(1));
        table.close(FileRef(3));
        assert_eq!(table.open(FileRef(4), "dir/file", size), []);
        assert_eq!(table.files(), [FileRef(2), FileRef(4)]);
    }
}
