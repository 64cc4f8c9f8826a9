//! Locks of byte ranges that belong to an open file (`F_OFD_SETLK` and `F_OFD_SETLKW`, `fcntl(2)`).
//!
//! The traditional locks of POSIX belong to the process, so that the jobs of one process could not exclude each other. On a
//! mounted path the kernel's client passes both kinds to the server.

use std::os::fd::RawFd;

use sharebench_model::{MetaYield, OpError};

use super::sys::{self, ByteRange, RangeLock};

/// Locks a range exclusively. With `wait` the calling thread waits in the kernel until the range is free.
pub(crate) fn lock(
    fd: RawFd,
    range: ByteRange,
    wait: bool,
    requests: &mut u32,
) -> Result<MetaYield, OpError> {
    loop {
        *requests += 1;
        match sys::lock_range(fd, range, RangeLock::Exclusive { wait }) {
            Ok(()) => return Ok(MetaYield::Done),
            // A signal ended the wait.
            Err(errno) if wait && errno.0 == libc::EINTR => {}
            Err(errno) => {
                return Err(errno.at(if wait { "fcntl F_OFD_SETLKW" } else { "fcntl F_OFD_SETLK" }));
            }
        }
    }
}

/// Releases a range.
pub(crate) fn unlock(fd: RawFd, range: ByteRange, requests: &mut u32) -> Result<MetaYield, OpError> {
    *requests += 1;
    sys::lock_range(fd, range, RangeLock::Unlocked).map_err(|errno| errno.at("fcntl F_OFD_SETLK"))?;
    Ok(MetaYield::Done)
}
