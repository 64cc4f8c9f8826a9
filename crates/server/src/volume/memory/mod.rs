//! A volume in memory: the fastest storage that a server can have, with known content.

mod budget;
mod content;
mod extended_attributes;
mod names;
mod node;
mod streams;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::system::machine_memory;
use crate::volume::memory::budget::Budget;
use crate::volume::memory::content::{Content, NumberMap, read_lock, write_lock};
use crate::volume::memory::names::{Name, NamePair, Names};
use crate::volume::memory::node::{Directory, Node, NodeKind};
use crate::volume::name::{check_name, check_target};
use crate::{
    Attributes, DirectoryEntry, DosAttributes, FileRange, ListedIn, NodeId, ROOT, SeekTarget, SetAttributes,
    StoredData, Volume, VolumeError, VolumeResult, VolumeSpace,
};

/// Memory charged for each file or directory, in bytes: node, name, three index entries.
const NODE_BYTES: u64 = 1 << 10;

/// Number of parts of the node table, each with its own lock.
const SHARDS: usize = 64;

/// A tree of files in memory with a limit in bytes.
///
/// Concurrent reads of a file share its locks; a write excludes others only from the 64 KiB
/// pages that it writes. Names of one directory change one at a time; renames and removals of directories exclude each
/// other in the tree as a unit. Reading does not change the access time, so that reads do not contend for it.
///
/// ```
/// use sharebench_server::{MemoryVolume, ROOT, Volume};
/// # fn main() -> Result<(), sharebench_server::VolumeError> {
/// let volume = MemoryVolume::new(1 << 20);
/// let file = volume.create(ROOT, "hello", 0o644)?.node;
/// volume.write(file, 0, b"hello", false)?;
/// let mut buffer = [0; 16];
/// assert_eq!(volume.read(file, 1, &mut buffer)?, 4);
/// assert_eq!(&buffer[..4], b"ello");
/// # Ok(())
/// # }
/// ```
pub struct MemoryVolume {
    shards: [RwLock<NumberMap<Arc<Node>>>; SHARDS],
    next_id: AtomicU64,
    budget: Budget,
    /// Held while directories are moved or removed; see [`Self::rename`].
    moves: Mutex<()>,
}

impl MemoryVolume {
    /// An empty volume that uses up to `limit` bytes of memory.
    pub fn new(limit: u64) -> Self {
        let volume = Self {
            shards: std::array::from_fn(|_| RwLock::default()),
            next_id: AtomicU64::new(ROOT.0 + 1),
            budget: Budget::new(limit),
            moves: Mutex::new(()),
        };
        volume.add(new_directory(ROOT, ROOT, 0o777));
        volume
    }

    /// An empty volume that uses up to half of the machine's memory.
    pub fn with_half_of_memory() -> Self {
        Self::new(machine_memory() / 2)
    }

    fn shard(&self, id: NodeId) -> &RwLock<NumberMap<Arc<Node>>> {
        &self.shards[id.0 as usize % SHARDS]
    }

    fn node(&self, id: NodeId) -> VolumeResult<Arc<Node>> {
        if let Some(node) = read_lock(self.shard(id)).get(&id.0) {
            return Ok(Arc::clone(node));
        }
        let was_given = id.0 != 0 && id.0 < self.next_id.load(Ordering::Relaxed);
        Err(if was_given { VolumeError::Stale } else { VolumeError::NotFound })
    }

    /// A number that no other node has.
    fn new_number(&self) -> NodeId {
        NodeId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    fn add(&self, node: Node) -> Arc<Node> {
        let node = Arc::new(node);
        write_lock(self.shard(node.id)).insert(node.id.0, Arc::clone(&node));
        node
    }

    /// Removes a node without a name and frees its memory.
    fn remove_node(&self, node: NodeId) {
        let has_other_names = self.node(node).is_ok_and(|node| !node.drop_name());
        if has_other_names {
            // Each further name was charged like a node.
            self.budget.give(NODE_BYTES);
            return;
        }
        let removed = write_lock(self.shard(node)).remove(&node.0);
        if let Some(NodeKind::File(content)) = removed.as_ref().map(|node| &node.kind) {
            // Truncation cannot fail. A writer that still holds the node may charge it again; the charge for at most one
            // request then stays until the volume is dropped.
            let _ = content.set_size(0, &self.budget);
        }
        let streams = removed.as_ref().map(|node| std::mem::take(&mut *write_lock(&node.streams)));
        for (_, stream) in streams.into_iter().flatten() {
            self.remove_node(stream);
        }
        if let Some(node) = &removed {
            self.drop_extended(&std::mem::take(&mut *write_lock(&node.extended)));
        }
        let descriptor = removed.and_then(|node| write_lock(&node.descriptor).take());
        self.budget.give(NODE_BYTES + descriptor.map_or(0, |descriptor| descriptor.len() as u64));
    }

    fn lock_moves(&self) -> MutexGuard<'_, ()> {
        self.moves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(
        &self,
        directory: NodeId,
        name: &str,
        make: impl FnOnce(NodeId) -> Node,
    ) -> VolumeResult<Attributes> {
        check_name(name)?;
        let parent = self.node(directory)?;
        let mut names = write_lock(&parent.directory()?.names);
        free_name(&names, name)?;
        self.budget.take(NODE_BYTES)?;
        let id = self.new_number();
        let node = make(id);
        node.place_in(directory);
        let node = self.add(node);
        names.insert(name, id, matches!(node.kind, NodeKind::Directory(_)));
        drop(names);
        parent.touch();
        Ok(node.attributes())
    }

    fn find(&self, directory: NodeId, name: &str) -> VolumeResult<Name> {
        check_name(name)?;
        let parent = self.node(directory)?;
        let found = read_lock(&parent.directory()?.names).get(name);
        found.ok_or(VolumeError::NotFound)
    }

    /// True if `inner` is `outer` or is below it. The caller holds `moves`.
    fn lies_within(&self, inner: NodeId, outer: NodeId) -> VolumeResult<bool> {
        let mut at = inner;
        while at != outer {
            if at == ROOT {
                return Ok(false);
            }
            at = self.parent(at)?;
        }
        Ok(true)
    }

    /// Checks that `moved` may replace the object that `to` names, and returns that object.
    /// The caller holds `moves`.
    fn replaced(&self, moved: Name, to: NodeId, new_name: &str) -> VolumeResult<Option<Name>> {
        let old = match self.find(to, new_name) {
            Ok(old) if old.node == moved.node => return Ok(None),
            Ok(old) => old,
            Err(VolumeError::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        match (moved.directory, old.directory) {
            (false, true) => Err(VolumeError::IsDirectory),
            (true, false) => Err(VolumeError::NotDirectory),
            (false, false) => Ok(Some(old)),
            // Marked before the move, so that nothing is added to the directory that is about to be replaced.
            (true, true) => self.mark_removed(old.node).map(|()| Some(old)),
        }
    }

    /// Marks an empty directory as removed, so that nothing is added to it any more.
    fn mark_removed(&self, directory: NodeId) -> VolumeResult<()> {
        let node = self.node(directory)?;
        let mut names = write_lock(&node.directory()?.names);
        if !names.is_empty() {
            return Err(VolumeError::NotEmpty);
        }
        names.removed = true;
        Ok(())
    }

    /// Reverts [`Self::mark_removed`].
    fn unmark_removed(&self, name: Option<Name>) {
        let node = name.map(|name| self.node(name.node));
        if let Some(Ok(node)) = node
            && let NodeKind::Directory(directory) = &node.kind
        {
            write_lock(&directory.names).removed = false;
        }
    }
}

/// Checks that a name can be added.
fn free_name(names: &Names, name: &str) -> VolumeResult<()> {
    // A removal between the look-up and the lock of the names: a name added now would be lost with the directory.
    if names.removed {
        return Err(VolumeError::Stale);
    }
    if names.get(name).is_some() { Err(VolumeError::Exists) } else { Ok(()) }
}

fn new_directory(id: NodeId, parent: NodeId, mode: u32) -> Node {
    let directory = Directory { parent: AtomicU64::new(parent.0), names: RwLock::default() };
    Node::new(id, NodeKind::Directory(directory), mode)
}

impl Volume for MemoryVolume {
    fn attributes(&self, node: NodeId) -> VolumeResult<Attributes> {
        Ok(self.node(node)?.attributes())
    }

    fn lookup(&self, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.attributes(self.find(directory, name)?.node)
    }

    fn lookup_any_case(&self, directory: NodeId, name: &str) -> VolumeResult<(String, Attributes)> {
        check_name(name)?;
        let parent = self.node(directory)?;
        let found = read_lock(&parent.directory()?.names).get_folded(name);
        let (stored, found) = found.ok_or(VolumeError::NotFound)?;
        Ok((stored, self.attributes(found.node)?))
    }

    fn parent(&self, directory: NodeId) -> VolumeResult<NodeId> {
        let node = self.node(directory)?;
        Ok(NodeId(node.directory()?.parent.load(Ordering::Relaxed)))
    }

    fn listed_in(&self, node: NodeId) -> ListedIn {
        self.node(node).map_or(ListedIn::Nowhere, |node| node.listed_in())
    }

    fn place(&self, node: NodeId) -> VolumeResult<(NodeId, String)> {
        if node == ROOT {
            return Ok((ROOT, String::new()));
        }
        let ListedIn::Directory(home) = self.node(node)?.listed_in() else {
            return Err(VolumeError::Unsupported);
        };
        let parent = self.node(home)?;
        let name = read_lock(&parent.directory()?.names).name_of(node);
        name.map(|name| (home, name)).ok_or(VolumeError::NotFound)
    }

    fn create(&self, directory: NodeId, name: &str, mode: u32) -> VolumeResult<Attributes> {
        self.insert(directory, name, |id| Node::new(id, NodeKind::File(Content::default()), mode))
    }

    fn make_directory(&self, directory: NodeId, name: &str, mode: u32) -> VolumeResult<Attributes> {
        self.insert(directory, name, |id| new_directory(id, directory, mode))
    }

    fn remove(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        check_name(name)?;
        let parent = self.node(directory)?;
        let mut names = write_lock(&parent.directory()?.names);
        let found = names.get(name).ok_or(VolumeError::NotFound)?;
        if found.directory {
            return Err(VolumeError::IsDirectory);
        }
        names.remove(name);
        drop(names);
        parent.touch();
        self.remove_node(found.node);
        Ok(())
    }

    fn remove_directory(&self, directory: NodeId, name: &str) -> VolumeResult<()> {
        let _moves = self.lock_moves();
        let found = self.find(directory, name)?;
        if !found.directory {
            return Err(VolumeError::NotDirectory);
        }
        self.mark_removed(found.node)?;
        let parent = self.node(directory)?;
        write_lock(&parent.directory()?.names).remove(name);
        parent.touch();
        self.remove_node(found.node);
        Ok(())
    }

    fn rename(&self, from: NodeId, name: &str, to: NodeId, new_name: &str) -> VolumeResult<()> {
        check_name(new_name)?;
        // Only this call and the removal of directories lock more than one directory at a time, so that their mutual
        // exclusion replaces a lock order.
        let _moves = self.lock_moves();
        let moved = self.find(from, name)?;
        let source = self.node(from)?;
        let target = self.node(to)?;
        target.directory()?;
        if from == to && name == new_name {
            return Ok(());
        }
        // A directory moved below itself would become an unreachable cycle.
        if moved.directory && self.lies_within(to, moved.node)? {
            return Err(VolumeError::BadName);
        }
        // Two names of one file: nothing to do (POSIX, rename).
        if self.find(to, new_name).is_ok_and(|old| old.node == moved.node) {
            return Ok(());
        }
        let replaced = self.replaced(moved, to, new_name)?;
        let moving = NamePair::lock(source.directory()?, target.directory()?);
        if let Err(error) = moving.and_move(name, new_name, moved, replaced) {
            self.unmark_removed(replaced);
            return Err(error);
        }
        if let Ok(node) = self.node(moved.node) {
            node.place_in(to);
        }
        source.touch();
        target.touch();
        if let Some(replaced) = replaced {
            self.remove_node(replaced.node);
        }
        Ok(())
    }

    fn set_attributes(&self, node: NodeId, change: &SetAttributes) -> VolumeResult<Attributes> {
        let node = self.node(node)?;
        if let Some(size) = change.size {
            node.content()?.set_size(size, &self.budget)?;
            node.touch();
        }
        node.change(change);
        Ok(node.attributes())
    }

    fn dos_attributes(&self, node: NodeId) -> VolumeResult<DosAttributes> {
        Ok(self.node(node)?.dos_attributes())
    }

    fn set_dos_attributes(&self, node: NodeId, attributes: &DosAttributes) -> VolumeResult<()> {
        self.node(node)?.set_dos_attributes(attributes);
        Ok(())
    }

    fn extended_attributes(&self, node: NodeId) -> VolumeResult<Vec<(String, Vec<u8>)>> {
        Ok(read_lock(&self.node(node)?.extended).clone())
    }

    fn set_extended_attribute(&self, node: NodeId, name: &str, value: &[u8]) -> VolumeResult<()> {
        self.store_extended(node, name, value)
    }

    fn streams(&self, node: NodeId) -> VolumeResult<Vec<(String, Attributes)>> {
        self.list_streams(node)
    }

    fn create_stream(&self, node: NodeId, name: &str) -> VolumeResult<Attributes> {
        self.add_stream(node, name)
    }

    fn remove_stream(&self, node: NodeId, name: &str) -> VolumeResult<()> {
        self.drop_stream(node, name)
    }

    fn rename_stream(&self, node: NodeId, name: &str, new_name: &str) -> VolumeResult<()> {
        self.move_stream(node, name, new_name)
    }

    fn descriptor(&self, node: NodeId) -> VolumeResult<Option<Vec<u8>>> {
        Ok(read_lock(&self.node(node)?.descriptor).as_ref().map(|descriptor| descriptor.to_vec()))
    }

    fn set_descriptor(&self, node: NodeId, descriptor: &[u8]) -> VolumeResult<()> {
        let node = self.node(node)?;
        let mut stored = write_lock(&node.descriptor);
        self.budget.take(descriptor.len() as u64)?;
        let old = stored.replace(descriptor.into());
        self.budget.give(old.map_or(0, |old| old.len() as u64));
        Ok(())
    }

    fn list(&self, directory: NodeId, cookie: u64, limit: usize) -> VolumeResult<Vec<DirectoryEntry>> {
        let node = self.node(directory)?;
        let names = read_lock(&node.directory()?.names).after(cookie, limit);
        let entries = names.into_iter().filter_map(|(name, node, cookie)| {
            // Removed between the two locks: no longer an entry.
            Some(DirectoryEntry { name, attributes: self.attributes(node).ok()?, cookie })
        });
        Ok(entries.collect())
    }

    fn read(&self, file: NodeId, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize> {
        Ok(self.node(file)?.content()?.read(offset, buffer))
    }

    fn read_stored(&self, file: NodeId, offset: u64, len: usize) -> VolumeResult<Option<StoredData>> {
        Ok(Some(self.node(file)?.content()?.read_stored(offset, len)))
    }

    fn write(&self, file: NodeId, offset: u64, data: &[u8], _durable: bool) -> VolumeResult<()> {
        let node = self.node(file)?;
        node.content()?.write(offset, data, &self.budget)?;
        node.touch();
        Ok(())
    }

    fn commit(&self, file: NodeId) -> VolumeResult<()> {
        self.node(file)?.content().map(|_| ())
    }

    fn make_link(&self, directory: NodeId, name: &str, target: &[u8]) -> VolumeResult<Attributes> {
        check_target(target)?;
        self.insert(directory, name, |id| Node::new(id, NodeKind::Link(target.into()), 0o777))
    }

    fn read_link(&self, link: NodeId) -> VolumeResult<Vec<u8>> {
        Ok(self.node(link)?.target()?.to_vec())
    }

    fn add_name(&self, file: NodeId, directory: NodeId, name: &str) -> VolumeResult<Attributes> {
        check_name(name)?;
        let node = self.node(file)?;
        if matches!(node.kind, NodeKind::Directory(_)) {
            return Err(VolumeError::IsDirectory);
        }
        let parent = self.node(directory)?;
        let mut names = write_lock(&parent.directory()?.names);
        free_name(&names, name)?;
        self.budget.take(NODE_BYTES)?;
        if let Err(error) = node.add_name() {
            self.budget.give(NODE_BYTES);
            return Err(error);
        }
        // A removal of the last name in between: the node is gone.
        if self.node(file).is_err() {
            self.budget.give(NODE_BYTES);
            return Err(VolumeError::Stale);
        }
        names.insert(name, file, false);
        drop(names);
        parent.touch();
        Ok(node.attributes())
    }

    fn seek(&self, file: NodeId, offset: u64, target: SeekTarget) -> VolumeResult<Option<u64>> {
        let node = self.node(file)?;
        let content = node.content()?;
        if offset >= content.size() {
            return Err(VolumeError::TooBig);
        }
        Ok(match target {
            SeekTarget::Data => content.next_data(offset),
            SeekTarget::Hole => Some(content.next_hole(offset)),
        })
    }

    fn allocate(&self, file: NodeId, offset: u64, len: u64) -> VolumeResult<()> {
        let node = self.node(file)?;
        node.content()?.allocate(offset, len, &self.budget)?;
        node.touch();
        Ok(())
    }

    fn deallocate(&self, file: NodeId, offset: u64, len: u64) -> VolumeResult<()> {
        let node = self.node(file)?;
        node.content()?.deallocate(offset, len, &self.budget)?;
        node.touch();
        Ok(())
    }

    fn clone_range(&self, from: FileRange, to: FileRange, len: u64) -> VolumeResult<()> {
        let end = from.offset.checked_add(len).ok_or(VolumeError::TooBig)?;
        if end > self.node(from.file)?.content()?.size() {
            return Err(VolumeError::TooBig);
        }
        // Pages are not shared: a clone in memory is a copy.
        self.copy(from, to, len).map(|_| ())
    }

    fn space(&self) -> VolumeResult<VolumeSpace> {
        let free_bytes = self.budget.limit().saturating_sub(self.budget.used());
        Ok(VolumeSpace {
            total_bytes: self.budget.limit(),
            free_bytes,
            total_files: self.budget.limit() / NODE_BYTES,
            free_files: free_bytes / NODE_BYTES,
        })
    }

    fn never_blocks(&self) -> bool {
        true
    }
}
