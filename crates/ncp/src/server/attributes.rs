//! Attributes and timestamps of files. What a Unix file can store is changed. The rest is refused or, where clients
//! set it along with other fields, ignored.

use super::Shared;
use super::connection::{Connection, VolumeNode};
use super::directories::for_each_file;
use super::names::NameSpace;
use super::volume::{Change, Entry, Volume, VolumeResult};
use crate::wire::dos::attribute;
use crate::wire::file::{SetFileAttributes, SetFileTime};
use crate::wire::name_space::{ModifyInfo, change};
use crate::wire::{Completion, DosTime};

/// Attributes that are ignored: a client that sets them depends on no effect.
const OVER: u32 = attribute::ARCHIVE | attribute::SHAREABLE;

/// The read-only flag that the attributes request; an error if they request what cannot be stored.
fn kept(entry: &Entry, attributes: u32) -> VolumeResult<Option<bool>> {
    let own = if entry.directory { attribute::DIRECTORY } else { attribute::READ_ONLY };
    if attributes & !(own | OVER) != 0 {
        return Err(Completion::NoModifyRights);
    }
    Ok((!entry.directory).then_some(attributes & attribute::READ_ONLY != 0))
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
    for_each_file(shared, files, |volume, entry| {
        let read_only = kept(entry, u32::from(call.attributes))?;
        volume.change(entry.node, &Change { read_only, ..Change::default() })
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
    let mut wanted = Change::default();
    if has(change::ATTRIBUTES) {
        wanted.read_only = kept(&entry, call.attributes)?;
    }
    if has(change::MODIFIED_DATE | change::MODIFIED_TIME) {
        let date = if has(change::MODIFIED_DATE) { call.modified.date } else { entry.modified.date };
        let time = if has(change::MODIFIED_TIME) { call.modified.time } else { entry.modified.time };
        wanted.modified = Some(unix(DosTime { date, time })?);
    }
    if has(change::ACCESSED) {
        wanted.accessed = Some(unix(DosTime { date: call.accessed, time: 0 })?);
    }
    shared.volume(place.directory.volume)?.change(entry.node, &wanted)
}
