//! Searching, erasing and renaming.

use super::Shared;
use super::connection::{Connection, Directory};
use super::files::{classic, named};
use super::names::Pattern;
use super::paths::Place;
use super::volume::{Entry, Volume, VolumeResult};
use crate::wire::dos::search;
use crate::wire::find::{BeginSearch, ContinueSearch, FoundFile, SearchBegun, SearchPlace};
use crate::wire::name_space_search::{FoundNext, FoundSet, InitSearch, SearchNext, SearchSet, Sequence};
use crate::wire::{Codec, Completion, HandlePath};

const START: u32 = u32::MAX;
const CLASSIC_START: u16 = u16::MAX;
/// Bytes of an entry with the longest name there is.
const ENTRY_ROOM: usize = 76 + 1 + 12;

/// The next entry that pattern and search attributes want.
fn next<V: Volume>(
    shared: &Shared<V>,
    directory: Directory,
    mut after: Option<u32>,
    (pattern, wanted): (&Pattern, u8),
) -> VolumeResult<Entry> {
    let volume = shared.volume(directory.volume)?;
    while let Some(entry) = volume.next(directory.node, after)? {
        after = Some(entry.node);
        if pattern.matches(&entry.name) && (!entry.directory || wanted & search::DIRECTORIES != 0) {
            return Ok(entry);
        }
    }
    Err(Completion::Failure)
}

/// 0x3E.
pub fn begin<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    call: &BeginSearch<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let place = shared.place(connection, call.directory, &call.path)?;
    let found = shared.directory(&place)?;
    let directory = connection.add_search(found);
    let place = SearchPlace { volume: found.volume, directory, sequence: CLASSIC_START };
    SearchBegun::put(&SearchBegun { place, rights: 0xFF }, out);
    Ok(())
}

/// 0x3F; an entry whose number does not fit into the reply is an error, never a silent end.
pub fn go_on<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &ContinueSearch<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let directory = connection.search(call.place.directory)?;
    let after = (call.place.sequence != CLASSIC_START).then_some(u32::from(call.place.sequence));
    // Directories are asked for alone here: a search for them finds no files.
    let (pattern, directories) = (Pattern::new(&call.pattern), call.search & search::DIRECTORIES != 0);
    let mut entry = next(shared, directory, after, (&pattern, call.search))?;
    while entry.directory != directories {
        entry = next(shared, directory, Some(entry.node), (&pattern, call.search))?;
    }
    let sequence = u16::try_from(entry.node).ok().filter(|node| *node != CLASSIC_START);
    let sequence = sequence.ok_or(Completion::DirectoryIoError)?;
    FoundFile::put(&FoundFile { sequence, directory: call.place.directory, entry: classic(&entry)? }, out);
    Ok(())
}

/// 87/2.
pub fn init<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &InitSearch<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let found = shared.directory(&shared.place_of(connection, &call.path)?)?;
    Sequence::put(&Sequence { volume: found.volume, directory: found.node, entry: START }, out);
    Ok(())
}

const fn after(sequence: Sequence) -> Option<u32> {
    if sequence.entry == START { None } else { Some(sequence.entry) }
}

/// 87/3.
pub fn search_next<V: Volume>(
    shared: &Shared<V>,
    call: &SearchNext<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let directory = Directory { volume: call.sequence.volume, node: call.sequence.directory };
    let pattern = Pattern::new(&call.pattern);
    // The high byte of the attributes asks for directories as well.
    let wanted = wanted(call.search);
    let entry = next(shared, directory, after(call.sequence), (&pattern, wanted))?;
    let sequence = Sequence { entry: entry.node, ..call.sequence };
    FoundNext { sequence, entry: named(&entry, directory.volume, call.mask) }.put(out);
    Ok(())
}

/// Search attributes of the name-space calls: 8000 asks for directories as well.
const fn wanted(search: u16) -> u8 {
    if search & 0x8000 == 0 { search as u8 } else { search as u8 | search::DIRECTORIES }
}

/// 87/20: as many entries as the negotiated buffer holds, one at least.
pub fn search_set<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &SearchSet<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let directory = Directory { volume: call.sequence.volume, node: call.sequence.directory };
    let (pattern, wanted) = (Pattern::new(&call.pattern), wanted(call.search));
    let fits = (usize::from(connection.buffer) / ENTRY_ROOM).min(usize::from(call.max_entries)).max(1);
    let mut found: Vec<Entry> = Vec::new();
    let mut more = 0;
    while found.len() < fits {
        let last = found.last().map_or(after(call.sequence), |entry| Some(entry.node));
        match next(shared, directory, last, (&pattern, wanted)) {
            Ok(entry) => found.push(entry),
            Err(Completion::Failure) => break,
            Err(completion) => return Err(completion),
        }
    }
    let last = found.last().ok_or(Completion::Failure)?.node;
    if next(shared, directory, Some(last), (&pattern, wanted)).is_ok() {
        more = 0xFF;
    }
    let sequence = Sequence { entry: last, ..call.sequence };
    FoundSet::put_head(&sequence, more, found.len() as u16, out);
    for entry in &found {
        named(entry, directory.volume, call.mask).put(out);
    }
    Ok(())
}

/// 0x44: the files that a path with wildcards names.
pub fn erase<V: Volume>(
    shared: &mut Shared<V>,
    directory: Directory,
    last: &[u8],
    wanted: u8,
) -> VolumeResult<()> {
    let pattern = Pattern::new(last);
    let (mut after, mut erased) = (None, false);
    loop {
        match next(shared, directory, after, (&pattern, wanted & !search::DIRECTORIES)) {
            Ok(entry) => {
                after = Some(entry.node);
                shared.volume_mut(directory.volume)?.remove(entry.node)?;
                erased = true;
            }
            Err(Completion::Failure) if erased => return Ok(()),
            Err(completion) => return Err(completion),
        }
    }
}

/// Removes what a place names: a directory if `directories` says so, else a file.
pub fn remove<V: Volume>(shared: &mut Shared<V>, place: &Place, directories: bool) -> VolumeResult<()> {
    let entry = shared.entry(place)?;
    if entry.directory && !directories {
        return Err(Completion::InvalidPath);
    }
    shared.volume_mut(place.directory.volume)?.remove(entry.node)
}

/// 0x45 and 87/4.
pub fn rename<V: Volume>(shared: &mut Shared<V>, from: &Place, to: &Place) -> VolumeResult<()> {
    let entry = shared.entry(from)?;
    let name = to.name.as_deref().ok_or(Completion::InvalidPath)?;
    if from.directory.volume != to.directory.volume {
        return Err(Completion::RenameAcrossVolumes);
    }
    shared.directory(&Place { directory: to.directory, name: None })?;
    if shared.entry(to).is_ok_and(|there| there.node != entry.node) {
        return Err(Completion::AllNamesExist);
    }
    shared.volume_mut(to.directory.volume)?.rename(entry.node, to.directory.node, name)
}

/// 87/6.
pub fn obtain<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    (path, mask): (&HandlePath<'_>, crate::wire::ReturnMask),
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let place = shared.place_of(connection, path)?;
    named(&shared.entry(&place)?, place.directory.volume, mask).put(out);
    Ok(())
}
