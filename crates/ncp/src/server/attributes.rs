//! Attributes and timestamps of files. What the volume can store is changed. The rest is refused or, where clients
//! set it along with other fields, ignored.

use super::Shared;
use super::connection::{Connection, VolumeNode};
use super::directories::for_each_entry;
use super::entry_filter::EntryFilter;
use super::names::NameSpace;
use super::volume::{Change, Entry, STORED_ATTRIBUTES, Volume, VolumeResult};
use crate::wire::dos::attribute;
use crate::wire::file::{SetFileAttributes, SetFileTime};
use crate::wire::name_space::{ModifyInfo, change};
use crate::wire::{Completion, DosTime};

/// Attributes that are ignored: a client that sets them depends on no effect.
const OVER: u32 = attribute::ARCHIVE | attribute::SHAREABLE;

/// The change that gives an entry these attributes; an error if they cannot be stored. Only the attributes of the mask
/// `known` change, because the older calls have eight of them.
fn wanted(entry: &Entry, attributes: u32, known: u32) -> VolumeResult<Change> {
    let own = if entry.directory { attribute::DIRECTORY } else { attribute::READ_ONLY };
    let stored =
        if entry.directory { STORED_ATTRIBUTES & !attribute::EXECUTE_ONLY } else { STORED_ATTRIBUTES };
    if attributes & !(own | OVER | stored) != 0 {
        return Err(Completion::NoModifyRights);
    }
    // What is marked for execution stays so, or the mark would protect nothing.
    if entry.has(attribute::EXECUTE_ONLY) && attributes & attribute::EXECUTE_ONLY == 0 {
        return Err(Completion::NoModifyRights);
    }
    let stored = entry.stored & !known | attributes & stored & known;
    Ok(Change {
        read_only: (!entry.directory).then_some(attributes & attribute::READ_ONLY != 0),
        stored: Some(stored),
        ..Change::default()
    })
}

fn unix(time: DosTime) -> VolumeResult<i64> {
    time.to_unix().ok_or(Completion::Failure)
}

/// 0x46 (docs/protocols/ncp.md 3.2): the files that match a path with wildcards.
pub fn set<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &SetFileAttributes<'_>,
) -> VolumeResult<()> {
    let files: (VolumeNode, &[u8]) = shared.split_path(connection, call.directory, &call.path)?;
    let filter = EntryFilter::of_classic(call.search).files_only();
    for_each_entry(shared, files, filter, |volume, entry| {
        volume.change(entry.node, &wanted(entry, u32::from(call.attributes), 0xFF)?)
    })
}

/// 0x4B (docs/protocols/ncp.md 3.2).
pub fn set_time<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &SetFileTime,
) -> VolumeResult<()> {
    let place = connection.file(call.file.short())?.place;
    let modified = Some(unix(call.modified)?);
    shared.volume(place.volume)?.change(place.node, &Change { modified, ..Change::default() })
}

/// 87/7 (docs/protocols/ncp.md 3.4): the mask selects the fields to change.
pub fn modify<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    call: &ModifyInfo<'_>,
) -> VolumeResult<()> {
    let place = shared.resolve_handle_path(connection, NameSpace::of(call.space)?, &call.path)?;
    let entry = shared.entry(&place)?;
    let has = |bits: u32| call.change & bits != 0;
    if has(change::RIGHTS | change::MAX_SPACE) {
        return Err(Completion::NoModifyRights);
    }
    if !EntryFilter::of_name_space(call.search).shows(&entry) {
        return Err(Completion::Failure);
    }
    let mut change =
        if has(change::ATTRIBUTES) { wanted(&entry, call.attributes, u32::MAX)? } else { Change::default() };
    // A call may set the date, the time, or both; the other stays.
    let moment = |old: DosTime, new: DosTime, (date, time): (u32, u32)| {
        let date = if has(date) { new.date } else { old.date };
        let time = if has(time) { new.time } else { old.time };
        unix(DosTime { date, time })
    };
    if has(change::MODIFIED_DATE | change::MODIFIED_TIME) {
        let bits = (change::MODIFIED_DATE, change::MODIFIED_TIME);
        change.modified = Some(moment(entry.modified, call.modified, bits)?);
    }
    if has(change::CREATED_DATE | change::CREATED_TIME) {
        let bits = (change::CREATED_DATE, change::CREATED_TIME);
        change.created = Some(moment(entry.created, call.created, bits)?);
    }
    if has(change::ACCESSED) {
        change.accessed = Some(unix(DosTime { date: call.accessed, time: 0 })?);
    }
    shared.volume(place.directory.volume)?.change(entry.node, &change)
}
