//! Open files of processes.

use std::collections::HashMap;

/// Most open files of all processes. Beyond them, calls on further ones are left out.
const MAX_OPEN: usize = 1 << 20;

/// An open file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

/// The descriptors of processes. Threads share those of their process.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    /// The process of a thread.
    owners: HashMap<u32, u32>,
    open: HashMap<(u32, u64), Open>,
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
        self.owners.remove(&child);
        let copies: Vec<(u64, Open)> = self
            .open
            .iter()
            .filter(|((process, _), _)| *process == owner)
            .map(|((_, descriptor), open)| (*descriptor, open.clone()))
            .collect();
        for (descriptor, open) in copies {
            self.put(child, descriptor, open);
        }
        if let Some(directory) = self.directories.get(&owner).cloned() {
            self.directories.insert(child, directory);
        }
    }

    pub(super) fn put(&mut self, process: u32, descriptor: u64, open: Open) {
        if self.open.len() < MAX_OPEN {
            self.open.insert((process, descriptor), open);
        }
    }

    pub(super) fn get(&mut self, process: u32, descriptor: u64) -> Option<&mut Open> {
        self.open.get_mut(&(process, descriptor))
    }

    pub(super) fn take(&mut self, process: u32, descriptor: u64) -> Option<Open> {
        self.open.remove(&(process, descriptor))
    }

    /// The working directory; empty where it is not known.
    pub(super) fn directory(&self, process: u32) -> &[u8] {
        self.directories.get(&process).map_or(&[], Vec::as_slice)
    }

    pub(super) fn enter(&mut self, process: u32, directory: Vec<u8>) {
        self.directories.insert(process, directory);
    }
}
