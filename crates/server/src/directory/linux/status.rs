//! Attributes of a file of the host, for front ends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::StatxTimestamp;
use sharebench_beneath::{Kind, Status};

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
    let seconds = Duration::from_secs(stamp.tv_sec.unsigned_abs());
    let whole =
        if stamp.tv_sec < 0 { UNIX_EPOCH.checked_sub(seconds) } else { UNIX_EPOCH.checked_add(seconds) };
    whole
        .and_then(|whole| whole.checked_add(Duration::from_nanos(u64::from(stamp.tv_nsec))))
        .unwrap_or(UNIX_EPOCH)
}
