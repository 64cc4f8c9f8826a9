//! Which files users have open.
//!
//! smbd opens and closes more than its clients do: directories on the way to a file, and each entry of a listing. A line
//! `close` has only a path. It is the close of a client when the user has no more descriptors of that path than opens.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Most paths that are open at a time. Further ones have no close.
const MAX_OPEN: usize = 1 << 20;

/// What a user has of one path.
#[derive(Debug, Default, Clone, Copy)]
struct Handles {
    /// Descriptors of smbd.
    descriptors: u32,
    /// Opens of the client for data.
    opens: u32,
    /// The file that they are of.
    file: u32,
    /// It was opened in a way that permits a listing, and was not listed yet.
    may_list: bool,
}

/// The open files of all users.
#[derive(Debug, Default)]
pub(super) struct Opens {
    table: HashMap<(u32, u64), Handles>,
}

impl Opens {
    /// smbd has opened a path.
    pub(super) fn descriptor(&mut self, user: u32, path: &[u8]) {
        if let Some(handles) = self.entry(user, path) {
            handles.descriptors = handles.descriptors.saturating_add(1);
        }
    }

    /// The client has opened a file for its data.
    pub(super) fn opened(&mut self, user: u32, path: &[u8], file: u32) {
        if let Some(handles) = self.entry(user, path) {
            handles.opens = handles.opens.saturating_add(1);
            handles.descriptors = handles.descriptors.max(handles.opens);
            handles.file = file;
        }
    }

    /// smbd has closed a path: the file, if the client closed it.
    pub(super) fn closed(&mut self, user: u32, path: &[u8]) -> Option<u32> {
        let key = (user, hash(path));
        let handles = self.table.get_mut(&key)?;
        let is_client = handles.opens > 0 && handles.descriptors <= handles.opens;
        handles.opens = handles.opens.saturating_sub(u32::from(is_client));
        handles.descriptors = handles.descriptors.saturating_sub(1);
        let file = handles.file;
        if handles.descriptors == 0 && handles.opens == 0 {
            self.table.remove(&key);
        }
        is_client.then_some(file)
    }

    /// What was open by one path is open by another.
    pub(super) fn renamed(&mut self, user: u32, from: &[u8], to: &[u8]) {
        if let Some(handles) = self.table.remove(&(user, hash(from))) {
            self.table.insert((user, hash(to)), handles);
        }
    }

    /// The next reading of this directory is a listing of the client.
    pub(super) fn may_list(&mut self, user: u32, path: &[u8]) {
        if let Some(handles) = self.entry(user, path) {
            handles.may_list = true;
        }
    }

    /// smbd reads a directory: true for a listing of the client.
    pub(super) fn listed(&mut self, user: u32, path: &[u8]) -> bool {
        let handles = self.table.get_mut(&(user, hash(path)));
        handles.is_some_and(|handles| std::mem::take(&mut handles.may_list))
    }

    fn entry(&mut self, user: u32, path: &[u8]) -> Option<&mut Handles> {
        let key = (user, hash(path));
        if self.table.len() >= MAX_OPEN && !self.table.contains_key(&key) {
            return None;
        }
        Some(self.table.entry(key).or_default())
    }
}

/// What a path is recognised by.
pub(super) fn hash(path: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closes_of_smbd_are_not_those_of_the_client() {
        let mut opens = Opens::default();
        opens.descriptor(0, b"/a");
        opens.descriptor(0, b"/a");
        assert_eq!(opens.closed(0, b"/a"), None, "the first look at the path");
        opens.opened(0, b"/a", 7);
        opens.descriptor(0, b"/a");
        assert_eq!(opens.closed(0, b"/a"), None, "an entry of a listing");
        opens.renamed(0, b"/a", b"/b");
        assert_eq!(opens.closed(0, b"/a"), None);
        assert_eq!(opens.closed(1, b"/b"), None, "another user");
        assert_eq!(opens.closed(0, b"/b"), Some(7));
        assert_eq!(opens.closed(0, b"/b"), None);
        assert!(opens.table.is_empty());
    }

    #[test]
    fn a_directory_is_listed_once_for_each_open() {
        let mut opens = Opens::default();
        assert!(!opens.listed(0, b"/d"), "the search for a name that does not exist");
        opens.may_list(0, b"/d");
        assert!(opens.listed(0, b"/d"));
        assert!(!opens.listed(0, b"/d"));
    }
}
