//! The time of a linear search: how many entries the directories of a device have.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{NodeId, Volume};

/// Entries of a page of a listing.
const PAGE: usize = 1024;

/// Counts the entries of directories. A directory is listed once, when it is first searched; from then on its changes
/// are counted. Changes that do not pass through the device are not seen.
#[derive(Debug, Default)]
pub(super) struct EntryCounts {
    counts: Mutex<HashMap<NodeId, u64>>,
}

impl EntryCounts {
    fn lock(&self) -> MutexGuard<'_, HashMap<NodeId, u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of entries of a directory; 0 for one that cannot be listed.
    pub(super) fn count(&self, volume: &impl Volume, directory: NodeId) -> u64 {
        // The lock is held while the directory is listed, so that no change is counted twice.
        let mut counts = self.lock();
        *counts.entry(directory).or_insert_with(|| listed(volume, directory))
    }

    /// Counts an entry that a directory has gained.
    pub(super) fn added(&self, directory: NodeId) {
        if let Some(count) = self.lock().get_mut(&directory) {
            *count += 1;
        }
    }

    /// Counts an entry that a directory has lost.
    pub(super) fn removed(&self, directory: NodeId) {
        if let Some(count) = self.lock().get_mut(&directory) {
            *count = count.saturating_sub(1);
        }
    }

    /// Drops the count of a directory that no longer exists.
    pub(super) fn forget(&self, directory: NodeId) {
        self.lock().remove(&directory);
    }
}

fn listed(volume: &impl Volume, directory: NodeId) -> u64 {
    let mut cookie = 0;
    let mut count = 0;
    while let Ok(page) = volume.list(directory, cookie, PAGE) {
        let Some(last) = page.last() else { break };
        cookie = last.cookie;
        count += page.len() as u64;
    }
    count
}
