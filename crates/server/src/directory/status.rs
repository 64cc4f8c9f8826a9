//! Status of a file: identity, kind, attributes.

use std::os::fd::BorrowedFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, StatxTimestamp, statx};

use crate::directory::errno::volume_error;
use crate::{Attributes, NodeId, VolumeResult};

/// Identity of a file of the host. It also differs from that of a later file with the same inode number, if the file
/// system stores the time of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    device: (u32, u32),
    inode: u64,
    born: (i64, u32),
}

/// The object of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    /// Symbolic link, device, socket or pipe: never listed, never opened.
    Other,
}

/// A file's status.
pub(super) struct Status {
    pub(super) key: Key,
    pub(super) kind: Kind,
    pub(super) links: u32,
    raw: Statx,
}

const STATX_FIELDS: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME).union(StatxFlags::MNT_ID);

impl Status {
    /// Status of `name` in `directory`; of the link itself if it is one.
    pub(super) fn at(directory: BorrowedFd<'_>, name: &str) -> VolumeResult<Self> {
        let raw = statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, STATX_FIELDS).map_err(volume_error)?;
        Ok(Self::from_raw(raw))
    }

    /// Status of an open file.
    pub(super) fn of(file: BorrowedFd<'_>) -> VolumeResult<Self> {
        let raw = statx(file, "", AtFlags::EMPTY_PATH, STATX_FIELDS).map_err(volume_error)?;
        Ok(Self::from_raw(raw))
    }

    fn from_raw(raw: Statx) -> Self {
        let born = StatxFlags::from_bits_retain(raw.stx_mask).contains(StatxFlags::BTIME);
        let born = if born { (raw.stx_btime.tv_sec, raw.stx_btime.tv_nsec) } else { (0, 0) };
        let kind = match FileType::from_raw_mode(u32::from(raw.stx_mode)) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            _ => Kind::Other,
        };
        let key = Key { device: (raw.stx_dev_major, raw.stx_dev_minor), inode: raw.stx_ino, born };
        Self { key, kind, links: raw.stx_nlink, raw }
    }

    /// True if it is on the same mount. This is decided by the mount's number if the kernel reports it (Linux 5.8),
    /// otherwise by the device of directories: overlay file systems report another device for files than for
    /// directories.
    pub(super) fn same_mount(&self, root: &Self) -> bool {
        let mask = StatxFlags::from_bits_retain(self.raw.stx_mask & root.raw.stx_mask);
        if mask.contains(StatxFlags::MNT_ID) {
            return self.raw.stx_mnt_id == root.raw.stx_mnt_id;
        }
        self.kind != Kind::Directory || self.key.device == root.key.device
    }

    /// Attributes for front ends.
    pub(super) fn attributes(&self, node: NodeId) -> Attributes {
        let directory = self.kind == Kind::Directory;
        let accessed = time(self.raw.stx_atime);
        let modified = time(self.raw.stx_mtime);
        let changed = time(self.raw.stx_ctime);
        let born = self.key.born != (0, 0);
        Attributes {
            node,
            directory,
            size: if directory { 0 } else { self.raw.stx_size },
            allocated: self.raw.stx_blocks.saturating_mul(512),
            mode: u32::from(self.raw.stx_mode) & 0o7777,
            uid: self.raw.stx_uid,
            gid: self.raw.stx_gid,
            links: self.links,
            accessed,
            modified,
            changed,
            created: if born { time(self.raw.stx_btime) } else { accessed.min(modified).min(changed) },
        }
    }
}

fn time(stamp: StatxTimestamp) -> SystemTime {
    let seconds = Duration::from_secs(stamp.tv_sec.unsigned_abs());
    let whole =
        if stamp.tv_sec < 0 { UNIX_EPOCH.checked_sub(seconds) } else { UNIX_EPOCH.checked_add(seconds) };
    whole
        .and_then(|whole| whole.checked_add(Duration::from_nanos(u64::from(stamp.tv_nsec))))
        .unwrap_or(UNIX_EPOCH)
}
