//! The view of a volume that one front end has: with or without symbolic links, read-only, and with a report of every
//! change.

use std::sync::Arc;

use crate::volume::{FileRange, PersistentId, SeekTarget};
use crate::{
    Attributes, ChangeReports, DirectoryEntry, DosAttributes, ListedIn, NodeId, SetAttributes, StoredData,
    Volume, VolumeError, VolumeResult, VolumeSpace,
};

/// A view of a volume, which reports what is changed through it.
///
/// Without links, symbolic links are neither shown nor changed, for clients that cannot follow them, or would follow them
/// on the server. Their names stay reserved.
pub(crate) struct VolumeView {
    inner: Arc<dyn Volume>,
    links: bool,
    read_only: bool,
    reports: Vec<ChangeReports>,
}

impl VolumeView {
    /// A view with or without symbolic links. Changes through it go to each of `reports`.
    pub(crate) fn new(inner: &Arc<dyn Volume>, links: bool, reports: Vec<ChangeReports>) -> Self {
        Self { inner: Arc::clone(inner), links, read_only: false, reports }
    }

    /// A view that rejects every change.
    pub(crate) fn read_only(inner: Arc<dyn Volume>) -> Self {
        Self { inner, links: true, read_only: true, reports: Vec::new() }
    }

    fn shown(&self, found: Attributes) -> VolumeResult<Attributes> {
        if found.link && !self.links { Err(VolumeError::Denied) } else { Ok(found) }
    }

    /// The object of a name that is about to be replaced, if there is one.
    fn replaced(&self, directory: NodeId, name: &str) -> VolumeResult<Option<Attributes>> {
        match self.lookup(directory, name) {
            Ok(found) => Ok(Some(found)),
            Err(VolumeError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn check_writable(&self) -> VolumeResult<()> {
        if self.read_only { Err(VolumeError::ReadOnly) } else { Ok(()) }
    }

    /// Changes a node, and reports the change. One that failed may have been made in part.
    #[inline]
    fn node<T>(&self, node: NodeId, change: impl FnOnce() -> VolumeResult<T>) -> VolumeResult<T> {
        self.check_writable()?;
        let changed = change();
        self.note_node(node);
        changed
    }

    /// Changes the names of a directory, and reports the change.
    fn names<T>(&self, directory: NodeId, change: impl FnOnce() -> VolumeResult<T>) -> VolumeResult<T> {
        self.check_writable()?;
        let changed = change()?;
        self.note_names(directory);
        Ok(changed)
    }

    #[inline]
    fn note_node(&self, node: NodeId) {
        for reports in &self.reports {
            reports.node_changed(node);
        }
    }

    fn note_names(&self, directory: NodeId) {
        for reports in &self.reports {
            reports.names_changed(directory);
        }
    }
}

impl Volume for VolumeView {
    fn attributes(&self, node: NodeId) -> VolumeResult<Attributes> {
        self.inner.attributes(node)
    }

    fn lookup(&self, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.shown(self.inner.lookup(directory, name)?)
    }

    fn lookup_any_case(&self, directory: NodeId, name: &str) -> VolumeResult<(String, Attributes)> {
        let (stored, found) = self.inner.lookup_any_case(directory, name)?;
        Ok((stored, self.shown(found)?))
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
        self.names(directory, || self.inner.create(directory, name, mode))
    }

    fn make_directory(&self, directory: NodeId, name: &str, mode: u32) -> VolumeResult<Attributes> {
        self.names(directory, || self.inner.make_directory(directory, name, mode))
    }

    fn may_remove(&self, directory: NodeId) -> VolumeResult<()> {
        self.check_writable()?;
        self.inner.may_remove(directory)
    }

    fn remove(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        self.check_writable()?;
        let removed = self.lookup(directory, name)?;
        self.names(directory, || self.inner.remove(directory, name))?;
        self.note_node(removed.node);
        Ok(())
    }

    fn remove_directory(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        self.check_writable()?;
        let removed = self.lookup(directory, name)?;
        self.names(directory, || self.inner.remove_directory(directory, name))?;
        self.note_node(removed.node);
        Ok(())
    }

    fn rename(&self, from: NodeId, name: &str, to: NodeId, new_name: &str) -> VolumeResult<()> {
        self.check_writable()?;
        let moved = self.lookup(from, name)?;
        let replaced = self.replaced(to, new_name)?;
        self.names(from, || self.inner.rename(from, name, to, new_name))?;
        if to != from {
            self.note_names(to);
        }
        self.note_node(moved.node);
        if let Some(replaced) = replaced {
            self.note_node(replaced.node);
        }
        Ok(())
    }

    fn set_attributes(&self, node: NodeId, change: &SetAttributes) -> VolumeResult<Attributes> {
        self.node(node, || self.inner.set_attributes(node, change))
    }

    fn dos_attributes(&self, node: NodeId) -> VolumeResult<DosAttributes> {
        self.inner.dos_attributes(node)
    }

    fn set_dos_attributes(&self, node: NodeId, attributes: &DosAttributes) -> VolumeResult<()> {
        self.node(node, || self.inner.set_dos_attributes(node, attributes))
    }

    fn extended_attributes(&self, node: NodeId) -> VolumeResult<Vec<(String, Vec<u8>)>> {
        self.inner.extended_attributes(node)
    }

    fn set_extended_attribute(&self, node: NodeId, name: &str, value: &[u8]) -> VolumeResult<()> {
        self.node(node, || self.inner.set_extended_attribute(node, name, value))
    }

    fn streams(&self, node: NodeId) -> VolumeResult<Vec<(String, Attributes)>> {
        self.inner.streams(node)
    }

    fn create_stream(&self, node: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.node(node, || self.inner.create_stream(node, name))
    }

    fn remove_stream(&self, node: NodeId, name: &str) -> VolumeResult<()> {
        self.node(node, || self.inner.remove_stream(node, name))
    }

    fn rename_stream(&self, node: NodeId, name: &str, new_name: &str) -> VolumeResult<()> {
        self.node(node, || self.inner.rename_stream(node, name, new_name))
    }

    fn descriptor(&self, node: NodeId) -> VolumeResult<Option<Vec<u8>>> {
        self.inner.descriptor(node)
    }

    fn set_descriptor(&self, node: NodeId, descriptor: &[u8]) -> VolumeResult<()> {
        self.node(node, || self.inner.set_descriptor(node, descriptor))
    }

    fn list(&self, directory: NodeId, cookie: u64, limit: usize) -> VolumeResult<Vec<DirectoryEntry>> {
        let mut cookie = cookie;
        loop {
            let mut entries = self.inner.list(directory, cookie, limit)?;
            // A page with links only must not look like the end of the directory.
            let Some(last) = entries.last() else { return Ok(entries) };
            cookie = last.cookie;
            entries.retain(|entry| self.links || !entry.attributes.link);
            if !entries.is_empty() {
                return Ok(entries);
            }
        }
    }

    fn read(&self, file: NodeId, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize> {
        self.inner.read(file, offset, buffer)
    }

    fn read_stored(&self, file: NodeId, offset: u64, len: usize) -> VolumeResult<Option<StoredData>> {
        self.inner.read_stored(file, offset, len)
    }

    fn write(&self, file: NodeId, offset: u64, data: &[u8], durable: bool) -> VolumeResult<()> {
        self.node(file, || self.inner.write(file, offset, data, durable))
    }

    fn commit(&self, file: NodeId) -> VolumeResult<()> {
        self.inner.commit(file)
    }

    fn make_link(&self, directory: NodeId, name: &str, target: &[u8]) -> VolumeResult<Attributes> {
        if !self.links {
            return Err(VolumeError::Unsupported);
        }
        self.names(directory, || self.inner.make_link(directory, name, target))
    }

    fn read_link(&self, link: NodeId) -> VolumeResult<Vec<u8>> {
        if self.links { self.inner.read_link(link) } else { Err(VolumeError::Unsupported) }
    }

    fn add_name(&self, file: NodeId, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.check_writable()?;
        self.shown(self.inner.attributes(file)?)?;
        let added = self.names(directory, || self.inner.add_name(file, directory, name));
        self.note_node(file);
        added
    }

    fn seek(&self, file: NodeId, offset: u64, target: SeekTarget) -> VolumeResult<Option<u64>> {
        self.inner.seek(file, offset, target)
    }

    fn allocate(&self, file: NodeId, offset: u64, len: u64) -> VolumeResult<()> {
        self.node(file, || self.inner.allocate(file, offset, len))
    }

    fn deallocate(&self, file: NodeId, offset: u64, len: u64) -> VolumeResult<()> {
        self.node(file, || self.inner.deallocate(file, offset, len))
    }

    fn copy(&self, from: FileRange, to: FileRange, len: u64) -> VolumeResult<u64> {
        self.node(to.file, || self.inner.copy(from, to, len))
    }

    fn clone_range(&self, from: FileRange, to: FileRange, len: u64) -> VolumeResult<()> {
        self.node(to.file, || self.inner.clone_range(from, to, len))
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
        self.inner.never_blocks()
    }
}
