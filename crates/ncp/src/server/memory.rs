//! A volume in memory, of bounded size: sparse files in pages of 4 KiB.

use std::collections::BTreeMap;

use super::volume::{Entry, Node, Space, Volume, VolumeResult};
use crate::wire::{Completion, DosTime};

const PAGE: usize = 4096;
const ROOT: Node = 1;

/// A volume for tests and demonstrations.
#[derive(Debug)]
pub struct MemoryVolume {
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
    /// An empty volume that holds up to `bytes` of data.
    pub fn new(bytes: usize) -> Self {
        let mut volume = Self { nodes: BTreeMap::new(), next: ROOT, pages: 0, max_pages: bytes / PAGE };
        volume.insert(0, b"", true);
        volume
    }

    fn insert(&mut self, parent: Node, name: &[u8], directory: bool) -> Entry {
        let moment = DosTime::from_unix(0);
        let (node, name) = (self.next, name.to_vec());
        let entry = Entry { node, name, directory, size: 0, created: moment, modified: moment };
        self.nodes.insert(node, File { entry: entry.clone(), parent, pages: BTreeMap::new() });
        self.next += 1;
        entry
    }

    fn file(&mut self, node: Node) -> VolumeResult<&mut File> {
        let file = self.nodes.get_mut(&node).ok_or(Completion::Failure)?;
        if file.entry.directory { Err(Completion::InvalidFileHandle) } else { Ok(file) }
    }

    fn drop_pages(&mut self, node: Node, from: u64) -> VolumeResult<()> {
        let dropped = self.file(node)?.pages.split_off(&from).len();
        self.pages -= dropped;
        Ok(())
    }
}

impl Volume for MemoryVolume {
    fn root(&self) -> Node {
        ROOT
    }

    fn entry(&self, node: Node) -> VolumeResult<Entry> {
        self.nodes.get(&node).map(|file| file.entry.clone()).ok_or(Completion::Failure)
    }

    fn lookup(&self, directory: Node, name: &[u8]) -> VolumeResult<Entry> {
        let named = |file: &&File| file.parent == directory && file.entry.name == name;
        self.nodes.values().find(named).map(|file| file.entry.clone()).ok_or(Completion::Failure)
    }

    fn next(&self, directory: Node, after: Option<Node>) -> VolumeResult<Option<Entry>> {
        let from = after.map_or(Some(0), |node| node.checked_add(1));
        let Some(from) = from else { return Ok(None) };
        let found = self.nodes.range(from..).find(|(_, file)| file.parent == directory);
        Ok(found.map(|(_, file)| file.entry.clone()))
    }

    fn create(&mut self, parent: Node, name: &[u8], directory: bool) -> VolumeResult<Entry> {
        if self.nodes.len() > self.max_pages || self.next == Node::MAX {
            return Err(Completion::DirectoryFull);
        }
        Ok(self.insert(parent, name, directory))
    }

    fn remove(&mut self, node: Node) -> VolumeResult<()> {
        let entry = self.entry(node)?;
        if entry.directory && (node == ROOT || self.next(node, None)?.is_some()) {
            return Err(Completion::DirectoryNotEmpty);
        }
        if !entry.directory {
            self.drop_pages(node, 0)?;
        }
        self.nodes.remove(&node);
        Ok(())
    }

    fn rename(&mut self, node: Node, parent: Node, name: &[u8]) -> VolumeResult<()> {
        let mut above = parent;
        // A directory cannot move below itself.
        while above != 0 {
            if above == node {
                return Err(Completion::InvalidPath);
            }
            above = self.nodes.get(&above).map_or(0, |file| file.parent);
        }
        let file = self.nodes.get_mut(&node).ok_or(Completion::Failure)?;
        file.parent = parent;
        file.entry.name = name.to_vec();
        Ok(())
    }

    fn read(&mut self, node: Node, offset: u64, count: usize, out: &mut Vec<u8>) -> VolumeResult<()> {
        let file = self.file(node)?;
        let mut left = file.entry.size.saturating_sub(offset).min(count as u64) as usize;
        let mut at = offset;
        while left > 0 {
            let (page, start) = (at / PAGE as u64, (at % PAGE as u64) as usize);
            let part = left.min(PAGE - start);
            match file.pages.get(&page) {
                Some(bytes) => out.extend_from_slice(&bytes[start..start + part]),
                None => out.resize(out.len() + part, 0),
            }
            at += part as u64;
            left -= part;
        }
        Ok(())
    }

    fn write(&mut self, node: Node, offset: u64, data: &[u8]) -> VolumeResult<()> {
        let end = offset.checked_add(data.len() as u64).ok_or(Completion::OutOfDiskSpace)?;
        let mut room = self.max_pages - self.pages;
        let file = self.file(node)?;
        let touched = offset / PAGE as u64..=(end - 1) / PAGE as u64;
        let new = touched.filter(|page| !file.pages.contains_key(page)).count();
        room = room.checked_sub(new).ok_or(Completion::OutOfDiskSpace)?;
        let (mut at, mut rest) = (offset, data);
        while !rest.is_empty() {
            let (page, start) = (at / PAGE as u64, (at % PAGE as u64) as usize);
            let (part, behind) = rest.split_at(rest.len().min(PAGE - start));
            let bytes = file.pages.entry(page).or_insert_with(|| vec![0; PAGE].into());
            bytes[start..start + part.len()].copy_from_slice(part);
            at += part.len() as u64;
            rest = behind;
        }
        file.entry.size = file.entry.size.max(end);
        self.pages = self.max_pages - room;
        Ok(())
    }

    fn resize(&mut self, node: Node, size: u64) -> VolumeResult<()> {
        self.drop_pages(node, size.div_ceil(PAGE as u64))?;
        let file = self.file(node)?;
        if let Some(page) = file.pages.get_mut(&(size / PAGE as u64)) {
            page[(size % PAGE as u64) as usize..].fill(0);
        }
        file.entry.size = size;
        Ok(())
    }

    fn commit(&mut self, node: Node) -> VolumeResult<()> {
        self.file(node).map(|_| ())
    }

    fn space(&self) -> Space {
        let bytes = |pages: usize| (pages * PAGE) as u64;
        Space { total: bytes(self.max_pages), free: bytes(self.max_pages - self.pages) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_files_read_as_zeros_and_the_volume_has_an_end() {
        let mut volume = MemoryVolume::new(4 * PAGE);
        let file = volume.create(ROOT, b"A", false).unwrap().node;
        volume.write(file, 1 << 32, b"far").unwrap();
        let mut out = Vec::new();
        volume.read(file, (1 << 32) - 2, 100, &mut out).unwrap();
        assert_eq!(out, b"\0\0far");
        assert_eq!(volume.write(file, 0, &[1; 4 * PAGE]), Err(Completion::OutOfDiskSpace));
        volume.write(file, 0, &[1; 3 * PAGE]).unwrap();
        assert_eq!(volume.space(), Space { total: 4 * PAGE as u64, free: 0 });
        volume.resize(file, 1).unwrap();
        volume.resize(file, 3).unwrap();
        out.clear();
        volume.read(file, 0, 100, &mut out).unwrap();
        assert_eq!((out, volume.space().free), (vec![1, 0, 0], 3 * PAGE as u64));
        volume.remove(file).unwrap();
        assert_eq!(volume.space().free, 4 * PAGE as u64);
    }

    #[test]
    fn a_directory_never_moves_below_itself() {
        let mut volume = MemoryVolume::new(8 * PAGE);
        let above = volume.create(ROOT, b"A", true).unwrap().node;
        let below = volume.create(above, b"B", true).unwrap().node;
        assert_eq!(volume.rename(above, below, b"C"), Err(Completion::InvalidPath));
        assert_eq!(volume.remove(above), Err(Completion::DirectoryNotEmpty));
    }
}
