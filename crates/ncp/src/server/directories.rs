//! Erasing, removing and renaming (docs/protocols/ncp.md 3.2, 3.4).

use super::entry_filter::EntryFilter;
use super::execute::Execution;
use super::names::{NameSpace, Pattern};
use super::paths::ResolvedPath;
use super::shared::Shared;
use super::volume::{Entry, Volume, VolumeNode, VolumeResult};
use crate::wire::Completion;
use crate::wire::dos::attribute;
use crate::wire::file::EraseFile;

/// Entries read from the volume at a time.
const PAGE: usize = 64;

/// The result of a call on several files: how many succeeded, and why others failed.
#[derive(Debug, Default)]
struct MultiFileResult {
    done: usize,
    open_files: usize,
    read_only: usize,
}

impl MultiFileResult {
    /// Counts one file; an error that concerns more than this file ends the call.
    fn count(&mut self, done: VolumeResult<()>) -> VolumeResult<()> {
        match done {
            Ok(()) => self.done += 1,
            Err(Completion::AllFilesInUse) => self.open_files += 1,
            Err(Completion::AllReadOnly) => self.read_only += 1,
            Err(completion) => return Err(completion),
        }
        Ok(())
    }

    /// The completion code of the call.
    const fn result(&self) -> VolumeResult<()> {
        match (self.open_files, self.read_only, self.done) {
            (0, 0, 0) => Err(Completion::Failure),
            (0, 0, _) => Ok(()),
            (0, _, 0) => Err(Completion::AllReadOnly),
            (0, ..) => Err(Completion::SomeReadOnly),
            (_, _, 0) => Err(Completion::AllFilesInUse),
            _ => Err(Completion::SomeFilesInUse),
        }
    }
}

impl<V: Volume> Shared<V> {
    /// Calls `each` for every entry of a directory that matches the last component of a path, which may be a pattern.
    pub fn for_each_entry(
        &self,
        directory: VolumeNode,
        last: &[u8],
        filter: EntryFilter,
        mut each: impl FnMut(&V, &Entry) -> VolumeResult<()>,
    ) -> VolumeResult<()> {
        let volume = self.volume(directory.volume)?;
        let pattern = &Pattern::new(last);
        let mut cookie = 0;
        let mut tally = MultiFileResult::default();
        loop {
            let page = volume.list(directory.node, cookie, PAGE)?;
            let Some((last, _)) = page.last() else { return tally.result() };
            cookie = *last;
            for (_, entry) in page {
                if filter.has(&entry) && pattern.matches(&NameSpace::Dos.shown(&entry.name)) {
                    tally.count(each(volume, &entry))?;
                }
            }
        }
    }
}

impl<V: Volume> Execution<'_, V> {
    /// 0x44 (docs/protocols/ncp.md 3.2): erases the files that match a path with wildcards.
    pub fn erase_files(&mut self, call: &EraseFile<'_>) -> VolumeResult<()> {
        let (directory, last) = self.shared.split_path(self.connection, call.directory, &call.path)?;
        let filter = EntryFilter::of_classic(call.search).files_only();
        self.shared.for_each_entry(directory, last, filter, |_, entry| self.erase(directory, entry))
    }

    /// Removes a file, unless its attributes or other connections forbid it.
    fn erase(&self, directory: VolumeNode, entry: &Entry) -> VolumeResult<()> {
        if entry.read_only {
            return Err(Completion::AllReadOnly);
        }
        if entry.has(attribute::DELETE_INHIBIT) {
            return Err(Completion::NoDeleteRights);
        }
        let place = VolumeNode { node: entry.node, ..directory };
        let may = self.shared.open_files.may_discard(place, self.connection.records.owner());
        may.map_err(|_| Completion::AllFilesInUse)?;
        self.shared.volume(directory.volume)?.remove(directory.node, &entry.name, false)
    }

    /// Removes the file or directory of a path, if the filter selects it.
    pub fn remove(&self, place: &ResolvedPath, filter: EntryFilter) -> VolumeResult<()> {
        place.name()?;
        let entry = self.shared.entry(place)?;
        if !filter.shows(&entry) {
            return Err(Completion::Failure);
        }
        if !filter.has(&entry) {
            return Err(Completion::InvalidPath);
        }
        if !entry.directory {
            return self.erase(place.directory, &entry);
        }
        if entry.has(attribute::DELETE_INHIBIT) {
            return Err(Completion::NoDeleteRights);
        }
        self.shared.volume(place.directory.volume)?.remove(place.directory.node, &entry.name, true)
    }

    /// 0x45, 0x16/0x0F and 87/4 (docs/protocols/ncp.md 3.2, 3.4). A file that another connection has open is renamed unless
    /// that connection denies writing; its handles stay valid.
    pub fn rename(&self, from: &ResolvedPath, to: &ResolvedPath, filter: EntryFilter) -> VolumeResult<()> {
        from.name()?;
        let entry = self.shared.entry(from)?;
        let name = to.name()?;
        if !filter.shows(&entry) {
            return Err(Completion::Failure);
        }
        if entry.read_only {
            return Err(Completion::AllReadOnly);
        }
        if entry.has(attribute::RENAME_INHIBIT) {
            return Err(Completion::NoRenameRights);
        }
        let renamed = VolumeNode { volume: from.directory.volume, node: entry.node };
        let may = self.shared.open_files.may_rename(renamed, self.connection.records.owner());
        may.map_err(|_| Completion::AllFilesInUse)?;
        if from.directory.volume != to.directory.volume {
            return Err(Completion::RenameAcrossVolumes);
        }
        match self.shared.entry(to) {
            Ok(there) if there.node != entry.node => return Err(Completion::AllNamesExist),
            // A name that may not be looked up occupies its name nevertheless.
            Err(completion) if completion != Completion::Failure => return Err(completion),
            _ => {}
        }
        let volume = self.shared.volume(to.directory.volume)?;
        volume.rename(from.directory.node, &entry.name, to.directory.node, name)
    }
}
