//! Status of a file: identity, kind, owner.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, statx};
use rustix::io::Errno;
use rustix::path::Arg;

/// Identity of a file of this machine. It also differs from that of a later file with the same inode number, if the file
/// system stores the time of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    device: (u32, u32),
    inode: u64,
    born: (i64, u32),
}

impl Identity {
    /// True if both files are on the same device.
    pub fn same_device(&self, other: &Self) -> bool {
        self.device == other.device
    }

    /// The identity as bytes, which another process on this machine can read.
    pub fn to_bytes(self) -> [u8; 28] {
        let mut bytes = [0; 28];
        bytes[..4].copy_from_slice(&self.device.0.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.device.1.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.inode.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.born.0.to_be_bytes());
        bytes[24..].copy_from_slice(&self.born.1.to_be_bytes());
        bytes
    }

    /// The identity that [`Self::to_bytes`] encoded.
    pub fn from_bytes(bytes: &[u8; 28]) -> Self {
        let u32_at = |at: usize| u32::from_be_bytes(std::array::from_fn(|index| bytes[at + index]));
        let u64_at = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| bytes[at + index]));
        Self {
            device: (u32_at(0), u32_at(4)),
            inode: u64_at(8),
            born: (u64_at(16).cast_signed(), u32_at(24)),
        }
    }
}

/// The object of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Regular file.
    File,
    /// Directory.
    Directory,
    /// Symbolic link.
    Link,
    /// Device, socket or pipe.
    Other,
}

/// A file's status at one moment, by name or by descriptor. Only the latter cannot change its object any more.
#[derive(Debug, Clone, Copy)]
pub struct Status {
    /// Which file it is.
    pub identity: Identity,
    /// What it is.
    pub kind: Kind,
    /// Number of names.
    pub links: u32,
    /// User id of the owner.
    pub owner: u32,
    raw: Statx,
}

const STATX_FIELDS: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME).union(StatxFlags::MNT_ID);

impl Status {
    /// Status of one name in a directory; of the link itself if it is one.
    pub fn at<N: Arg>(directory: BorrowedFd<'_>, name: N) -> Result<Self, Errno> {
        statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, STATX_FIELDS).map(Self::from_raw)
    }

    /// Status of an open file.
    pub fn from_file(file: BorrowedFd<'_>) -> Result<Self, Errno> {
        statx(file, c"", AtFlags::EMPTY_PATH, STATX_FIELDS).map(Self::from_raw)
    }

    fn from_raw(raw: Statx) -> Self {
        let born = StatxFlags::from_bits_retain(raw.stx_mask).contains(StatxFlags::BTIME);
        let born = if born { (raw.stx_btime.tv_sec, raw.stx_btime.tv_nsec) } else { (0, 0) };
        let kind = match FileType::from_raw_mode(u32::from(raw.stx_mode)) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        let identity = Identity { device: (raw.stx_dev_major, raw.stx_dev_minor), inode: raw.stx_ino, born };
        Self { identity, kind, links: raw.stx_nlink, owner: raw.stx_uid, raw }
    }

    /// True if both are on the same mount. This is decided by the mount's number if the kernel reports it (Linux 5.8),
    /// otherwise by the device of directories: overlay file systems report another device for files than for
    /// directories.
    pub fn same_mount(&self, other: &Self) -> bool {
        let mask = StatxFlags::from_bits_retain(self.raw.stx_mask & other.raw.stx_mask);
        if mask.contains(StatxFlags::MNT_ID) {
            return self.raw.stx_mnt_id == other.raw.stx_mnt_id;
        }
        self.kind != Kind::Directory || self.identity.device == other.identity.device
    }

    /// True if the file system stores the time of creation.
    pub fn has_birth(&self) -> bool {
        self.identity.born != (0, 0)
    }

    /// All attributes, as the system reported them.
    pub fn raw(&self) -> &Statx {
        &self.raw
    }
}
