//! Resolves paths of both kinds to a directory and a name in it; no path leads out of its volume.

use super::connection::Connection;
use super::names::{NameSpace, dos_name, is_made};
use super::shared::Shared;
use super::volume::{Entry, Volume, VolumeNode, VolumeResult};
use crate::wire::handle_path::base;
use crate::wire::{Completion, HandlePath};

/// Entries read at a time in the search for a short name.
const PAGE: usize = 256;
/// The longest path in a reply.
const MAX_PATH: usize = 255;

/// A resolved path: a directory and a name in it, or the start of the path itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The directory.
    pub directory: VolumeNode,
    /// The name in it; none for the start itself.
    pub name: Option<Vec<u8>>,
    /// Name space of the name.
    pub space: NameSpace,
}

impl ResolvedPath {
    /// The name; an error if there is none.
    pub fn name(&self) -> VolumeResult<&[u8]> {
        self.name.as_deref().ok_or(Completion::InvalidPath)
    }
}

impl<V: Volume> Shared<V> {
    /// The root of a volume by name.
    pub fn root(&self, name: &[u8]) -> VolumeResult<VolumeNode> {
        let number = self.volumes.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
        let volume = number.and_then(|number| u8::try_from(number).ok()).ok_or(Completion::NoSuchVolume)?;
        Ok(VolumeNode { volume, node: self.volume(volume)?.root() })
    }

    /// The name space of an id, if the volume has it.
    pub fn name_space(&self, volume: u8, id: u8) -> VolumeResult<NameSpace> {
        let space = NameSpace::from_id(id)?;
        self.check_name_space(volume, space).map(|()| space)
    }

    fn check_name_space(&self, volume: u8, space: NameSpace) -> VolumeResult<()> {
        let is_served = space == NameSpace::Dos || self.volume(volume)?.has_long_names();
        if is_served { Ok(()) } else { Err(Completion::InvalidNameSpace) }
    }

    /// The directory of a classic path and its last component, which may be a pattern, as sent.
    pub fn split_path<'p>(
        &self,
        connection: &Connection,
        handle: u8,
        path: &'p [u8],
    ) -> VolumeResult<(VolumeNode, &'p [u8])> {
        let (start, rest) = match path.iter().position(|byte| *byte == b':') {
            Some(colon) => (self.root(&path[..colon])?, &path[colon + 1..]),
            None => (connection.handle(handle)?, path),
        };
        let separator = |byte: &u8| *byte == b'\\' || *byte == b'/';
        let (above, last) = match rest.iter().rposition(separator) {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (&rest[..0], rest),
        };
        let names = above.split(separator).filter(|name| !name.is_empty());
        Ok((self.walk(start, NameSpace::Dos, names)?, last))
    }

    /// Resolves a classic path.
    pub fn resolve_path(
        &self,
        connection: &Connection,
        handle: u8,
        path: &[u8],
    ) -> VolumeResult<ResolvedPath> {
        let (directory, last) = self.split_path(connection, handle, path)?;
        let space = NameSpace::Dos;
        let name = if last.is_empty() { None } else { Some(space.checked(last)?) };
        Ok(ResolvedPath { directory, name, space })
    }

    /// Resolves a path of the name-space calls. A start without components is the file or directory itself, by its number
    /// or handle: its directory and name are looked up, so that it can be removed, renamed and opened.
    pub fn resolve_handle_path(
        &self,
        connection: &Connection,
        space: NameSpace,
        path: &HandlePath<'_>,
    ) -> VolumeResult<ResolvedPath> {
        let mut names = path.components.iter();
        let start = match path.start.flag {
            base::NONE => {
                let volume = names.next().ok_or(Completion::InvalidPath)?;
                self.root(volume.strip_suffix(b":").unwrap_or(volume))?
            }
            base::HANDLE => connection
                .handle(u8::try_from(path.start.base).map_err(|_| Completion::BadDirectoryHandle)?)?,
            base::DIRECTORY => {
                self.volume(path.start.volume)?.entry(path.start.base)?;
                VolumeNode { volume: path.start.volume, node: path.start.base }
            }
            _ => return Err(Completion::InvalidPath),
        };
        self.check_name_space(start.volume, space)?;
        let mut names: Vec<&[u8]> = names.collect();
        let Some(last) = names.pop() else {
            let volume = self.volume(start.volume)?;
            // What has several names is known by its number only.
            let (directory, name) = volume.place(start.node).unwrap_or((start.node, Vec::new()));
            let name = (!name.is_empty()).then_some(name);
            return Ok(ResolvedPath { directory: VolumeNode { node: directory, ..start }, name, space });
        };
        let directory = self.walk(start, space, names.into_iter())?;
        Ok(ResolvedPath { directory, name: Some(space.checked(last)?), space })
    }

    /// The file or directory of a resolved path.
    pub fn entry(&self, place: &ResolvedPath) -> VolumeResult<Entry> {
        match &place.name {
            Some(name) => self.find(place.directory, place.space, name),
            None => self.volume(place.directory.volume)?.entry(place.directory.node),
        }
    }

    /// The directory of a resolved path; an error if it is a file.
    pub fn directory(&self, place: &ResolvedPath) -> VolumeResult<VolumeNode> {
        let entry = self.entry(place).map_err(|_| Completion::InvalidPath)?;
        let found = VolumeNode { volume: place.directory.volume, node: entry.node };
        if entry.directory { Ok(found) } else { Err(Completion::InvalidPath) }
    }

    /// Volume and current path of a directory in the DOS name space.
    pub fn text(&self, directory: VolumeNode) -> VolumeResult<Vec<u8>> {
        let volume = self.volume(directory.volume)?;
        let mut node = directory.node;
        let mut names = Vec::new();
        while node != volume.root() {
            // A path of the largest length has at most this many components of one letter.
            if names.len() > MAX_PATH / 2 {
                return Err(Completion::InvalidPath);
            }
            let (parent, name) = volume.place(node)?;
            names.push(dos_name(&name));
            node = parent;
        }
        names.reverse();
        Ok([self.volume_name(directory.volume), b":", &names.join(&b'/')[..]].concat())
    }

    fn walk<'n>(
        &self,
        start: VolumeNode,
        space: NameSpace,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> VolumeResult<VolumeNode> {
        let mut directory = start;
        for name in names {
            let name = space.checked(name).map_err(|_| Completion::InvalidPath)?;
            let entry = self.find(directory, space, &name).map_err(|_| Completion::InvalidPath)?;
            directory.node = if entry.directory { entry.node } else { return Err(Completion::InvalidPath) };
        }
        Ok(directory)
    }

    /// Looks up a checked name. A derived short name is compared with the short forms of all entries.
    fn find(&self, directory: VolumeNode, space: NameSpace, name: &[u8]) -> VolumeResult<Entry> {
        let volume = self.volume(directory.volume)?;
        match volume.lookup(directory.node, name) {
            Err(Completion::Failure) if space == NameSpace::Dos && is_made(name) => {
                let mut cookie = 0;
                let mut found = None;
                loop {
                    let page = volume.list(directory.node, cookie, PAGE)?;
                    let Some((last, _)) = page.last() else { return found.ok_or(Completion::Failure) };
                    cookie = *last;
                    for (_, entry) in page.into_iter().filter(|(_, entry)| dos_name(&entry.name) == name) {
                        // The short name is ambiguous, so it refers to neither.
                        if found.replace(entry).is_some() {
                            return Err(Completion::Failure);
                        }
                    }
                }
            }
            found => found,
        }
    }
}
