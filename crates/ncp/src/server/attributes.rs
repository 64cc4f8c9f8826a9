//! Attributes and timestamps of files. What the volume can store is changed. The rest is refused or, where clients
//! set it along with other fields, ignored.

use super::entry_filter::EntryFilter;
use super::execute::Execution;
use super::volume::{Change, Entry, STORED_ATTRIBUTES, Volume, VolumeResult};
use crate::wire::dos::attribute;
use crate::wire::file::SetFileAttributes;
use crate::wire::name_space::{ModifyInfo, change};
use crate::wire::{Completion, DosTime};

/// Attributes that are ignored: a client that sets them depends on no effect.
const OVER: u32 = attribute::ARCHIVE | attribute::SHAREABLE;

/// The change that gives an entry these attributes; an error if they cannot be stored. Only the attributes of the mask
/// `known` change, because the older calls have eight of them.
fn change_of(entry: &Entry, attributes: u32, known: u32) -> VolumeResult<Change> {
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

impl<V: Volume> Execution<'_, V> {
    /// 0x46 (docs/protocols/ncp.md 3.2): the files that match a path with wildcards.
    pub fn set_attributes(&mut self, call: &SetFileAttributes<'_>) -> VolumeResult<()> {
        let (directory, last) = self.shared.split_path(self.connection, call.directory, &call.path)?;
        let filter = EntryFilter::of_classic(call.search).files_only();
        self.shared.for_each_entry(directory, last, filter, |volume, entry| {
            volume.change(entry.node, &change_of(entry, call.attributes.into(), 0xFF)?)
        })
    }

    /// 87/7 (docs/protocols/ncp.md 3.4): the mask selects the fields to change.
    pub fn modify_info(&mut self, call: &ModifyInfo<'_>) -> VolumeResult<()> {
        let place = self.path_in(call.space, &call.path)?;
        let entry = self.shared.entry(&place)?;
        let has = |bits: u32| call.change & bits != 0;
        if has(change::RIGHTS | change::MAX_SPACE) {
            return Err(Completion::NoModifyRights);
        }
        if !EntryFilter::of_name_space(call.search).shows(&entry) {
            return Err(Completion::Failure);
        }
        let mut changes = if has(change::ATTRIBUTES) {
            change_of(&entry, call.attributes, u32::MAX)?
        } else {
            Change::default()
        };
        // A call may set the date, the time, or both; the other stays.
        let moment = |old: DosTime, new: DosTime, date: u32, time: u32| {
            let date = if has(date) { new.date } else { old.date };
            let time = if has(time) { new.time } else { old.time };
            unix(DosTime { date, time })
        };
        if has(change::MODIFIED_DATE | change::MODIFIED_TIME) {
            let time = moment(entry.modified, call.modified, change::MODIFIED_DATE, change::MODIFIED_TIME)?;
            changes.modified = Some(time);
        }
        if has(change::CREATED_DATE | change::CREATED_TIME) {
            let time = moment(entry.created, call.created, change::CREATED_DATE, change::CREATED_TIME)?;
            changes.created = Some(time);
        }
        if has(change::ACCESSED) {
            changes.accessed = Some(unix(DosTime { date: call.accessed, time: 0 })?);
        }
        self.shared.volume(place.directory.volume)?.change(entry.node, &changes)
    }
}
