//! Names and handles, and the files they mean.

use std::collections::HashMap;
use std::net::SocketAddr;

use sharebench_ncp::wire::dos::attribute;
use sharebench_ncp::wire::handle_path::base;
use sharebench_ncp::wire::{EntryInfo, HandlePath};

use crate::input::recorder::Recorder;

/// Most directory handles, and most open files, of a client; more are those of a capture without closes.
const MAX_HANDLES: usize = 1 << 16;

/// A file or directory of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// It is known by a handle or a number.
    File(u32),
    /// A name in a directory.
    Name { directory: u32, name: Box<[u8]> },
}

/// An open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) file: u32,
    /// Writes return when the data is on stable storage.
    pub(super) through: bool,
}

/// The directory handles and the open files of a client.
pub(super) struct Places {
    server: SocketAddr,
    /// Directories by connection and handle.
    directories: HashMap<(u16, u8), u32>,
    /// Directories of classic searches, by connection, volume and the id that the server gave.
    searches: HashMap<(u16, u8, [u8; 2]), u32>,
    opens: HashMap<[u8; 4], Open>,
}

impl Places {
    pub(super) fn new(server: SocketAddr) -> Self {
        Self { server, directories: HashMap::new(), searches: HashMap::new(), opens: HashMap::new() }
    }

    /// The path of a name-space call.
    pub(super) fn of_components(
        &self,
        connection: u16,
        path: &HandlePath<'_>,
        recorder: &mut Recorder,
    ) -> Place {
        let start = path.start;
        let mut names = path.components.iter();
        let first = match start.flag {
            base::HANDLE => self.directory(connection, start.base as u8, recorder),
            base::DIRECTORY => self.entry(start.volume, start.base, recorder),
            _ => self.volume(names.next().unwrap_or_default(), recorder),
        };
        self.walk(first, names, recorder)
    }

    /// The path of a classic call: `VOLUME:DIRECTORY\FILE`, or relative to a handle.
    pub(super) fn of_text(&self, connection: u16, handle: u8, path: &[u8], recorder: &mut Recorder) -> Place {
        let (first, rest) = match path.iter().position(|byte| *byte == b':') {
            Some(end) => {
                let (volume, rest) = path.split_at(end);
                (self.volume(volume, recorder), rest.get(1..).unwrap_or_default())
            }
            None => (self.directory(connection, handle, recorder), path),
        };
        let names = rest.split(|byte| matches!(byte, b'\\' | b'/')).filter(|name| !name.is_empty());
        self.walk(first, names, recorder)
    }

    fn walk<'n>(&self, first: u32, names: impl Iterator<Item = &'n [u8]>, recorder: &mut Recorder) -> Place {
        let mut place = Place::File(first);
        for name in names {
            let directory = self.file(&place, recorder);
            recorder.directory(directory);
            place = Place::Name { directory, name: name.to_ascii_uppercase().into() };
        }
        place
    }

    /// What a place means, if that was seen before.
    pub(super) fn known(&self, place: &Place, recorder: &Recorder) -> Option<u32> {
        match place {
            Place::File(file) => Some(*file),
            Place::Name { directory, name } => recorder.known_file(self.server, &of_name(*directory, name)),
        }
    }

    /// What a place means; a new file if it was never seen.
    pub(super) fn file(&self, place: &Place, recorder: &mut Recorder) -> u32 {
        match place {
            Place::File(file) => *file,
            Place::Name { directory, name } => {
                let file = recorder.file(self.server, &of_name(*directory, name));
                recorder.name(file, Some(*directory), name);
                file
            }
        }
    }

    /// What a place means whose information is known. The number of an entry decides, because a file can have a name in each name
    /// space.
    pub(super) fn described(&self, place: &Place, described: &EntryInfo<'_>, recorder: &mut Recorder) -> u32 {
        let Some((volume, entry)) = described.entry else {
            return Self::sized(self.file(place, recorder), described, recorder);
        };
        let identity = of_entry(volume, entry);
        let file = recorder.known_file(self.server, &identity).unwrap_or_else(|| {
            let file = self.file(place, recorder);
            recorder.link(self.server, &identity, file);
            file
        });
        if let Place::Name { directory, name } = place {
            recorder.link(self.server, &of_name(*directory, name), file);
            recorder.name(file, Some(*directory), name);
        }
        Self::sized(file, described, recorder)
    }

    fn sized(file: u32, described: &EntryInfo<'_>, recorder: &mut Recorder) -> u32 {
        if described.attributes.is_some_and(|attributes| attributes & attribute::DIRECTORY != 0) {
            recorder.directory(file);
        } else if let Some(size) = described.size {
            recorder.size(file, size);
        }
        file
    }

    /// Notes the entries of a listing.
    pub(super) fn listed(&self, directory: u32, entry: &EntryInfo<'_>, recorder: &mut Recorder) {
        if let Some(name) = entry.name {
            let place = Place::Name { directory, name: name.to_ascii_uppercase().into() };
            self.described(&place, entry, recorder);
        }
    }

    /// The name is gone.
    pub(super) fn forget(&self, place: &Place, recorder: &mut Recorder) {
        if let Place::Name { directory, name } = place {
            recorder.forget(self.server, &of_name(*directory, name));
        }
    }

    /// What had one name has the other; what had that one until now is returned.
    pub(super) fn rename(&self, from: &Place, to: &Place, recorder: &mut Recorder) -> Option<u32> {
        let replaced = self.known(to, recorder);
        let file = self.known(from, recorder);
        self.forget(from, recorder);
        match (file, to) {
            (Some(file), Place::Name { directory, name }) => {
                recorder.link(self.server, &of_name(*directory, name), file);
                recorder.name(file, Some(*directory), name);
            }
            _ => self.forget(to, recorder),
        }
        replaced.filter(|replaced| Some(*replaced) != file)
    }

    /// The root of a volume.
    pub(super) fn volume(&self, name: &[u8], recorder: &mut Recorder) -> u32 {
        let name = name.strip_suffix(b":").unwrap_or(name).to_ascii_uppercase();
        let file = recorder.file(self.server, &[b"V".as_slice(), &name].concat());
        recorder.directory(file);
        file
    }

    /// A directory by its number.
    pub(super) fn entry(&self, volume: u8, number: u32, recorder: &mut Recorder) -> u32 {
        recorder.file(self.server, &of_entry(volume, number))
    }

    /// Notes the number of a directory.
    pub(super) fn numbered(&self, volume: u8, number: u32, file: u32, recorder: &mut Recorder) {
        recorder.link(self.server, &of_entry(volume, number), file);
    }

    /// The directory of a handle; one of its own if the handle is older than the capture.
    fn directory(&self, connection: u16, handle: u8, recorder: &mut Recorder) -> u32 {
        self.directories.get(&(connection, handle)).copied().unwrap_or_else(|| {
            let [high, low] = connection.to_be_bytes();
            recorder.file(self.server, &[b'D', high, low, handle])
        })
    }

    /// A handle means a directory.
    pub(super) fn assign(&mut self, connection: u16, handle: u8, directory: u32, recorder: &mut Recorder) {
        recorder.directory(directory);
        if self.directories.len() < MAX_HANDLES {
            self.directories.insert((connection, handle), directory);
        }
    }

    /// A classic search in a directory has begun.
    pub(super) fn searched(&mut self, connection: u16, volume: u8, id: [u8; 2], directory: u32) {
        if self.searches.len() >= MAX_HANDLES {
            self.searches.clear();
        }
        self.searches.insert((connection, volume, id), directory);
    }

    /// The directory of a classic search; one of its own if that began before the capture.
    pub(super) fn search(&self, connection: u16, volume: u8, id: [u8; 2], recorder: &mut Recorder) -> u32 {
        self.searches.get(&(connection, volume, id)).copied().unwrap_or_else(|| {
            let [high, low] = connection.to_be_bytes();
            recorder.file(self.server, &[b'S', high, low, volume, id[0], id[1]])
        })
    }

    pub(super) fn free(&mut self, connection: u16, handle: u8) {
        self.directories.remove(&(connection, handle));
    }

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

    /// The open file of a handle; one that was opened before the capture is a file without a name.
    pub(super) fn opened(&self, handle: [u8; 4], recorder: &mut Recorder) -> Open {
        let [a, b, c, d] = handle;
        let unknown = || Open { file: recorder.file(self.server, &[b'O', a, b, c, d]), through: false };
        self.opens.get(&handle).copied().unwrap_or_else(unknown)
    }

    pub(super) fn close(&mut self, handle: [u8; 4]) {
        self.opens.remove(&handle);
    }
}

fn of_name(directory: u32, name: &[u8]) -> Vec<u8> {
    let mut identity = vec![b'N'];
    identity.extend(directory.to_be_bytes());
    identity.extend(name);
    identity
}

fn of_entry(volume: u8, number: u32) -> Vec<u8> {
    let [a, b, c, d] = number.to_be_bytes();
    vec![b'E', volume, a, b, c, d]
}
