//! Attributes in SMB (MS-FSCC 2.4 and 2.6).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_smb::wire::file_info::FileMetadata;

use crate::Attributes;

/// `FILE_ATTRIBUTE_READONLY`.
pub(super) const READ_ONLY: u32 = 0x1;
/// `FILE_ATTRIBUTE_DIRECTORY`.
pub(super) const DIRECTORY: u32 = 0x10;
/// `FILE_ATTRIBUTE_ARCHIVE`, which Windows sets on every new file.
const ARCHIVE: u32 = 0x20;

/// Seconds from 1601, where FILETIME starts, to 1970.
const EPOCH_SECONDS: u64 = 11_644_473_600;

/// FILETIME ticks in a second.
const TICKS_PER_SECOND: u64 = 10_000_000;

/// What requests and listings report of a node.
pub(super) fn metadata(attributes: &Attributes) -> FileMetadata {
    let kind = if attributes.directory { DIRECTORY } else { ARCHIVE };
    FileMetadata {
        created: file_time(attributes.created),
        accessed: file_time(attributes.accessed),
        modified: file_time(attributes.modified),
        changed: file_time(attributes.changed),
        allocation: if attributes.directory { 0 } else { attributes.allocated.max(attributes.size) },
        end_of_file: attributes.size,
        attributes: kind | if is_read_only(attributes) { READ_ONLY } else { 0 },
        file_id: attributes.node.0,
    }
}

/// True for a file without write permission.
pub(super) fn is_read_only(attributes: &Attributes) -> bool {
    !attributes.directory && attributes.mode & 0o222 == 0
}

/// The mode for the attribute `read_only`.
pub(super) fn mode_with(mode: u32, read_only: bool) -> u32 {
    match (read_only, mode & 0o222) {
        (true, _) => mode & !0o222,
        // Only the owner's bit: clearing READONLY must not grant more than it has to.
        (false, 0) => mode | 0o200,
        (false, _) => mode,
    }
}

/// Ticks of 100 ns since 1601; earlier times are 0.
pub(super) fn file_time(time: SystemTime) -> u64 {
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
pub(super) fn system_time(file_time: u64) -> Option<SystemTime> {
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
