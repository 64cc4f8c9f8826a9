//! Attributes in SMB (MS-FSCC 2.4 and 2.6).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_smb::wire::file_info::FileMetadata;

use crate::{Attributes, DosAttributes, Volume};

/// `FILE_ATTRIBUTE_READONLY`.
pub(crate) const READ_ONLY: u32 = 0x1;
/// `FILE_ATTRIBUTE_HIDDEN`.
pub(crate) const HIDDEN: u32 = 0x2;
/// `FILE_ATTRIBUTE_SYSTEM`.
pub(crate) const SYSTEM: u32 = 0x4;
/// `FILE_ATTRIBUTE_DIRECTORY`.
pub(crate) const DIRECTORY: u32 = 0x10;
/// `FILE_ATTRIBUTE_ARCHIVE`, which Windows sets on every new file.
pub(crate) const ARCHIVE: u32 = 0x20;
/// `FILE_ATTRIBUTE_TEMPORARY`.
pub(crate) const TEMPORARY: u32 = 0x100;
/// `FILE_ATTRIBUTE_NORMAL`: no other attribute.
const NORMAL: u32 = 0x80;
/// The attributes that are stored: hidden, system, archive, temporary, offline, not indexed.
const STORED: u32 = 0x3126;
/// `FILE_ATTRIBUTE_SPARSE_FILE`, which only a control code sets.
const SPARSE: u32 = 0x200;
/// Stored with attributes that a client has set, so that a file without any differs from one that nobody has touched.
const EXPLICIT: u32 = 0x4000_0000;

/// Seconds from 1601, where FILETIME starts, to 1970.
const EPOCH_SECONDS: u64 = 11_644_473_600;

/// FILETIME ticks in a second.
const TICKS_PER_SECOND: u64 = 10_000_000;

/// What requests and listings report of a node.
pub(crate) fn describe(volume: &dyn Volume, attributes: &Attributes) -> FileMetadata {
    // A volume that stores none has the default.
    let dos = volume.dos_attributes(attributes.node).unwrap_or_default();
    FileMetadata {
        created: file_time(dos.created.unwrap_or(attributes.created)),
        accessed: file_time(attributes.accessed),
        modified: file_time(attributes.modified),
        changed: file_time(attributes.changed),
        allocation: if attributes.directory { 0 } else { attributes.allocated.max(attributes.size) },
        end_of_file: attributes.size,
        attributes: shown_bits(attributes, &dos),
        file_id: attributes.node.0,
    }
}

/// The attributes of a node as clients see them. A file that nobody has given any is to be archived.
fn shown_bits(attributes: &Attributes, dos: &DosAttributes) -> u32 {
    let explicit = dos.bits & (EXPLICIT | STORED) != 0;
    let stored = dos.bits & STORED;
    if attributes.directory {
        return DIRECTORY | stored;
    }
    let stored = if explicit { stored } else { ARCHIVE };
    let bits = stored | dos.bits & SPARSE | if is_read_only(attributes) { READ_ONLY } else { 0 };
    if bits == 0 { NORMAL } else { bits }
}

/// Stores the attributes of a node that its mode does not express, unless they are those already. A volume that stores
/// none keeps the default.
pub(crate) fn store_bits(volume: &dyn Volume, attributes: &Attributes, bits: u32) {
    let old = volume.dos_attributes(attributes.node).unwrap_or_default();
    let shown = shown_bits(attributes, &old) & STORED;
    if shown != bits & STORED {
        let bits = old.bits & !STORED | bits & STORED | EXPLICIT;
        let stored = volume.set_dos_attributes(attributes.node, &DosAttributes { bits, ..old });
        if let Err(error) = stored {
            tracing::debug!(%error, "attributes of DOS are not stored");
        }
    }
}

/// True for a file whose zeros may be holes.
pub(crate) fn is_sparse(found: &FileMetadata) -> bool {
    found.attributes & SPARSE != 0
}

/// Stores whether the zeros of a file may be holes. A volume that stores no attributes of DOS keeps the default.
pub(crate) fn store_sparse(volume: &dyn Volume, attributes: &Attributes, sparse: bool) {
    let old = volume.dos_attributes(attributes.node).unwrap_or_default();
    let shown = shown_bits(attributes, &old) & STORED;
    let bits = old.bits & !(STORED | SPARSE) | shown | EXPLICIT | if sparse { SPARSE } else { 0 };
    if let Err(error) = volume.set_dos_attributes(attributes.node, &DosAttributes { bits, ..old }) {
        tracing::debug!(%error, "attributes of DOS are not stored");
    }
}

/// Stores a creation time. A volume that stores none keeps its own.
pub(crate) fn store_created(volume: &dyn Volume, attributes: &Attributes, created: SystemTime) {
    let old = volume.dos_attributes(attributes.node).unwrap_or_default();
    let new = DosAttributes { created: Some(created), ..old };
    if let Err(error) = volume.set_dos_attributes(attributes.node, &new) {
        tracing::debug!(%error, "the creation time is not stored");
    }
}

/// True for a file without write permission.
pub(crate) fn is_read_only(attributes: &Attributes) -> bool {
    !attributes.directory && attributes.mode & 0o222 == 0
}

/// The mode for the attribute `read_only`.
pub(crate) fn mode_with(mode: u32, read_only: bool) -> u32 {
    match (read_only, mode & 0o222) {
        (true, _) => mode & !0o222,
        // Only the owner's bit: clearing READONLY must not grant more than it has to.
        (false, 0) => mode | 0o200,
        (false, _) => mode,
    }
}

/// Ticks of 100 ns since 1601; earlier times are 0.
pub(crate) fn file_time(time: SystemTime) -> u64 {
    let ticks = |distance: Duration| {
        distance.as_secs().saturating_mul(TICKS_PER_SECOND) + u64::from(distance.subsec_nanos() / 100)
    };
    let epoch = EPOCH_SECONDS * TICKS_PER_SECOND;
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => epoch.saturating_add(ticks(after)),
        Err(before) => epoch.saturating_sub(ticks(before.duration())),
    }
}

/// The instant of a FILETIME, if the system can express it.
pub(crate) fn system_time(file_time: u64) -> Option<SystemTime> {
    let duration =
        |ticks: u64| Duration::new(ticks / TICKS_PER_SECOND, (ticks % TICKS_PER_SECOND) as u32 * 100);
    let epoch = EPOCH_SECONDS * TICKS_PER_SECOND;
    match file_time.checked_sub(epoch) {
        Some(after) => UNIX_EPOCH.checked_add(duration(after)),
        None => UNIX_EPOCH.checked_sub(duration(epoch - file_time)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{file_time, mode_with, system_time};

    #[test]
    fn file_times_round_trip() {
        assert_eq!(file_time(UNIX_EPOCH), 116_444_736_000_000_000);
        for time in [UNIX_EPOCH, UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_700)] {
            assert_eq!(system_time(file_time(time)), Some(time));
        }
        let before = UNIX_EPOCH - Duration::from_secs(86_400);
        assert_eq!(system_time(file_time(before)), Some(before));
    }

    #[test]
    fn read_only_is_the_lack_of_write_permission() {
        assert_eq!(mode_with(0o644, true), 0o444);
        assert_eq!(mode_with(0o444, false), 0o644);
        assert_eq!(mode_with(0o660, false), 0o660);
    }
}
