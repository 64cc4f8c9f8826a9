//! Extended attributes of SMB clients: those that programs of the host see as `user.NAME`.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{fgetxattr, flistxattr, fremovexattr};
use rustix::io::Errno;

use crate::volume::directory::linux::dos_attributes::store;
use crate::volume::directory::linux::errno::volume_error;
use crate::{VolumeError, VolumeResult};

/// Start of the names of the host, and of those in which this program keeps what Linux has no place for.
const PREFIX: &str = "user.";
const OWN_PREFIX: &str = "user.sharebench.";
/// Largest value, and largest list of names, that the kernel allows.
const MAX_BYTES: usize = 64 << 10;

/// The names of the extended attributes of an open file, as the host has them.
pub(super) fn names(fd: BorrowedFd<'_>) -> VolumeResult<Vec<String>> {
    let mut list = vec![0; MAX_BYTES];
    let len = match flistxattr(fd, &mut list) {
        Ok(len) => len,
        // The file system has no such attributes.
        Err(Errno::NOTSUP) => 0,
        Err(errno) => return Err(volume_error(errno)),
    };
    let all = list.get(..len).unwrap_or_default().split(|byte| *byte == 0);
    Ok(all.filter_map(|name| std::str::from_utf8(name).ok()).map(str::to_owned).collect())
}

/// The extended attributes of an open file that clients see.
pub(super) fn read(fd: BorrowedFd<'_>) -> VolumeResult<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for name in names(fd)?.into_iter().filter(|name| !name.starts_with(OWN_PREFIX)) {
        let Some(shown) = name.strip_prefix(PREFIX) else { continue };
        let mut value = vec![0; MAX_BYTES];
        match fgetxattr(fd, &*name, &mut value) {
            Ok(len) => value.truncate(len),
            // Removed in the meantime.
            Err(Errno::NODATA) => continue,
            Err(errno) => return Err(volume_error(errno)),
        }
        found.push((shown.to_owned(), value));
    }
    Ok(found)
}

/// Stores an extended attribute of an open file; an empty value removes it.
pub(super) fn write(fd: BorrowedFd<'_>, name: &str, value: &[u8]) -> VolumeResult<()> {
    let name = format!("{PREFIX}{name}");
    if name.starts_with(OWN_PREFIX) {
        return Err(VolumeError::Denied);
    }
    let done = if value.is_empty() { fremovexattr(fd.as_fd(), &*name) } else { store(fd, &name, value) };
    match done {
        Err(Errno::NODATA) => Ok(()),
        Err(Errno::NOTSUP) => Err(VolumeError::Unsupported),
        // The file system keeps attributes within a block.
        Err(Errno::TOOBIG | Errno::RANGE) => Err(VolumeError::NoSpace),
        done => done.map_err(volume_error),
    }
}
