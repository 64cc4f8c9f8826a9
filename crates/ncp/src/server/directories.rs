//! Calls that search, erase and rename (docs/protocols/ncp.md 3.2, 3.4).

use super::Shared;
use super::connection::{Connection, SearchPosition, VolumeNode};
use super::entry_filter::EntryFilter;
use super::files::{classic, named};
use super::names::{NameSpace, Pattern};
use super::paths::ResolvedPath;
use super::volume::{Entry, Volume, VolumeResult};
use super::volumes::rights;
use crate::wire::dos::attribute;
use crate::wire::find::{BeginSearch, ContinueSearch, FoundFile, SearchBegun, SearchFile, SearchPlace};
use crate::wire::name_space::{
    EntryRights, FullPath, GetEntryRights, GetFullPath, ObtainInfo, PATH_OF_FILE, WHOLE_PATH,
};
use crate::wire::name_space_search::{FoundNext, FoundSet, InitSearch, SearchNext, SearchSet, Sequence};
use crate::wire::{Codec, Completion, HandlePath, Pstr};

const START: u32 = u32::MAX;
const CLASSIC_START: u16 = u16::MAX;
/// Bytes of the header of a search set, of an entry, and of the length of its name.
const SET_HEAD: usize = 12;
const ENTRY: usize = 76 + 1;
/// Most bytes of the components of a path in one reply: clients have a buffer of that size.
const MAX_COMPONENTS: usize = 512;
/// Entries read from the volume at a time.
const PAGE: usize = 64;

/// A search: directory, pattern, filter and name space.
struct Search<'p> {
    directory: VolumeNode,
    pattern: &'p Pattern,
    wanted: EntryFilter,
    space: NameSpace,
}

impl Search<'_> {
    /// Entries after a cookie with their own cookies, until `enough` rejects one; the flag is true if it did.
    fn entries<V: Volume>(
        &self,
        shared: &Shared<V>,
        mut cookie: u64,
        mut enough: impl FnMut(&Entry) -> bool,
    ) -> VolumeResult<(Vec<(u64, Entry)>, bool)> {
        let volume = shared.volume(self.directory.volume)?;
        let mut found = Vec::new();
        loop {
            let page = volume.list(self.directory.node, cookie, PAGE)?;
            let Some((last, _)) = page.last() else { return Ok((found, false)) };
            cookie = *last;
            for (cookie, mut entry) in page {
                if !self.wanted.has(&entry) {
                    continue;
                }
                entry.name = self.space.shown(&entry.name);
                if self.pattern.matches(&entry.name) {
                    if enough(&entry) {
                        return Ok((found, true));
                    }
                    found.push((cookie, entry));
                }
            }
        }
    }

    /// The first entry after a cookie.
    fn next<V: Volume>(&self, shared: &Shared<V>, cookie: u64) -> VolumeResult<(u64, Entry)> {
        let mut count = 0;
        let (mut found, _) = self.entries(shared, cookie, |_| {
            count += 1;
            count > 1
        })?;
        found.pop().ok_or(Completion::Failure)
    }
}

/// The pattern of a search. An empty one matches every name; calls that change files have no such rule.
fn search_pattern(sent: &[u8]) -> Pattern {
    let empty = sent.iter().all(|byte| *byte == 0xFF);
    Pattern::new(if empty { b"*" } else { sent })
}

/// 0x3E (docs/protocols/ncp.md 3.2).
pub fn begin<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    call: &BeginSearch<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let place = shared.resolve_path(connection, call.directory, &call.path)?;
    let found = shared.directory(&place)?;
    let directory = connection.add_search(found);
    let place = SearchPlace { volume: found.volume, directory, sequence: CLASSIC_START };
    SearchBegun::put(&SearchBegun { place, rights: rights(shared, found.volume)? }, out);
    Ok(())
}

/// 0x3F (docs/protocols/ncp.md 3.2).
pub fn go_on<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    call: &ContinueSearch<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let directory = connection.search(call.place.directory)?;
    let cookie = match call.place.sequence {
        CLASSIC_START => 0,
        number => connection.position(number, directory)?,
    };
    let pattern = &search_pattern(&call.pattern);
    let wanted = EntryFilter::of_classic(call.search);
    let search = Search { directory, pattern, wanted, space: NameSpace::Dos };
    let (cookie, entry) = search.next(shared, cookie)?;
    let entry = classic(&entry)?;
    let sequence = connection.add_position(SearchPosition { directory, cookie });
    FoundFile::put(&FoundFile { sequence, directory: call.place.directory, entry }, out);
    Ok(())
}

/// 0x40 (docs/protocols/ncp.md 3.2): combines 0x3E and 0x3F; the last component of the path is the pattern.
pub fn search_file<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    call: &SearchFile<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let (directory, pattern) = shared.split_path(connection, call.directory, &call.pattern)?;
    let cookie = match call.sequence {
        CLASSIC_START => 0,
        number => connection.position(number, directory)?,
    };
    let pattern = &search_pattern(pattern);
    let wanted = EntryFilter::of_classic(call.search);
    let search = Search { directory, pattern, wanted, space: NameSpace::Dos };
    let (cookie, entry) = search.next(shared, cookie)?;
    let entry = classic(&entry)?;
    let sequence = connection.add_position(SearchPosition { directory, cookie });
    FoundFile::put(&FoundFile { sequence, directory: [0; 2], entry }, out);
    Ok(())
}

/// 87/2 (docs/protocols/ncp.md 3.4).
pub fn init<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &InitSearch<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let found = shared.directory(&shared.resolve_handle_path(
        connection,
        NameSpace::of(call.space)?,
        &call.path,
    )?)?;
    Sequence::put(&Sequence { volume: found.volume, directory: found.node, entry: START }, out);
    Ok(())
}

/// Directory and cookie of a sequence.
fn resumed(connection: &Connection, sequence: Sequence) -> VolumeResult<(VolumeNode, u64)> {
    let directory = VolumeNode { volume: sequence.volume, node: sequence.directory };
    let cookie = match sequence.entry {
        START => 0,
        entry => {
            let number = u16::try_from(entry).map_err(|_| Completion::DirectoryIoError)?;
            connection.position(number, directory)?
        }
    };
    Ok((directory, cookie))
}

/// 87/3 (docs/protocols/ncp.md 3.4).
pub fn search_next<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    call: &SearchNext<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let (directory, cookie) = resumed(connection, call.sequence)?;
    let pattern = &search_pattern(&call.pattern);
    let wanted = EntryFilter::of_name_space(call.search);
    let space = shared.name_space(directory.volume, call.space)?;
    let search = Search { directory, pattern, wanted, space };
    let (cookie, entry) = search.next(shared, cookie)?;
    let number = connection.add_position(SearchPosition { directory, cookie });
    let sequence = Sequence { entry: u32::from(number), ..call.sequence };
    FoundNext { sequence, entry: named(shared, &entry, directory.volume, call.mask) }.put(out);
    Ok(())
}

/// 87/20 (docs/protocols/ncp.md 3.4): as many entries as the negotiated buffer holds, at least one.
pub fn search_set<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    call: &SearchSet<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let (directory, cookie) = resumed(connection, call.sequence)?;
    let pattern = &search_pattern(&call.pattern);
    let wanted = EntryFilter::of_name_space(call.search);
    let space = shared.name_space(directory.volume, call.space)?;
    let search = Search { directory, pattern, wanted, space };
    let reply_limit = usize::from(connection.buffer);
    let limit = call.max_entries;
    let mut taken = SET_HEAD;
    let mut count = 0;
    let (found, more) = search.entries(shared, cookie, |entry| {
        taken += ENTRY + entry.name.len();
        count += 1;
        count > 1 && (taken > reply_limit || count > limit)
    })?;
    let (cookie, _) = found.last().ok_or(Completion::Failure)?;
    let number = connection.add_position(SearchPosition { directory, cookie: *cookie });
    let sequence = Sequence { entry: u32::from(number), ..call.sequence };
    FoundSet::put_head(&sequence, if more { 0xFF } else { 0 }, found.len() as u16, out);
    for (_, entry) in &found {
        named(shared, entry, directory.volume, call.mask).put(out);
    }
    Ok(())
}

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

/// Calls `each` for every entry that matches the last component of a path, which may be a pattern.
pub fn for_each_entry<V: Volume>(
    shared: &Shared<V>,
    (directory, last): (VolumeNode, &[u8]),
    filter: EntryFilter,
    mut each: impl FnMut(&V, &Entry) -> VolumeResult<()>,
) -> VolumeResult<()> {
    let volume = shared.volume(directory.volume)?;
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

/// 0x44 (docs/protocols/ncp.md 3.2): erases the files that match a path with wildcards.
pub fn erase<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    (directory, last): (VolumeNode, &[u8]),
    attributes: u8,
) -> VolumeResult<()> {
    let filter = EntryFilter::of_classic(attributes).files_only();
    let erase = |_: &V, entry: &Entry| erase_one(shared, connection, directory, entry);
    for_each_entry(shared, (directory, last), filter, erase)
}

/// Removes a file, unless its attributes or other connections forbid it.
fn erase_one<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    directory: VolumeNode,
    entry: &Entry,
) -> VolumeResult<()> {
    if entry.read_only {
        return Err(Completion::AllReadOnly);
    }
    if entry.has(attribute::DELETE_INHIBIT) {
        return Err(Completion::NoDeleteRights);
    }
    let place = VolumeNode { node: entry.node, ..directory };
    let may = shared.open_files.may_discard(place, connection.records.owner());
    may.map_err(|_| Completion::AllFilesInUse)?;
    shared.volume(directory.volume)?.remove(directory.node, &entry.name, false)
}

/// Removes the file or directory of a path, if the filter selects it.
pub fn remove<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    place: &ResolvedPath,
    wanted: EntryFilter,
) -> VolumeResult<()> {
    place.name()?;
    let entry = shared.entry(place)?;
    if !wanted.shows(&entry) {
        return Err(Completion::Failure);
    }
    if !wanted.has(&entry) {
        return Err(Completion::InvalidPath);
    }
    if !entry.directory {
        return erase_one(shared, connection, place.directory, &entry);
    }
    if entry.has(attribute::DELETE_INHIBIT) {
        return Err(Completion::NoDeleteRights);
    }
    shared.volume(place.directory.volume)?.remove(place.directory.node, &entry.name, true)
}

/// 0x45, 0x16/0x0F and 87/4 (docs/protocols/ncp.md 3.2, 3.4). A file that another connection has open is renamed unless
/// that connection denies writing; its handles stay valid.
pub fn rename<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    (from, to): (&ResolvedPath, &ResolvedPath),
    filter: EntryFilter,
) -> VolumeResult<()> {
    from.name()?;
    let entry = shared.entry(from)?;
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
    let may = shared.open_files.may_rename(renamed, connection.records.owner());
    may.map_err(|_| Completion::AllFilesInUse)?;
    if from.directory.volume != to.directory.volume {
        return Err(Completion::RenameAcrossVolumes);
    }
    match shared.entry(to) {
        Ok(there) if there.node != entry.node => return Err(Completion::AllNamesExist),
        // A name that may not be looked up occupies its name nevertheless.
        Err(completion) if completion != Completion::Failure => return Err(completion),
        _ => {}
    }
    let volume = shared.volume(to.directory.volume)?;
    volume.rename(from.directory.node, &entry.name, to.directory.node, name)
}

/// 87/6 (docs/protocols/ncp.md 3.4). The root of a volume has no name in the reply.
pub fn obtain<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &ObtainInfo<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let spaces = (call.space, call.answer_space);
    let (volume, entry) = obtained(shared, connection, spaces, call.search, &call.path)?;
    named(shared, &entry, volume, call.mask).put(out);
    Ok(())
}

/// 87/29 (docs/protocols/ncp.md 3.4).
pub fn entry_rights<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &GetEntryRights<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let spaces = (call.space, call.answer_space);
    let (volume, entry) = obtained(shared, connection, spaces, call.search, &call.path)?;
    let rights = u16::from(rights(shared, volume)?);
    EntryRights { rights, entry: named(shared, &entry, volume, call.mask) }.put(out);
    Ok(())
}

/// The volume and the entry of a path, with its name in the second name space.
fn obtained<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    (space, answer_space): (u8, u8),
    search: u16,
    path: &HandlePath<'_>,
) -> VolumeResult<(u8, Entry)> {
    let place = shared.resolve_handle_path(connection, NameSpace::of(space)?, path)?;
    let mut entry = shared.entry(&place)?;
    if !EntryFilter::of_name_space(search).shows(&entry) {
        return Err(Completion::Failure);
    }
    entry.name = shared.name_space(place.directory.volume, answer_space)?.shown(&entry.name);
    Ok((place.directory.volume, entry))
}

/// 87/28 (docs/protocols/ncp.md 3.4). A path that is longer than a reply is continued at the directory of its cookie.
pub fn full_path<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &GetFullPath<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let place = shared.resolve_handle_path(connection, NameSpace::of(call.space)?, &call.path)?;
    let number = place.directory.volume;
    let space = shared.name_space(number, call.answer_space)?;
    let volume = shared.volume(number)?;
    let entry = shared.entry(&place)?;
    let mut node = if call.next == WHOLE_PATH { entry.node } else { call.next };
    let mut components = Vec::new();
    let mut count = 0;
    while node != volume.root() {
        let (parent, name) = volume.place(node)?;
        let name = space.shown(&name);
        if components.len() + 1 + name.len() > MAX_COMPONENTS {
            break;
        }
        Pstr::put(&Pstr::new(&name).map_err(|_| Completion::InvalidPath)?, &mut components);
        count += 1;
        node = parent;
    }
    let (name, _) = &shared.volumes[usize::from(number)];
    let is_whole = node == volume.root() && components.len() + 1 + name.len() <= MAX_COMPONENTS;
    if is_whole {
        Pstr::put(&Pstr::new(name).map_err(|_| Completion::InvalidPath)?, &mut components);
        count += 1;
    }
    let (volume, next) = if is_whole { (WHOLE_PATH, WHOLE_PATH) } else { (u32::from(number), node) };
    let flags = if entry.directory { 0 } else { PATH_OF_FILE };
    let size = components.len() as u16;
    FullPath::put(&FullPath { flags, volume, next, size, count, components: &components }, out);
    Ok(())
}
