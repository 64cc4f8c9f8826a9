//! Names and handles, and the files they mean.

use std::collections::HashMap;

use sharebench_ncp::wire::dos::attribute;
use sharebench_ncp::wire::handle_path::base;
use sharebench_ncp::wire::{EntryInfo, HandlePath, Pstr};

use crate::input::protocols::entry::Entry;
use crate::input::recorder::Recording;

/// Most directory handles, and most open files, of a client; more are those of a capture without closes.
const MAX_HANDLES: usize = 1 << 16;

/// A file or directory of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestedFile {
    /// It is known by a handle or a number.
    File(u32),
    /// A name in a directory.
    Name(Entry),
}

impl RequestedFile {
    /// A name in a directory, without regard to case.
    pub(super) fn named(directory: u32, name: &[u8]) -> Self {
        Self::Name(Entry { directory, name: name.to_ascii_uppercase().into() })
    }

    /// What it means, if that was seen before.
    pub(super) fn known(&self, recorder: &Recording<'_>) -> Option<u32> {
        match self {
            Self::File(file) => Some(*file),
            Self::Name(entry) => entry.known(recorder),
        }
    }

    /// What it means; a new file if it was never seen.
    pub(super) fn file(&self, recorder: &mut Recording<'_>) -> u32 {
        match self {
            Self::File(file) => *file,
            Self::Name(entry) => entry.file(recorder),
        }
    }

    /// What it means whose information is known. The number of an entry decides, because a file can have a name in each
    /// name space.
    pub(super) fn described(&self, described: &EntryInfo<'_>, recorder: &mut Recording<'_>) -> u32 {
        let file = match described.entry {
            None => self.file(recorder),
            Some((volume, number)) => {
                let identity = of_entry(volume, number);
                let file = recorder.known_file(&identity).unwrap_or_else(|| {
                    let file = self.file(recorder);
                    recorder.link(&identity, file);
                    file
                });
                if let Self::Name(entry) = self {
                    entry.means(file, recorder);
                }
                file
            }
        };
        let is_directory = described.attributes.is_some_and(|bits| bits & attribute::DIRECTORY != 0);
        recorder.describe(file, is_directory, described.size);
        file
    }

    /// The name is gone.
    pub(super) fn forget(&self, recorder: &mut Recording<'_>) {
        if let Self::Name(entry) = self {
            entry.forget(recorder);
        }
    }

    /// What had one name has the other; what had that one until now is returned.
    pub(super) fn rename(&self, to: &Self, recorder: &mut Recording<'_>) -> Option<u32> {
        let file = self.known(recorder);
        let replaced = to.known(recorder);
        self.forget(recorder);
        match (file, to) {
            (Some(file), Self::Name(entry)) => entry.means(file, recorder),
            _ => to.forget(recorder),
        }
        replaced.filter(|replaced| Some(*replaced) != file)
    }
}

/// An open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) file: u32,
    /// Writes return when the data is on stable storage.
    pub(super) through: bool,
}

/// The directory handles and the open files of a client.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Directories by connection and handle.
    directories: HashMap<(u16, u8), u32>,
    /// Directories of classic searches, by connection, volume and the id that the server gave.
    searches: HashMap<(u16, u8, [u8; 2]), u32>,
    opens: HashMap<[u8; 4], Open>,
}

/// A request's connection: whose handles its paths are relative to.
pub(super) struct Scope<'s, 'r> {
    pub(super) connection: u16,
    pub(super) places: &'s mut Places,
    pub(super) recorder: &'s mut Recording<'r>,
}

impl Scope<'_, '_> {
    /// The path of a name-space call.
    pub(super) fn path(&mut self, path: &HandlePath<'_>) -> RequestedFile {
        let start = path.start;
        let mut names = path.components.iter();
        let first = match start.flag {
            base::HANDLE => self.directory(start.base as u8),
            base::DIRECTORY => self.entry(start.volume, start.base),
            _ => self.volume(names.next().unwrap_or_default()),
        };
        self.walk(first, names)
    }

    /// The path of a classic call: `VOLUME:DIRECTORY\FILE`, or relative to a handle.
    pub(super) fn text(&mut self, handle: u8, path: Pstr<'_>) -> RequestedFile {
        let path = path.bytes();
        let (first, rest) = match path.iter().position(|byte| *byte == b':') {
            Some(end) => {
                let (volume, rest) = path.split_at(end);
                (self.volume(volume), rest.get(1..).unwrap_or_default())
            }
            None => (self.directory(handle), path),
        };
        let names = rest.split(|byte| matches!(byte, b'\\' | b'/')).filter(|name| !name.is_empty());
        self.walk(first, names)
    }

    fn walk<'n>(&mut self, first: u32, names: impl Iterator<Item = &'n [u8]>) -> RequestedFile {
        let mut place = RequestedFile::File(first);
        for name in names {
            let directory = place.file(self.recorder);
            self.recorder.directory(directory);
            place = RequestedFile::named(directory, name);
        }
        place
    }

    /// The root of a volume.
    fn volume(&mut self, name: &[u8]) -> u32 {
        let name = name.strip_suffix(b":").unwrap_or(name).to_ascii_uppercase();
        let file = self.recorder.file(&[b"V".as_slice(), &name].concat());
        self.recorder.directory(file);
        file
    }

    /// A directory by its number.
    pub(super) fn entry(&mut self, volume: u8, number: u32) -> u32 {
        self.recorder.file(&of_entry(volume, number))
    }

    /// Notes the number of a directory.
    pub(super) fn numbered(&mut self, volume: u8, number: u32, file: u32) {
        self.recorder.link(&of_entry(volume, number), file);
    }

    /// The directory of a handle; one of its own if the handle is older than the capture.
    fn directory(&mut self, handle: u8) -> u32 {
        self.places.directories.get(&(self.connection, handle)).copied().unwrap_or_else(|| {
            let [high, low] = self.connection.to_be_bytes();
            self.recorder.file(&[b'D', high, low, handle])
        })
    }

    /// A handle means a directory.
    pub(super) fn assign(&mut self, handle: u8, directory: u32) {
        self.recorder.directory(directory);
        if self.places.directories.len() < MAX_HANDLES {
            self.places.directories.insert((self.connection, handle), directory);
        }
    }

    pub(super) fn free(&mut self, handle: u8) {
        self.places.directories.remove(&(self.connection, handle));
    }

    /// A classic search in a directory has begun.
    pub(super) fn searched(&mut self, volume: u8, id: [u8; 2], directory: u32) {
        if self.places.searches.len() >= MAX_HANDLES {
            self.places.searches.clear();
        }
        self.places.searches.insert((self.connection, volume, id), directory);
    }

    /// The directory of a classic search; one of its own if that began before the capture.
    pub(super) fn search(&mut self, volume: u8, id: [u8; 2]) -> u32 {
        self.places.searches.get(&(self.connection, volume, id)).copied().unwrap_or_else(|| {
            let [high, low] = self.connection.to_be_bytes();
            self.recorder.file(&[b'S', high, low, volume, id[0], id[1]])
        })
    }

    /// The open file of a handle; one that was opened before the capture is a file without a name.
    pub(super) fn opened(&mut self, handle: [u8; 4]) -> Open {
        let [a, b, c, d] = handle;
        self.places.opens.get(&handle).copied().unwrap_or_else(|| {
            let file = self.recorder.file(&[b'O', a, b, c, d]);
            Open { file, through: false }
        })
    }
}

impl Places {
    /// A connection has ended.
    pub(super) fn disconnect(&mut self, connection: u16) {
        self.directories.retain(|(owner, _), _| *owner != connection);
        self.searches.retain(|(owner, _, _), _| *owner != connection);
    }

    pub(super) fn open(&mut self, handle: [u8; 4], open: Open) {
        if self.opens.len() >= MAX_HANDLES {
            self.opens.clear();
        }
        self.opens.insert(handle, open);
    }

    pub(super) fn close(&mut self, handle: [u8; 4]) {
        self.opens.remove(&handle);
    }
}

fn of_entry(volume: u8, number: u32) -> Vec<u8> {
    let [a, b, c, d] = number.to_be_bytes();
    vec![b'E', volume, a, b, c, d]
}
