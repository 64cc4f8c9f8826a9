//! Security descriptors of SMB clients in an extended attribute of a file.

use std::os::fd::BorrowedFd;

use rustix::fs::fgetxattr;
use rustix::io::Errno;

use crate::volume::directory::linux::dos_attributes::store;

/// Name of the extended attribute, and the largest value that the kernel allows.
const NAME: &str = "user.sharebench.sd";
const MAX_BYTES: usize = 64 << 10;

/// The descriptor of an open file; none if it has none or the file system stores none.
pub(super) fn read(fd: BorrowedFd<'_>) -> Option<Vec<u8>> {
    // Most files have none.
    fgetxattr(fd, NAME, &mut [0; 0]).ok()?;
    let mut value = vec![0; MAX_BYTES];
    let len = fgetxattr(fd, NAME, &mut value).ok()?;
    value.truncate(len);
    Some(value)
}

/// Stores the descriptor of an open file.
pub(super) fn write(fd: BorrowedFd<'_>, descriptor: &[u8]) -> Result<(), Errno> {
    store(fd, NAME, descriptor)
}
