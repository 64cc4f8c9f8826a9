//! A volume in memory, of bounded size, with sparse files in pages of 4 KiB.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::mutex::lock;
use super::volume::{Change, Entry, Node, Space, Volume, VolumeResult};
use crate::wire::{Completion, DosTime};

const PAGE: usize = 4096;
const ROOT: Node = 1;

/// A volume for tests and demonstrations.
#[derive(Debug)]
pub struct MemoryVolume {
    tree: Mutex<Tree>,
    long_names: bool,
}

#[derive(Debug)]
struct Tree {
    nodes: BTreeMap<Node, File>,
    next: Node,
    pages: usize,
    max_pages: usize,
}

#[derive(Debug)]
struct File {
    entry: Entry,
    parent: Node,
    pages: BTreeMap<u64, Box<[u8]>>,
}

impl MemoryVolume {
    /// An empty volume for up to `bytes` of data.
    pub fn new(bytes: usize) -> Self {
        let mut tree = Tree { nodes: BTreeMap::new(), next: ROOT, pages: 0, max_pages: bytes / PAGE };
        tree.insert(0, b"", true);
        Self { tree: Mutex::new(tree), long_names: true }
    }

    /// The same with the DOS name space only.
    pub fn with_dos_names(bytes: usize) -> Self {
        Self { long_names: false, ..Self::new(bytes) }
    }
}

impl Tree {
    fn insert(&mut self, parent: Node, name: &[u8], directory: bool) -> Entry {
        let epoch = DosTime::from_unix(0);
        let node = self.next;
        let name = name.to_vec();
        let entry = Entry {
            node,
            name,
            directory,
            size: 0,
            created: epoch,
            modified: epoch,
            accessed: epoch.date,
            read_only: false,
            stored: 0,
        };
        self.nodes.insert(node, File { entry: entry.clone(), parent, pages: BTreeMap::new() });
        self.next += 1;
        entry
    }

    fn file(&mut self, node: Node) -> VolumeResult<&mut File> {
        let file = self.nodes.get_mut(&node).ok_or(Completion::Failure)?;
        if file.entry.directory { Err(Completion::InvalidFileHandle) } else { Ok(file) }
    }

    fn find(&self, directory: Node, name: &[u8]) -> VolumeResult<&Entry> {
        let inside = self.nodes.values().filter(|file| file.parent == directory);
        let mut names = inside.map(|file| &file.entry).filter(|entry| entry.name.eq_ignore_ascii_case(name));
        let found = names.clone().find(|entry| entry.name == name).or_else(|| names.next());
        found.ok_or(Completion::Failure)
    }

    fn drop_pages(&mut self, node: Node, from: u64) -> VolumeResult<()> {
        let dropped = self.file(node)?.pages.split_off(&from).len();
        self.pages -= dropped;
        Ok(())
    }

    fn write(&mut self, node: Node, offset: u64, data: &[u8]) -> VolumeResult<()> {
        let end = offset.checked_add(data.len() as u64).ok_or(Completion::OutOfDiskSpace)?;
        let mut free_pages = self.max_pages - self.pages;
        let file = self.file(node)?;
        let touched = offset / PAGE as u64..=(end - 1) / PAGE as u64;
        let new = touched.filter(|page| !file.pages.contains_key(page)).count();
        free_pages = free_pages.checked_sub(new).ok_or(Completion::OutOfDiskSpace)?;
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let page = at / PAGE as u64;
            let start = (at % PAGE as u64) as usize;
            let (part, after) = rest.split_at(rest.len().min(PAGE - start));
            let bytes = file.pages.entry(page).or_insert_with(|| vec![0; PAGE].into());
            bytes[start..start + part.len()].copy_from_slice(part);
            at += part.len() as u64;
            rest = after;
        }
        file.entry.size = file.entry.size.max(end);
        self.pages = self.max_pages - free_pages;
        Ok(())
    }
}

impl Volume for MemoryVolume {
    fn root(&self) -> Node {
        ROOT
    }

    fn entry(&self, node: Node) -> VolumeResult<Entry> {
        lock(&self.tree).nodes.get(&node).map(|file| file.entry.clone()).ok_or(Completion::Failure)
    }

    fn lookup(&self, directory: Node, name: &[u8]) -> VolumeResult<Entry> {
        lock(&self.tree).find(directory, name).cloned()
    }

    fn list(&self, directory: Node, cookie: u64, limit: usize) -> VolumeResult<Vec<(u64, Entry)>> {
        let Some(from) = Node::try_from(cookie).ok().and_then(|node| node.checked_add(1)) else {
            return Ok(Vec::new());
        };
        let tree = lock(&self.tree);
        let inside = tree.nodes.range(from..).filter(|(_, file)| file.parent == directory);
        Ok(inside.take(limit).map(|(node, file)| (u64::from(*node), file.entry.clone())).collect())
    }

    fn create(&self, parent: Node, name: &[u8], directory: bool) -> VolumeResult<Entry> {
        let mut tree = lock(&self.tree);
        if !tree.nodes.get(&parent).is_some_and(|file| file.entry.directory) {
            return Err(Completion::InvalidPath);
        }
        if tree.nodes.len() > tree.max_pages || tree.next == Node::MAX {
            return Err(Completion::DirectoryFull);
        }
        if tree.find(parent, name).is_ok() {
            return Err(Completion::FileExists);
        }
        Ok(tree.insert(parent, name, directory))
    }

    fn remove(&self, parent: Node, name: &[u8], directory: bool) -> VolumeResult<()> {
        let mut tree = lock(&self.tree);
        let entry = tree.find(parent, name)?.clone();
        if entry.directory != directory {
            return Err(Completion::InvalidPath);
        }
        if directory && tree.nodes.values().any(|file| file.parent == entry.node) {
            return Err(Completion::DirectoryNotEmpty);
        }
        if !directory {
            tree.drop_pages(entry.node, 0)?;
        }
        tree.nodes.remove(&entry.node);
        Ok(())
    }

    fn rename(&self, from: Node, name: &[u8], to: Node, new_name: &[u8]) -> VolumeResult<()> {
        let mut tree = lock(&self.tree);
        let node = tree.find(from, name)?.node;
        let mut above = to;
        // A directory must not become its own descendant.
        while above != 0 {
            if above == node {
                return Err(Completion::InvalidPath);
            }
            above = tree.nodes.get(&above).map_or(0, |file| file.parent);
        }
        let file = tree.nodes.get_mut(&node).ok_or(Completion::Failure)?;
        file.parent = to;
        file.entry.name = new_name.to_vec();
        Ok(())
    }

    fn read(&self, node: Node, offset: u64, buffer: &mut [u8]) -> VolumeResult<usize> {
        let mut tree = lock(&self.tree);
        let file = tree.file(node)?;
        let count = file.entry.size.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let mut at = offset;
        let mut rest = &mut buffer[..count];
        while !rest.is_empty() {
            let page = at / PAGE as u64;
            let start = (at % PAGE as u64) as usize;
            let (part, after) = rest.split_at_mut((PAGE - start).min(rest.len()));
            match file.pages.get(&page) {
                Some(bytes) => part.copy_from_slice(&bytes[start..start + part.len()]),
                None => part.fill(0),
            }
            at += part.len() as u64;
            rest = after;
        }
        Ok(count)
    }

    fn write(&self, node: Node, offset: u64, data: &[u8], _durable: bool) -> VolumeResult<()> {
        lock(&self.tree).write(node, offset, data)
    }

    fn resize(&self, node: Node, size: u64) -> VolumeResult<()> {
        let mut tree = lock(&self.tree);
        tree.drop_pages(node, size.div_ceil(PAGE as u64))?;
        let file = tree.file(node)?;
        if let Some(page) = file.pages.get_mut(&(size / PAGE as u64)) {
            page[(size % PAGE as u64) as usize..].fill(0);
        }
        file.entry.size = size;
        Ok(())
    }

    fn place(&self, node: Node) -> VolumeResult<(Node, Vec<u8>)> {
        let tree = lock(&self.tree);
        let file = tree.nodes.get(&node).ok_or(Completion::Failure)?;
        Ok(if node == ROOT { (ROOT, Vec::new()) } else { (file.parent, file.entry.name.clone()) })
    }

    fn has_long_names(&self) -> bool {
        self.long_names
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn change(&self, node: Node, change: &Change) -> VolumeResult<()> {
        let mut tree = lock(&self.tree);
        let entry = &mut tree.nodes.get_mut(&node).ok_or(Completion::Failure)?.entry;
        entry.read_only = change.read_only.unwrap_or(entry.read_only);
        entry.stored = change.stored.unwrap_or(entry.stored);
        entry.created = change.created.map_or(entry.created, DosTime::from_unix);
        entry.modified = change.modified.map_or(entry.modified, DosTime::from_unix);
        entry.accessed = change.accessed.map_or(entry.accessed, |at| DosTime::from_unix(at).date);
        Ok(())
    }

    fn commit(&self, node: Node) -> VolumeResult<()> {
        lock(&self.tree).file(node).map(|_| ())
    }

    fn space(&self) -> VolumeResult<Space> {
        let tree = lock(&self.tree);
        let bytes = |pages: usize| (pages * PAGE) as u64;
        let most = tree.max_pages as u64 + 1;
        Ok(Space {
            total: bytes(tree.max_pages),
            free: bytes(tree.max_pages - tree.pages),
            total_entries: most,
            free_entries: most.saturating_sub(tree.nodes.len() as u64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_files_read_as_zeros_and_volume_is_bounded() {
        let volume = MemoryVolume::new(4 * PAGE);
        let file = volume.create(ROOT, b"A", false).unwrap().node;
        volume.write(file, 1 << 32, b"far", false).unwrap();
        let read = |offset| {
            let mut out = [9; 100];
            let len = volume.read(file, offset, &mut out).unwrap();
            out[..len].to_vec()
        };
        assert_eq!(read((1 << 32) - 2), b"\0\0far");
        assert_eq!(volume.write(file, 0, &[1; 4 * PAGE], false), Err(Completion::OutOfDiskSpace));
        volume.write(file, 0, &[1; 3 * PAGE], false).unwrap();
        let space = Space { total: 4 * PAGE as u64, free: 0, total_entries: 5, free_entries: 3 };
        assert_eq!(volume.space(), Ok(space));
        volume.resize(file, 1).unwrap();
        volume.resize(file, 3).unwrap();
        assert_eq!((read(0), volume.space().unwrap().free), (vec![1, 0, 0], 3 * PAGE as u64));
        volume.remove(ROOT, b"A", false).unwrap();
        assert_eq!(volume.space().unwrap().free, 4 * PAGE as u64);
    }

    #[test]
    fn directory_cannot_move_below_itself() {
        let volume = MemoryVolume::new(8 * PAGE);
        let above = volume.create(ROOT, b"A", true).unwrap().node;
        let below = volume.create(above, b"B", true).unwrap().node;
        assert_eq!(volume.rename(ROOT, b"A", below, b"C"), Err(Completion::InvalidPath));
        assert_eq!(volume.remove(ROOT, b"A", true), Err(Completion::DirectoryNotEmpty));
    }
}
