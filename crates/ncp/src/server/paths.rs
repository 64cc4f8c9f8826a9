//! Paths of both kinds become a directory and a name below it; no path leads out of its volume.

use super::connection::{Connection, Directory};
use super::names::checked;
use super::volume::{Entry, Volume, VolumeResult};
use super::{Shared, volumes};
use crate::wire::handle_path::base;
use crate::wire::{Completion, HandlePath};

/// What a path names: something in a directory, or the start of the path itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The directory.
    pub directory: Directory,
    /// The name in it; none for the start itself.
    pub name: Option<Vec<u8>>,
}

impl<V: Volume> Shared<V> {
    /// The directory of a classic path, and its last component as it was sent, which may be a pattern.
    pub fn split<'p>(
        &self,
        connection: &Connection,
        handle: u8,
        path: &'p [u8],
    ) -> VolumeResult<(Directory, &'p [u8])> {
        let (start, rest) = match path.iter().position(|byte| *byte == b':') {
            Some(colon) => (volumes::root(self, &path[..colon])?, &path[colon + 1..]),
            None => (connection.handle(handle)?, path),
        };
        let separator = |byte: &u8| *byte == b'\\' || *byte == b'/';
        let (above, last) = match rest.iter().rposition(separator) {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (&rest[..0], rest),
        };
        let names = above.split(separator).filter(|name| !name.is_empty());
        Ok((self.walk(start, names)?, last))
    }

    /// What a classic path names.
    pub fn place(&self, connection: &Connection, handle: u8, path: &[u8]) -> VolumeResult<Place> {
        let (directory, last) = self.split(connection, handle, path)?;
        let name = if last.is_empty() { None } else { Some(checked(last)?) };
        Ok(Place { directory, name })
    }

    /// What a path of the name-space calls names.
    pub fn place_of(&self, connection: &Connection, path: &HandlePath<'_>) -> VolumeResult<Place> {
        let mut names: Vec<&[u8]> = path.components.iter().collect();
        let start = match path.start.flag {
            base::NONE if !names.is_empty() => {
                let volume = names.remove(0);
                volumes::root(self, volume.strip_suffix(b":").unwrap_or(volume))?
            }
            base::HANDLE => connection
                .handle(u8::try_from(path.start.base).map_err(|_| Completion::BadDirectoryHandle)?)?,
            base::DIRECTORY => {
                self.volume(path.start.volume)?.entry(path.start.base)?;
                Directory { volume: path.start.volume, node: path.start.base }
            }
            _ => return Err(Completion::InvalidPath),
        };
        let last = names.pop();
        let directory = self.walk(start, names.into_iter())?;
        Ok(Place { directory, name: last.map(checked).transpose()? })
    }

    /// The file or directory that a place names.
    pub fn entry(&self, place: &Place) -> VolumeResult<Entry> {
        let volume = self.volume(place.directory.volume)?;
        match &place.name {
            Some(name) => volume.lookup(place.directory.node, name),
            None => volume.entry(place.directory.node),
        }
    }

    /// The directory that a place names.
    pub fn directory(&self, place: &Place) -> VolumeResult<Directory> {
        let entry = self.entry(place).map_err(|_| Completion::InvalidPath)?;
        let found = Directory { volume: place.directory.volume, node: entry.node };
        if entry.directory { Ok(found) } else { Err(Completion::InvalidPath) }
    }

    fn walk<'n>(&self, start: Directory, names: impl Iterator<Item = &'n [u8]>) -> VolumeResult<Directory> {
        let volume = self.volume(start.volume)?;
        let mut node = start.node;
        for name in names {
            let name = checked(name).map_err(|_| Completion::InvalidPath)?;
            let entry = volume.lookup(node, &name).map_err(|_| Completion::InvalidPath)?;
            node = if entry.directory { entry.node } else { return Err(Completion::InvalidPath) };
        }
        Ok(Directory { node, ..start })
    }
}
