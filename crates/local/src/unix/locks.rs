//! Locks of byte ranges that belong to an open file (`F_OFD_SETLK` and `F_OFD_SETLKW`, `fcntl(2)`).
//!
//! The traditional locks of POSIX belong to the process, so that the jobs of one process could not exclude each other. On a
//! mounted path the kernel's client passes both kinds to the server.

use sharebench_model::{FileRef, MetaYield};
use sharebench_target::{CallResult, Locks};

use super::session_core::CountedCalls;
use super::sys::{self, ByteRange, RangeLock};

impl Locks for CountedCalls<'_> {
    /// Locks a range exclusively. With `wait` the calling thread waits in the kernel until the range is free.
    async fn lock(&mut self, file: FileRef, offset: u64, bytes: u64, wait: bool) -> CallResult {
        let fd = self.core.fd(file)?;
        loop {
            self.requests += 1;
            match sys::lock_range(fd, ByteRange { offset, bytes }, RangeLock::Exclusive { wait }) {
                Ok(()) => return Ok(MetaYield::Done),
                // A signal ended the wait.
                Err(errno) if wait && errno.0 == libc::EINTR => {}
                Err(errno) => {
                    return Err(errno.at(if wait { "fcntl F_OFD_SETLKW" } else { "fcntl F_OFD_SETLK" }));
                }
            }
        }
    }

    async fn unlock(&mut self, file: FileRef, offset: u64, bytes: u64) -> CallResult {
        let fd = self.core.fd(file)?;
        self.requests += 1;
        let unlocked = sys::lock_range(fd, ByteRange { offset, bytes }, RangeLock::Unlocked);
        unlocked.map(|()| MetaYield::Done).map_err(|errno| errno.at("fcntl F_OFD_SETLK"))
    }
}
