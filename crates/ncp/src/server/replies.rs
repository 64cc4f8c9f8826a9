//! Entries of directories as replies show them (docs/protocols/ncp.md 3.2, 3.4).

use super::names::NameSpace;
use super::shared::Shared;
use super::volume::{Entry, Volume, VolumeResult};
use crate::wire::text::padded;
use crate::wire::{Completion, FileEntry, NamedInfo, Pstr, ReturnMask};

/// The entry of a file in the classic calls, with its DOS name; a size above 4 GiB is shown as the largest 32-bit
/// value.
pub fn classic(entry: &Entry) -> VolumeResult<FileEntry> {
    Ok(FileEntry {
        name: padded(&entry.name).map_err(|_| Completion::BadFileName)?,
        attributes: entry.attributes() as u8,
        execute: 0,
        size: u32::try_from(entry.size).unwrap_or(u32::MAX),
        created: entry.created.date,
        accessed: entry.accessed,
        modified: entry.modified,
    })
}

/// The information block and, if the mask selects it, the name. Names count as created in the name space that stores them: the
/// Linux kernel's client shows those of the DOS name space in lower case.
pub fn named<'e, V: Volume>(
    shared: &Shared<V>,
    entry: &'e Entry,
    volume: u8,
    mask: ReturnMask,
) -> NamedInfo<'e> {
    let has_long_names = shared.volume(volume).is_ok_and(V::has_long_names);
    let created_in = if has_long_names { NameSpace::Long } else { NameSpace::Dos };
    let name = mask.has(ReturnMask::NAME).then(|| Pstr::new(&entry.name).unwrap_or_default());
    NamedInfo { info: entry.info(volume, created_in.id()), name }
}
