//! A volume that rejects every change.

use std::sync::Arc;

use crate::{
    Attributes, DirectoryEntry, DosAttributes, FileRange, ListedIn, NodeId, PersistentId, SeekTarget,
    SetAttributes, StoredData, Volume, VolumeError, VolumeResult, VolumeSpace,
};

/// A read-only view of a volume.
pub(crate) struct ReadOnlyVolume(Arc<dyn Volume>);

impl ReadOnlyVolume {
    /// Makes `volume` read-only.
    pub(crate) fn new(volume: Arc<dyn Volume>) -> Self {
        Self(volume)
    }
}

impl Volume for ReadOnlyVolume {
    fn attributes(&self, node: NodeId) -> VolumeResult<Attributes> {
        self.0.attributes(node)
    }

    fn lookup(&self, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.0.lookup(directory, name)
    }

    fn lookup_any_case(&self, directory: NodeId, name: &str) -> VolumeResult<(String, Attributes)> {
        self.0.lookup_any_case(directory, name)
    }

    fn parent(&self, directory: NodeId) -> VolumeResult<NodeId> {
        self.0.parent(directory)
    }

    fn listed_in(&self, node: NodeId) -> ListedIn {
        self.0.listed_in(node)
    }

    fn place(&self, node: NodeId) -> VolumeResult<(NodeId, String)> {
        self.0.place(node)
    }

    fn create(&self, _directory: NodeId, _name: &str, _mode: u32) -> VolumeResult<Attributes> {
        Err(VolumeError::ReadOnly)
    }

    fn make_directory(&self, _directory: NodeId, _name: &str, _mode: u32) -> VolumeResult<Attributes> {
        Err(VolumeError::ReadOnly)
    }

    fn may_remove(&self, _directory: NodeId) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn remove(&self, _directory: NodeId, _name: &str) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn remove_directory(&self, _directory: NodeId, _name: &str) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn rename(&self, _from: NodeId, _name: &str, _to: NodeId, _new_name: &str) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn set_attributes(&self, _node: NodeId, _change: &SetAttributes) -> VolumeResult<Attributes> {
        Err(VolumeError::ReadOnly)
    }

    fn dos_attributes(&self, node: NodeId) -> VolumeResult<DosAttributes> {
        self.0.dos_attributes(node)
    }

    fn set_dos_attributes(&self, _node: NodeId, _attributes: &DosAttributes) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn extended_attributes(&self, node: NodeId) -> VolumeResult<Vec<(String, Vec<u8>)>> {
        self.0.extended_attributes(node)
    }

    fn set_extended_attribute(&self, _node: NodeId, _name: &str, _value: &[u8]) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn streams(&self, node: NodeId) -> VolumeResult<Vec<(String, Attributes)>> {
        self.0.streams(node)
    }

    fn create_stream(&self, _node: NodeId, _name: &str) -> VolumeResult<Attributes> {
        Err(VolumeError::ReadOnly)
    }

    fn remove_stream(&self, _node: NodeId, _name: &str) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn rename_stream(&self, _node: NodeId, _name: &str, _new_name: &str) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn descriptor(&self, node: NodeId) -> VolumeResult<Option<Vec<u8>>> {
        self.0.descriptor(node)
    }

    fn set_descriptor(&self, _node: NodeId, _descriptor: &[u8]) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn list(&self, directory: NodeId, cookie: u64, limit: usize) -> VolumeResult<Vec<DirectoryEntry>> {
        self.0.list(directory, cookie, limit)
    }

    fn read(&self, file: NodeId, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize> {
        self.0.read(file, offset, buffer)
    }

    fn read_stored(&self, file: NodeId, offset: u64, len: usize) -> VolumeResult<Option<StoredData>> {
        self.0.read_stored(file, offset, len)
    }

    fn write(&self, _file: NodeId, _offset: u64, _data: &[u8], _durable: bool) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn commit(&self, file: NodeId) -> VolumeResult<()> {
        self.0.commit(file)
    }

    fn make_link(&self, _directory: NodeId, _name: &str, _target: &[u8]) -> VolumeResult<Attributes> {
        Err(VolumeError::ReadOnly)
    }

    fn read_link(&self, link: NodeId) -> VolumeResult<Vec<u8>> {
        self.0.read_link(link)
    }

    fn add_name(&self, _file: NodeId, _directory: NodeId, _name: &str) -> VolumeResult<Attributes> {
        Err(VolumeError::ReadOnly)
    }

    fn seek(&self, file: NodeId, offset: u64, target: SeekTarget) -> VolumeResult<Option<u64>> {
        self.0.seek(file, offset, target)
    }

    fn allocate(&self, _file: NodeId, _offset: u64, _len: u64) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn deallocate(&self, _file: NodeId, _offset: u64, _len: u64) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn copy(&self, _from: FileRange, _to: FileRange, _len: u64) -> VolumeResult<u64> {
        Err(VolumeError::ReadOnly)
    }

    fn clone_range(&self, _from: FileRange, _to: FileRange, _len: u64) -> VolumeResult<()> {
        Err(VolumeError::ReadOnly)
    }

    fn persistent_id(&self, node: NodeId) -> Option<PersistentId> {
        self.0.persistent_id(node)
    }

    fn find_persistent(&self, id: &PersistentId) -> VolumeResult<NodeId> {
        self.0.find_persistent(id)
    }

    fn space(&self) -> VolumeResult<VolumeSpace> {
        self.0.space()
    }

    fn never_blocks(&self) -> bool {
        self.0.never_blocks()
    }
}
