//! Calls that open and create files, and create directories (docs/protocols/ncp.md 3.2, 3.4).

use super::connection::OpenFile;
use super::entry_filter::EntryFilter;
use super::execute::Execution;
use super::names::{NameSpace, dos_name};
use super::paths::ResolvedPath;
use super::replies::{classic, named};
use super::shared::Shared;
use super::volume::{Change, Entry, STORED_ATTRIBUTES, Volume, VolumeNode, VolumeResult};
use crate::wire::dos::{access, attribute};
use crate::wire::file::OpenedFile;
use crate::wire::name_space::{OpenCreate, Opened, action, mode};
use crate::wire::{Completion, FileHandle, ShortHandle};

/// How to open a file, or what to do if it does not exist.
#[derive(Debug, Clone, Copy)]
struct OpenRequest {
    /// See [`mode`].
    mode: u8,
    /// See [`access`].
    access: u16,
    /// Selects the files that can be opened; creating ignores it.
    filter: EntryFilter,
    /// Attributes of a new file; those that are not stored are ignored.
    attributes: u32,
}

impl OpenRequest {
    /// True when the open may change an existing file.
    const fn writes(self) -> bool {
        self.access & access::WRITE != 0 || self.mode & mode::REPLACE != 0
    }

    /// True when the open may create or replace a file.
    const fn creates(self) -> bool {
        self.mode & (mode::CREATE | mode::REPLACE) != 0
    }
}

/// An opened file or a created directory.
struct OpenOutcome {
    handle: ShortHandle,
    /// See [`action`].
    action: u8,
    entry: Entry,
}

impl<V: Volume> Execution<'_, V> {
    /// 0x43, 0x4C, 0x4D and 0x54 (docs/protocols/ncp.md 3.2).
    pub fn open_classic(
        &mut self,
        directory: u8,
        path: &[u8],
        mode: u8,
        access: u16,
        attributes: u8,
    ) -> VolumeResult<()> {
        let place = self.path(directory, path)?;
        let filter = EntryFilter::of_classic(attributes);
        let request = OpenRequest { mode, access, filter, attributes: attributes.into() };
        let OpenOutcome { handle, mut entry, .. } = self.open(&place, request)?;
        entry.name = dos_name(&entry.name);
        self.reply(&OpenedFile { file: FileHandle::of_server(handle), entry: classic(&entry)? })
    }

    /// 87/1 (docs/protocols/ncp.md 3.4): opens a file or creates a directory.
    pub fn open_create(&mut self, call: &OpenCreate<'_>) -> VolumeResult<()> {
        let place = self.path_in(call.space, &call.path)?;
        let OpenOutcome { handle: file, action, mut entry } = if call.attributes & attribute::DIRECTORY == 0 {
            let filter = EntryFilter::of_name_space(call.search);
            let OpenCreate { mode, access, attributes, .. } = *call;
            self.open(&place, OpenRequest { mode, access, filter, attributes })?
        } else {
            let entry = self.shared.make_directory(&place)?;
            OpenOutcome { handle: ShortHandle([0; 4]), action: action::CREATED, entry }
        };
        entry.name = NameSpace::from_id(call.space)?.shown(&entry.name);
        let entry = named(self.shared, &entry, place.directory.volume, call.mask);
        Opened { file, action, entry }.put(self.out);
        Ok(())
    }

    /// Opens, replaces or creates a file.
    fn open(&mut self, place: &ResolvedPath, request: OpenRequest) -> VolumeResult<OpenOutcome> {
        // Checked before anything is created or truncated.
        self.connection.check_file_limit()?;
        let volume = place.directory.volume;
        let (mut entry, action) = match self.shared.entry(place) {
            Ok(entry) if entry.directory => return Err(Completion::InvalidPath),
            Ok(entry) if !request.creates() && !request.filter.shows(&entry) => {
                return Err(Completion::Failure);
            }
            Ok(entry) if request.writes() && (entry.read_only || entry.has(attribute::EXECUTE_ONLY)) => {
                return Err(Completion::NoWriteRights);
            }
            Ok(entry) if request.mode & mode::REPLACE != 0 => (entry, action::OPENED | action::REPLACED),
            Ok(entry) if request.mode & mode::OPEN != 0 => (entry, action::OPENED),
            Ok(_) => return Err(Completion::FileExists),
            Err(Completion::Failure) if request.mode & mode::CREATE != 0 => {
                (self.shared.create_file(place, request.attributes)?, action::OPENED | action::CREATED)
            }
            Err(completion) => return Err(completion),
        };
        let opened = VolumeNode { volume, node: entry.node };
        let replaces = action & action::REPLACED != 0;
        if replaces {
            // Replacing truncates the file, which open modes and locks of other clients may forbid.
            self.shared.open_files.may_discard(opened, self.connection.records.owner())?;
        }
        let file = OpenFile { place: opened, access: request.access, task: self.task };
        let handle = self.connection.add_file(file)?;
        if replaces {
            if let Err(completion) = self.shared.volume(volume)?.resize(entry.node, 0) {
                // The open has failed, so its handle must not stay.
                self.connection.close(handle)?;
                return Err(completion);
            }
            entry.size = 0;
        }
        Ok(OpenOutcome { handle, action, entry })
    }
}

impl<V: Volume> Shared<V> {
    fn create(&self, place: &ResolvedPath, directory: bool) -> VolumeResult<Entry> {
        let name = place.name()?;
        self.volume(place.directory.volume)?.create(place.directory.node, name, directory)
    }

    /// Creates a file with those of the attributes that are stored.
    fn create_file(&self, place: &ResolvedPath, attributes: u32) -> VolumeResult<Entry> {
        let mut entry = self.create(place, false)?;
        let stored = attributes & STORED_ATTRIBUTES;
        if stored != 0 {
            let change = Change { stored: Some(stored), ..Change::default() };
            // Where attributes cannot be stored, the file exists without them.
            if self.volume(place.directory.volume)?.change(entry.node, &change).is_ok() {
                entry.stored = stored;
            }
        }
        Ok(entry)
    }

    /// Creates a directory.
    pub fn make_directory(&self, place: &ResolvedPath) -> VolumeResult<Entry> {
        match self.entry(place) {
            Ok(_) => Err(Completion::FileExists),
            Err(Completion::Failure) => self.create(place, true),
            // A name that may not be looked up occupies its name nevertheless.
            Err(completion) => Err(completion),
        }
    }
}
