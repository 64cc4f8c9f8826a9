//! The entries of one reply to a listing, whatever the version of NFS.

use sharebench_model::{Entry, OpError};
use sharebench_target::ListingGuard;

use crate::client::directories::Directories;

/// The entries of one reply. Attributes are optional, so those without any are kept in `incomplete`.
#[derive(Debug)]
pub(crate) struct Collected<H> {
    pub(crate) entries: Vec<Entry>,
    directories: Vec<(usize, H)>,
    /// Entries without attributes.
    pub(crate) incomplete: Vec<usize>,
    /// Entries of the reply, with those that are left out.
    pub(crate) received: usize,
    /// Entries whose names no path can contain.
    pub(crate) unnamed: u64,
    pub(crate) last_cookie: Option<u64>,
    pub(crate) bad_name: Option<OpError>,
}

impl<H> Default for Collected<H> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            directories: Vec::new(),
            incomplete: Vec::new(),
            received: 0,
            unnamed: 0,
            last_cookie: None,
            bad_name: None,
        }
    }
}

impl<H: Copy> Collected<H> {
    /// Adds an entry; `attributes` are whether it is a directory, and its size.
    pub(crate) fn add(
        &mut self,
        name: &[u8],
        cookie: u64,
        attributes: Option<(bool, Option<u64>)>,
        handle: Option<H>,
        guard: &ListingGuard,
    ) {
        self.received += 1;
        self.last_cookie = Some(cookie);
        let Ok(name) = std::str::from_utf8(name) else {
            self.unnamed += 1;
            return;
        };
        if matches!(name, "." | "..") {
            return;
        }
        if let Err(error) = guard.check_name(name, &['/']) {
            self.bad_name.get_or_insert(error);
            return;
        }
        let index = self.entries.len();
        let (directory, size) = attributes.unwrap_or((false, None));
        match (attributes, handle) {
            (None, _) => self.incomplete.push(index),
            (Some(_), Some(handle)) if directory => self.directories.push((index, handle)),
            _ => {}
        }
        self.entries.push(Entry { name: name.to_owned(), directory, size });
    }

    /// Keeps the handles of the directories for the walk to them.
    pub(crate) fn keep_directories(&self, parent: &str, known: &mut Directories<H>) {
        for (index, handle) in &self.directories {
            let name = &self.entries[*index].name;
            let path = if parent.is_empty() { name.clone() } else { format!("{parent}/{name}") };
            known.insert(&path, *handle);
        }
    }
}
