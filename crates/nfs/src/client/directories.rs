//! Handles of directories a session has looked up, by path.

use std::collections::HashMap;

use crate::protocol::FileHandle;

/// Beyond this the map starts anew: enough for any tree sharebench makes.
const MAX_KNOWN: usize = 4096;

/// The map from paths to handles. Only directories are kept, and only handles: every operation on a
/// name still goes to the server.
#[derive(Debug)]
pub(crate) struct Directories {
    root: FileHandle,
    known: HashMap<String, FileHandle>,
    used: bool,
}

impl Directories {
    pub(crate) fn new(root: FileHandle) -> Self {
        Self { root, known: HashMap::new(), used: false }
    }

    pub(crate) fn root(&self) -> FileHandle {
        self.root
    }

    /// The longest known part of a path: its handle and the names below it.
    pub(crate) fn nearest<'p>(&mut self, path: &'p str) -> (FileHandle, &'p str) {
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

    pub(crate) fn remember(&mut self, path: &str, handle: FileHandle) {
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(path.to_owned(), handle);
    }

    /// Forgets a directory and all below it.
    pub(crate) fn forget(&mut self, path: &str) {
        let inside = |known: &str| {
            known.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.known.retain(|known, _| !inside(known));
    }

    /// Forgets everything; true when something remembered was used since the last [`Self::begin`].
    pub(crate) fn distrust(&mut self) -> bool {
        self.known.clear();
        std::mem::take(&mut self.used)
    }

    /// Notes that an operation begins.
    pub(crate) fn begin(&mut self) {
        self.used = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_known_part_is_found_and_forgotten_with_what_is_below() {
        let handle = |name: &[u8]| FileHandle::new(name).unwrap();
        let mut directories = Directories::new(handle(b"root"));
        assert_eq!(directories.nearest("a/b/c"), (handle(b"root"), "a/b/c"));
        assert!(!directories.distrust());
        directories.remember("a", handle(b"a"));
        directories.remember("a/b", handle(b"b"));
        directories.remember("ab", handle(b"ab"));
        assert_eq!(directories.nearest("a/b/c"), (handle(b"b"), "c"));
        assert_eq!(directories.nearest("a/b"), (handle(b"b"), ""));
        directories.forget("a");
        assert_eq!(directories.nearest("a/b"), (handle(b"root"), "a/b"));
        assert_eq!(directories.nearest("ab/x"), (handle(b"ab"), "x"));
        assert!(directories.distrust());
    }
}
