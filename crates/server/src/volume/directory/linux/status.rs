//! Attributes of a file of the host, for front ends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::StatxTimestamp;
use sharebench_local::beneath::{Kind, Status};

use crate::{Attributes, NodeId};

/// The attributes that a status contains.
///
/// The change number is the time of the last change in nanoseconds plus the changes of this process. The kernel reads
/// its clock only at each tick, so that the time alone would not show two changes within one.
pub(super) fn attributes(status: &Status, node: NodeId, changes: u64) -> Attributes {
    let raw = status.raw();
    let directory = status.kind == Kind::Directory;
    let accessed = time(raw.stx_atime);
    let modified = time(raw.stx_mtime);
    let changed = time(raw.stx_ctime);
    Attributes {
        node,
        file_id: raw.stx_ino,
        directory,
        link: status.kind == Kind::Link,
        size: if directory { 0 } else { raw.stx_size },
        allocated: raw.stx_blocks.saturating_mul(512),
        mode: u32::from(raw.stx_mode) & 0o7777,
        uid: raw.stx_uid,
        gid: raw.stx_gid,
        links: status.links,
        accessed,
        modified,
        changed,
        change: nanoseconds(raw.stx_ctime).wrapping_add(changes),
        created: if status.has_birth() { time(raw.stx_btime) } else { accessed.min(modified).min(changed) },
    }
}

fn nanoseconds(stamp: StatxTimestamp) -> u64 {
    stamp.tv_sec.unsigned_abs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(stamp.tv_nsec))
}

fn time(stamp: StatxTimestamp) -> SystemTime {
    time_of(stamp.tv_sec, stamp.tv_nsec)
}

/// The instant after these seconds from 1970, which may be negative, and nanoseconds.
pub(super) fn time_of(seconds: i64, nanoseconds: u32) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let start = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    let after = Duration::from_nanos(u64::from(nanoseconds));
    start.and_then(|start| start.checked_add(after)).unwrap_or(UNIX_EPOCH)
}

/// The seconds from 1970, and the nanoseconds after them: before 1970 they count from the preceding second.
pub(super) fn seconds_of(time: SystemTime) -> (i64, u32) {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(i64::MAX), after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let nanoseconds = (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000;
            let seconds = before.as_secs() + u64::from(nanoseconds > 0);
            (-i64::try_from(seconds).unwrap_or(i64::MAX), nanoseconds)
        }
    }
}
