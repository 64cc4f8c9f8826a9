//! A volume that now and then returns a block that is not the one that was written.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use sharebench_server::{
    Attributes, DirectoryEntry, MemoryVolume, NodeId, SetAttributes, Volume, VolumeResult, VolumeSpace,
};

/// Every such read is a lie, where one can be told.
const LIES: u64 = 5;

/// What is wrong with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lie {
    /// It is what was there before the last write.
    Stale,
    /// It is empty.
    Zero,
    /// It is moved by a sector.
    Shifted,
}

/// A volume in memory that lies in every fifth read, and counts its lies.
pub(super) struct LyingVolume {
    inner: MemoryVolume,
    lie: Lie,
    reads: AtomicU64,
    lies: AtomicU64,
    /// What each written range held before.
    before: Mutex<BTreeMap<(NodeId, u64), Vec<u8>>>,
}

impl LyingVolume {
    pub fn new(inner: MemoryVolume, lie: Lie) -> Self {
        Self { inner, lie, reads: AtomicU64::new(0), lies: AtomicU64::new(0), before: Mutex::default() }
    }

    /// Lies told so far.
    pub fn lies(&self) -> u64 {
        self.lies.load(Ordering::Relaxed)
    }

    fn spoil(&self, file: NodeId, offset: u64, content: &mut [u8]) -> bool {
        match self.lie {
            Lie::Zero => content.fill(0),
            Lie::Shifted => content.rotate_left(512.min(content.len() / 2)),
            Lie::Stale => {
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

impl Volume for LyingVolume {
    fn read(&self, file: NodeId, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize> {
        let count = self.inner.read(file, offset, buffer)?;
        let number = self.reads.fetch_add(1, Ordering::Relaxed);
        if count > 0 && number.is_multiple_of(LIES) && self.spoil(file, offset, &mut buffer[..count]) {
            self.lies.fetch_add(1, Ordering::Relaxed);
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
