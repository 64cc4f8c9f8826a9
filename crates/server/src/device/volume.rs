//! The device behind the volume's trait: what each call asks of it.

use crate::device::cache::{BlockCache, Met};
use crate::device::{DeviceRequest, DeviceVolume, Work, WritePolicy};
use crate::{Attributes, DirectoryEntry, NodeId, SetAttributes, Volume, VolumeResult, VolumeSpace};

/// A read of `len` bytes: the device is needed for a miss, and for dirty blocks that have to leave.
fn read_work(cache: &BlockCache, met: Met, len: u64) -> Work {
    let miss = u64::from(!met.hit);
    write_back_work(cache, Work { hit: met.hit, operations: miss, bytes: miss * len }, met)
}

/// A write of `len` bytes, through to the device or into the cache.
fn write_work(cache: &BlockCache, met: Met, len: u64, through: bool) -> Work {
    let paid = u64::from(through);
    write_back_work(cache, Work { hit: !through, operations: paid, bytes: paid * len }, met)
}

/// The same, with the dirty blocks that had to leave written in one more operation.
fn write_back_work(cache: &BlockCache, work: Work, met: Met) -> Work {
    let leaving = u64::from(met.evicted_dirty > 0);
    Work {
        hit: work.hit && leaving == 0,
        operations: work.operations + leaving,
        bytes: work.bytes + met.evicted_dirty * cache.block_bytes(),
    }
}

impl<V: Volume> Volume for DeviceVolume<V> {
    fn attributes(&self, node: NodeId) -> VolumeResult<Attributes> {
        self.inner.attributes(node)
    }

    fn lookup(&self, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.inner.lookup(directory, name)
    }

    fn lookup_any_case(&self, directory: NodeId, name: &str) -> VolumeResult<(String, Attributes)> {
        self.inner.lookup_any_case(directory, name)
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

    fn may_remove(&self, directory: NodeId) -> VolumeResult<()> {
        self.inner.may_remove(directory)
    }

    fn remove(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        let removed = self.inner.lookup(directory, name)?.node;
        self.inner.remove(directory, name)?;
        self.forget_if_gone(removed);
        Ok(())
    }

    fn remove_directory(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        self.inner.remove_directory(directory, name)
    }

    fn rename(&self, from: NodeId, name: &str, to: NodeId, new_name: &str) -> VolumeResult<()> {
        let replaced = self.inner.lookup(to, new_name).ok();
        self.inner.rename(from, name, to, new_name)?;
        if let Some(replaced) = replaced {
            self.forget_if_gone(replaced.node);
        }
        Ok(())
    }

    fn set_attributes(&self, node: NodeId, change: &SetAttributes) -> VolumeResult<Attributes> {
        let attributes = self.inner.set_attributes(node, change)?;
        if let Some(size) = change.size {
            self.lock_device().cache.drop_behind(node, size);
        }
        Ok(attributes)
    }

    fn list(&self, directory: NodeId, cookie: u64, limit: usize) -> VolumeResult<Vec<DirectoryEntry>> {
        self.inner.list(directory, cookie, limit)
    }

    fn read(&self, file: NodeId, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize> {
        let count = self.inner.read(file, offset, buffer)?;
        let len = count as u64;
        self.serve(DeviceRequest::Read, (file, offset, len), |cache| {
            let met = cache.use_range(file, offset, len, None);
            read_work(cache, met, len)
        });
        Ok(count)
    }

    fn write(&self, file: NodeId, offset: u64, data: &[u8], durable: bool) -> VolumeResult<()> {
        self.inner.write(file, offset, data, durable)?;
        let len = data.len() as u64;
        self.serve(DeviceRequest::Write, (file, offset, len), |cache| {
            let through = durable || self.options.cache.writes == WritePolicy::Through || !cache.is_there();
            let met = cache.use_range(file, offset, len, Some(!through));
            write_work(cache, met, len, through)
        });
        Ok(())
    }

    fn commit(&self, file: NodeId) -> VolumeResult<()> {
        self.inner.commit(file)?;
        self.serve(DeviceRequest::Commit, (file, 0, 0), |cache| {
            let dirty = cache.clean(file);
            Work { hit: dirty == 0, operations: u64::from(dirty > 0), bytes: dirty * cache.block_bytes() }
        });
        Ok(())
    }

    fn space(&self) -> VolumeResult<VolumeSpace> {
        self.inner.space()
    }

    fn never_blocks(&self) -> bool {
        self.options.in_place
    }
}

impl<V: Volume> DeviceVolume<V> {
    /// Drops the blocks of a file that has no name any more.
    fn forget_if_gone(&self, node: NodeId) {
        if self.inner.attributes(node).is_err() {
            self.lock_device().cache.drop_behind(node, 0);
        }
    }
}
