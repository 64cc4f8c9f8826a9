//! The volume trait of the device model: the work that each call causes.

use crate::volume::device::cache::{BlockCache, CacheLookup};
use crate::volume::device::{DeviceRequest, DeviceVolume, Work, WritePolicy};
use crate::{
    Attributes, DirectoryEntry, DosAttributes, FileRange, ListedIn, NodeId, PersistentId, SeekTarget,
    SetAttributes, Volume, VolumeResult, VolumeSpace,
};

/// Work of a read of `len` bytes: the device is needed for a miss, and for evicted dirty blocks.
fn read_work(cache: &BlockCache, lookup: CacheLookup, len: u64) -> Work {
    let miss = u64::from(!lookup.hit);
    write_back_work(cache, Work { hit: lookup.hit, operations: miss, bytes: miss * len }, lookup)
}

/// Work of a write of `len` bytes, to the device or into the cache.
fn write_work(cache: &BlockCache, lookup: CacheLookup, len: u64, through: bool) -> Work {
    let paid = u64::from(through);
    write_back_work(cache, Work { hit: !through, operations: paid, bytes: paid * len }, lookup)
}

/// Adds one operation that writes the evicted dirty blocks.
fn write_back_work(cache: &BlockCache, work: Work, lookup: CacheLookup) -> Work {
    let evictions = u64::from(lookup.evicted_dirty > 0);
    Work {
        hit: work.hit && evictions == 0,
        operations: work.operations + evictions,
        bytes: work.bytes + lookup.evicted_dirty * cache.block_bytes(),
    }
}

impl<V: Volume> Volume for DeviceVolume<V> {
    fn attributes(&self, node: NodeId) -> VolumeResult<Attributes> {
        self.inner.attributes(node)
    }

    fn lookup(&self, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.search(directory);
        self.inner.lookup(directory, name)
    }

    fn lookup_any_case(&self, directory: NodeId, name: &str) -> VolumeResult<(String, Attributes)> {
        self.search(directory);
        self.inner.lookup_any_case(directory, name)
    }

    fn parent(&self, directory: NodeId) -> VolumeResult<NodeId> {
        self.inner.parent(directory)
    }

    fn listed_in(&self, node: NodeId) -> ListedIn {
        self.inner.listed_in(node)
    }

    fn place(&self, node: NodeId) -> VolumeResult<(NodeId, String)> {
        self.inner.place(node)
    }

    fn create(&self, directory: NodeId, name: &str, mode: u32) -> VolumeResult<Attributes> {
        self.search(directory);
        let created = self.inner.create(directory, name, mode)?;
        self.entries.added(directory);
        Ok(created)
    }

    fn make_directory(&self, directory: NodeId, name: &str, mode: u32) -> VolumeResult<Attributes> {
        self.search(directory);
        let made = self.inner.make_directory(directory, name, mode)?;
        self.entries.added(directory);
        Ok(made)
    }

    fn may_remove(&self, directory: NodeId) -> VolumeResult<()> {
        self.inner.may_remove(directory)
    }

    fn remove(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        self.search(directory);
        let removed = self.inner.lookup(directory, name)?.node;
        self.inner.remove(directory, name)?;
        self.entries.removed(directory);
        self.drop_blocks_if_deleted(removed);
        Ok(())
    }

    fn remove_directory(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        self.search(directory);
        let removed = self.inner.lookup(directory, name)?.node;
        self.inner.remove_directory(directory, name)?;
        self.entries.removed(directory);
        self.entries.forget(removed);
        Ok(())
    }

    fn rename(&self, from: NodeId, name: &str, to: NodeId, new_name: &str) -> VolumeResult<()> {
        self.search(to);
        let replaced = self.inner.lookup(to, new_name).ok();
        let renamed = self.inner.lookup(from, name).ok();
        self.inner.rename(from, name, to, new_name)?;
        match (replaced, renamed) {
            // Two names of one file: the rename does nothing.
            (Some(replaced), Some(renamed)) if replaced.node == renamed.node => {}
            (Some(replaced), _) => {
                self.entries.removed(from);
                self.entries.forget(replaced.node);
                self.drop_blocks_if_deleted(replaced.node);
            }
            (None, _) => {
                self.entries.removed(from);
                self.entries.added(to);
            }
        }
        Ok(())
    }

    fn set_attributes(&self, node: NodeId, change: &SetAttributes) -> VolumeResult<Attributes> {
        let attributes = self.inner.set_attributes(node, change)?;
        if let Some(size) = change.size {
            self.lock_device().cache.drop_after(node, size);
        }
        Ok(attributes)
    }

    fn dos_attributes(&self, node: NodeId) -> VolumeResult<DosAttributes> {
        self.inner.dos_attributes(node)
    }

    fn set_dos_attributes(&self, node: NodeId, attributes: &DosAttributes) -> VolumeResult<()> {
        self.inner.set_dos_attributes(node, attributes)
    }

    fn extended_attributes(&self, node: NodeId) -> VolumeResult<Vec<(String, Vec<u8>)>> {
        self.inner.extended_attributes(node)
    }

    fn set_extended_attribute(&self, node: NodeId, name: &str, value: &[u8]) -> VolumeResult<()> {
        self.inner.set_extended_attribute(node, name, value)
    }

    fn streams(&self, node: NodeId) -> VolumeResult<Vec<(String, Attributes)>> {
        self.inner.streams(node)
    }

    fn create_stream(&self, node: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.inner.create_stream(node, name)
    }

    fn remove_stream(&self, node: NodeId, name: &str) -> VolumeResult<()> {
        self.inner.remove_stream(node, name)
    }

    fn rename_stream(&self, node: NodeId, name: &str, new_name: &str) -> VolumeResult<()> {
        self.inner.rename_stream(node, name, new_name)
    }

    fn descriptor(&self, node: NodeId) -> VolumeResult<Option<Vec<u8>>> {
        self.inner.descriptor(node)
    }

    fn set_descriptor(&self, node: NodeId, descriptor: &[u8]) -> VolumeResult<()> {
        self.inner.set_descriptor(node, descriptor)
    }

    fn list(&self, directory: NodeId, cookie: u64, limit: usize) -> VolumeResult<Vec<DirectoryEntry>> {
        self.inner.list(directory, cookie, limit)
    }

    fn read(&self, file: NodeId, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize> {
        let count = self.inner.read(file, offset, buffer)?;
        let len = count as u64;
        self.serve(DeviceRequest::Read, file, offset, len, |cache| {
            let lookup = cache.use_range(file, offset, len, None);
            read_work(cache, lookup, len)
        });
        Ok(count)
    }

    fn write(&self, file: NodeId, offset: u64, data: &[u8], durable: bool) -> VolumeResult<()> {
        self.inner.write(file, offset, data, durable)?;
        let len = data.len() as u64;
        self.serve(DeviceRequest::Write, file, offset, len, |cache| {
            let through = durable || self.options.cache.writes == WritePolicy::Through || !cache.is_there();
            let lookup = cache.use_range(file, offset, len, Some(!through));
            write_work(cache, lookup, len, through)
        });
        Ok(())
    }

    fn commit(&self, file: NodeId) -> VolumeResult<()> {
        self.inner.commit(file)?;
        self.serve(DeviceRequest::Commit, file, 0, 0, |cache| {
            let dirty = cache.clean(file);
            Work { hit: dirty == 0, operations: u64::from(dirty > 0), bytes: dirty * cache.block_bytes() }
        });
        Ok(())
    }

    fn make_link(&self, directory: NodeId, name: &str, target: &[u8]) -> VolumeResult<Attributes> {
        self.search(directory);
        let made = self.inner.make_link(directory, name, target)?;
        self.entries.added(directory);
        Ok(made)
    }

    fn read_link(&self, link: NodeId) -> VolumeResult<Vec<u8>> {
        self.inner.read_link(link)
    }

    fn add_name(&self, file: NodeId, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.search(directory);
        let named = self.inner.add_name(file, directory, name)?;
        self.entries.added(directory);
        Ok(named)
    }

    fn seek(&self, file: NodeId, offset: u64, target: SeekTarget) -> VolumeResult<Option<u64>> {
        self.inner.seek(file, offset, target)
    }

    fn allocate(&self, file: NodeId, offset: u64, len: u64) -> VolumeResult<()> {
        self.inner.allocate(file, offset, len)
    }

    fn deallocate(&self, file: NodeId, offset: u64, len: u64) -> VolumeResult<()> {
        self.inner.deallocate(file, offset, len)
    }

    fn clone_range(&self, from: FileRange, to: FileRange, len: u64) -> VolumeResult<()> {
        self.inner.clone_range(from, to, len)
    }

    fn persistent_id(&self, node: NodeId) -> Option<PersistentId> {
        self.inner.persistent_id(node)
    }

    fn find_persistent(&self, id: &PersistentId) -> VolumeResult<NodeId> {
        self.inner.find_persistent(id)
    }

    fn space(&self) -> VolumeResult<VolumeSpace> {
        self.inner.space()
    }

    fn never_blocks(&self) -> bool {
        self.options.in_place
    }
}

impl<V: Volume> DeviceVolume<V> {
    /// Drops the blocks of a file without a name.
    fn drop_blocks_if_deleted(&self, node: NodeId) {
        if self.inner.attributes(node).is_err() {
            self.lock_device().cache.drop_after(node, 0);
        }
    }
}
