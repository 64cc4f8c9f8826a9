//! A volume that sometimes returns a wrong block.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use sharebench_server::{
    Attributes, DirectoryEntry, MemoryVolume, NodeId, SetAttributes, Volume, VolumeResult, VolumeSpace,
};

/// One read of this many returns a wrong block.
const CORRUPTION_INTERVAL: u64 = 5;

/// Content of a wrong block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Corruption {
    /// The content before the last write.
    Stale,
    /// Zeros.
    Zero,
    /// The content shifted by a sector.
    Shifted,
}

/// A volume in memory that corrupts every fifth read, and counts these reads.
pub(super) struct CorruptingVolume {
    inner: MemoryVolume,
    corruption: Corruption,
    reads: AtomicU64,
    corrupted: AtomicU64,
    /// Content of each written range before the last write.
    before: Mutex<BTreeMap<(NodeId, u64), Vec<u8>>>,
}

impl CorruptingVolume {
    pub fn new(inner: MemoryVolume, corruption: Corruption) -> Self {
        Self {
            inner,
            corruption,
            reads: AtomicU64::new(0),
            corrupted: AtomicU64::new(0),
            before: Mutex::default(),
        }
    }

    /// Returns the number of wrong blocks so far.
    pub fn corrupted_reads(&self) -> u64 {
        self.corrupted.load(Ordering::Relaxed)
    }

    fn corrupt(&self, file: NodeId, offset: u64, content: &mut [u8]) -> bool {
        match self.corruption {
            Corruption::Zero => content.fill(0),
            Corruption::Shifted => content.rotate_left(512.min(content.len() / 2)),
            Corruption::Stale => {
                let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
                match before.get(&(file, offset)) {
                    Some(old) if old.len() == content.len() && old != content => content.copy_from_slice(old),
                    _ => return false,
                }
            }
        }
        true
    }
}

impl Volume for CorruptingVolume {
    fn read(&self, file: NodeId, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize> {
        let count = self.inner.read(file, offset, buffer)?;
        let number = self.reads.fetch_add(1, Ordering::Relaxed);
        if count > 0
            && number.is_multiple_of(CORRUPTION_INTERVAL)
            && self.corrupt(file, offset, &mut buffer[..count])
        {
            self.corrupted.fetch_add(1, Ordering::Relaxed);
        }
        Ok(count)
    }

    fn write(&self, file: NodeId, offset: u64, data: &[u8], durable: bool) -> VolumeResult<()> {
        let mut old = vec![0; data.len()];
        let count = self.inner.read(file, offset, &mut old)?;
        old.truncate(count);
        self.inner.write(file, offset, data, durable)?;
        if count == data.len() {
            self.before.lock().unwrap_or_else(PoisonError::into_inner).insert((file, offset), old);
        }
        Ok(())
    }

    fn attributes(&self, node: NodeId) -> VolumeResult<Attributes> {
        self.inner.attributes(node)
    }

    fn lookup(&self, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.inner.lookup(directory, name)
    }

    fn parent(&self, directory: NodeId) -> VolumeResult<NodeId> {
        self.inner.parent(directory)
    }

    fn create(&self, directory: NodeId, name: &str, mode: u32) -> VolumeResult<Attributes> {
        self.inner.create(directory, name, mode)
    }

    fn make_directory(&self, directory: NodeId, name: &str, mode: u32) -> VolumeResult<Attributes> {
        self.inner.make_directory(directory, name, mode)
    }

    fn remove(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        self.inner.remove(directory, name)
    }

    fn remove_directory(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        self.inner.remove_directory(directory, name)
    }

    fn rename(&self, from: NodeId, name: &str, to: NodeId, new_name: &str) -> VolumeResult<()> {
        self.inner.rename(from, name, to, new_name)
    }

    fn set_attributes(&self, node: NodeId, change: &SetAttributes) -> VolumeResult<Attributes> {
        self.inner.set_attributes(node, change)
    }

    fn list(&self, directory: NodeId, cookie: u64, limit: usize) -> VolumeResult<Vec<DirectoryEntry>> {
        self.inner.list(directory, cookie, limit)
    }

    fn commit(&self, file: NodeId) -> VolumeResult<()> {
        self.inner.commit(file)
    }

    fn space(&self) -> VolumeResult<VolumeSpace> {
        self.inner.space()
    }

    fn never_blocks(&self) -> bool {
        self.inner.never_blocks()
    }
}
