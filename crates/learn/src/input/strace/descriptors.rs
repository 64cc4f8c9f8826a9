//! Open files of processes.

use std::collections::HashMap;

/// Most open files of all processes. Beyond them, calls on further ones are left out.
const MAX_OPEN: usize = 1 << 20;

/// An open file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Open {
    pub(super) file: u32,
    /// Path, for names relative to it; empty for a file.
    pub(super) path: Vec<u8>,
    /// Where the next read or write without an offset begins.
    pub(super) position: u64,
    pub(super) append: bool,
    /// Writes return when the data is on stable storage.
    pub(super) synchronous: bool,
    pub(super) directory: bool,
    /// A part of the directory was read.
    pub(super) listed: bool,
}

/// The descriptors of processes. Threads share those of their process.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    /// The process of a thread.
    owners: HashMap<u32, u32>,
    open: HashMap<u32, HashMap<u64, Open>>,
    /// Open files of all processes.
    count: usize,
    directories: HashMap<u32, Vec<u8>>,
}

impl Descriptors {
    /// The process whose descriptors a thread uses.
    pub(super) fn owner(&self, thread: u32) -> u32 {
        self.owners.get(&thread).copied().unwrap_or(thread)
    }

    /// A thread or process begins.
    pub(super) fn started(&mut self, parent: u32, child: u32, shares: bool) {
        let owner = self.owner(parent);
        if shares {
            self.owners.insert(child, owner);
            return;
        }
        self.ended(child);
        for (descriptor, open) in self.open.get(&owner).cloned().unwrap_or_default() {
            self.put(child, descriptor, open);
        }
        if let Some(directory) = self.directories.get(&owner).cloned() {
            self.directories.insert(child, directory);
        }
    }

    /// A thread or process ends. A process takes its descriptors with it, a thread does not.
    pub(super) fn ended(&mut self, thread: u32) {
        if self.owners.remove(&thread).is_none() {
            self.count -= self.open.remove(&thread).map_or(0, |open| open.len());
            self.directories.remove(&thread);
        }
    }

    pub(super) fn put(&mut self, process: u32, descriptor: u64, open: Open) {
        if self.count < MAX_OPEN {
            let earlier = self.open.entry(process).or_default().insert(descriptor, open);
            self.count += usize::from(earlier.is_none());
        }
    }

    pub(super) fn get(&mut self, process: u32, descriptor: u64) -> Option<&mut Open> {
        self.open.get_mut(&process)?.get_mut(&descriptor)
    }

    pub(super) fn take(&mut self, process: u32, descriptor: u64) -> Option<Open> {
        let open = self.open.get_mut(&process)?.remove(&descriptor);
        self.count -= usize::from(open.is_some());
        open
    }

    /// The working directory; empty where it is not known.
    pub(super) fn directory(&self, process: u32) -> &[u8] {
        self.directories.get(&process).map_or(&[], Vec::as_slice)
    }

    pub(super) fn enter(&mut self, process: u32, directory: Vec<u8>) {
        self.directories.insert(process, directory);
    }
}
