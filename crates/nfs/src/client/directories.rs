//! Handles of the directories that a session has looked up, by path.

use std::collections::HashMap;

/// A map with this many entries is cleared. It suffices for every tree that sharebench creates.
const MAX_KNOWN: usize = 4096;

/// The map from paths to handles of directories.
///
/// NFS names a file by its directory's handle and one name, so a client that kept no handles would walk from the root for
/// each operation. Only handles are kept, and only those of directories: every operation on a name still goes to the
/// server. A handle may become stale; the session then calls [`Self::invalidate`] and repeats the operation once.
#[derive(Debug)]
pub(crate) struct Directories<H> {
    root: H,
    known: HashMap<String, H>,
    /// A kept handle was used since the operation began.
    used: bool,
}

impl<H: Copy> Directories<H> {
    pub(crate) fn new(root: H) -> Self {
        Self { root, known: HashMap::new(), used: false }
    }

    pub(crate) fn root(&self) -> H {
        self.root
    }

    /// The longest known prefix of a path: its handle, and the names below it.
    pub(crate) fn nearest<'p>(&mut self, path: &'p str) -> (H, &'p str) {
        let mut end = path.len();
        while end > 0 {
            if let Some(handle) = self.known.get(&path[..end]) {
                self.used = true;
                return (*handle, path[end..].trim_start_matches('/'));
            }
            end = path[..end].rfind('/').unwrap_or(0);
        }
        (self.root, path)
    }

    pub(crate) fn insert(&mut self, path: &str, handle: H) {
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(path.to_owned(), handle);
    }

    /// Removes a directory and everything below it.
    pub(crate) fn remove(&mut self, path: &str) {
        let inside = |known: &str| {
            known.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.known.retain(|known, _| !inside(known));
    }

    /// Removes everything; true if a kept handle was used since [`Self::begin_operation`].
    pub(crate) fn invalidate(&mut self) -> bool {
        self.known.clear();
        std::mem::take(&mut self.used)
    }

    /// Marks the begin of an operation.
    pub(crate) fn begin_operation(&mut self) {
        self.used = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::FileHandle;

    #[test]
    fn lookup_finds_the_longest_known_prefix_and_removal_includes_everything_below() {
        let handle = |name: &[u8]| FileHandle::new(name).unwrap();
        let mut directories = Directories::new(handle(b"root"));
        assert_eq!(directories.nearest("a/b/c"), (handle(b"root"), "a/b/c"));
        assert!(!directories.invalidate());
        directories.insert("a", handle(b"a"));
        directories.insert("a/b", handle(b"b"));
        directories.insert("ab", handle(b"ab"));
        assert_eq!(directories.nearest("a/b/c"), (handle(b"b"), "c"));
        assert_eq!(directories.nearest("a/b"), (handle(b"b"), ""));
        directories.remove("a");
        assert_eq!(directories.nearest("a/b"), (handle(b"root"), "a/b"));
        assert_eq!(directories.nearest("ab/x"), (handle(b"ab"), "x"));
        assert!(directories.invalidate());
    }
}
