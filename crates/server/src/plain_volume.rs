//! The view of a volume for front ends other than NFSv4: without symbolic links, and with a report of every change.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::{
    Attributes, DirectoryEntry, DosAttributes, NodeId, SetAttributes, Volume, VolumeError, VolumeResult,
    VolumeSpace,
};

/// Where front ends report files that they have changed, for a server whose clients cache them.
#[derive(Clone, Default)]
pub struct ChangeReports(Arc<OnceLock<Observer>>);

/// Learns of changed files.
type Observer = Box<dyn Fn(NodeId) + Send + Sync>;

impl ChangeReports {
    /// Calls this function with every file that is changed from now on. Only the first observer is kept.
    pub(crate) fn observe(&self, observer: impl Fn(NodeId) + Send + Sync + 'static) {
        let _ = self.0.set(Box::new(observer));
    }

    #[inline]
    fn report(&self, node: NodeId) {
        if let Some(observer) = self.0.get() {
            observer(node);
        }
    }
}

impl fmt::Debug for ChangeReports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChangeReports")
    }
}

/// A volume whose symbolic links are neither shown nor changed, for clients that cannot follow them, or would follow them
/// on the server. Their names stay reserved.
pub(crate) struct PlainVolume {
    inner: Arc<dyn Volume>,
    changes: ChangeReports,
}

impl PlainVolume {
    /// The view of `inner` that reports changes to `changes`.
    pub(crate) fn new(inner: Arc<dyn Volume>, changes: ChangeReports) -> Self {
        Self { inner, changes }
    }

    /// The object of a name, unless it is a link.
    fn plain(&self, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        let found = self.inner.lookup(directory, name)?;
        if found.link { Err(VolumeError::Denied) } else { Ok(found) }
    }

    /// The object of a name that is about to be replaced, if there is one.
    fn replaced(&self, directory: NodeId, name: &str) -> VolumeResult<Option<Attributes>> {
        match self.plain(directory, name) {
            Ok(found) => Ok(Some(found)),
            Err(VolumeError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Volume for PlainVolume {
    fn attributes(&self, node: NodeId) -> VolumeResult<Attributes> {
        self.inner.attributes(node)
    }

    fn lookup(&self, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.plain(directory, name)
    }

    fn lookup_any_case(&self, directory: NodeId, name: &str) -> VolumeResult<(String, Attributes)> {
        let (stored, found) = self.inner.lookup_any_case(directory, name)?;
        if found.link { Err(VolumeError::Denied) } else { Ok((stored, found)) }
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
        let removed = self.plain(directory, name)?;
        self.inner.remove(directory, name)?;
        self.changes.report(removed.node);
        Ok(())
    }

    fn remove_directory(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        self.plain(directory, name)?;
        self.inner.remove_directory(directory, name)
    }

    fn rename(&self, from: NodeId, name: &str, to: NodeId, new_name: &str) -> VolumeResult<()> {
        let moved = self.plain(from, name)?;
        let replaced = self.replaced(to, new_name)?;
        self.inner.rename(from, name, to, new_name)?;
        self.changes.report(moved.node);
        if let Some(replaced) = replaced {
            self.changes.report(replaced.node);
        }
        Ok(())
    }

    fn set_attributes(&self, node: NodeId, change: &SetAttributes) -> VolumeResult<Attributes> {
        let changed = self.inner.set_attributes(node, change)?;
        self.changes.report(node);
        Ok(changed)
    }

    fn dos_attributes(&self, node: NodeId) -> VolumeResult<DosAttributes> {
        self.inner.dos_attributes(node)
    }

    fn set_dos_attributes(&self, node: NodeId, attributes: &DosAttributes) -> VolumeResult<()> {
        self.inner.set_dos_attributes(node, attributes)?;
        self.changes.report(node);
        Ok(())
    }

    fn list(&self, directory: NodeId, cookie: u64, limit: usize) -> VolumeResult<Vec<DirectoryEntry>> {
        let mut cookie = cookie;
        loop {
            let mut entries = self.inner.list(directory, cookie, limit)?;
            // A page with links only must not look like the end of the directory.
            let Some(last) = entries.last() else { return Ok(entries) };
            cookie = last.cookie;
            entries.retain(|entry| !entry.attributes.link);
            if !entries.is_empty() {
                return Ok(entries);
            }
        }
    }

    fn read(&self, file: NodeId, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize> {
        self.inner.read(file, offset, buffer)
    }

    fn write(&self, file: NodeId, offset: u64, data: &[u8], durable: bool) -> VolumeResult<()> {
        self.inner.write(file, offset, data, durable)?;
        self.changes.report(file);
        Ok(())
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
