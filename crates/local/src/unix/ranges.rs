//! Operations that the system performs on ranges of open files by itself: `copy_file_range`, FICLONE and holes.
//!
//! On a mounted path the kernel's client passes them to the server where the protocol has such requests. Where the server
//! or file system has none, `copy_file_range` copies through this machine, which the wire counts of the mount show.

use sharebench_model::{FileRef, MetaYield};
use sharebench_target::{CallResult, ServerSide};

use super::session_core::CountedCalls;
use super::sys;

/// Most bytes of one call: what the kernel copies at most (`MAX_RW_COUNT`, `copy_file_range(2)`).
const MAX_COPY: u64 = 0x7fff_f000;

impl ServerSide for CountedCalls<'_> {
    async fn copy_range(&mut self, from: FileRef, to: FileRef, offset: u64, bytes: u64) -> CallResult {
        let from = self.core.fd(from)?;
        let to = self.core.fd(to)?;
        self.requests += 1;
        let copied = sys::copy_file_range(from, to, offset, bytes.min(MAX_COPY) as usize);
        copied.map(|copied| MetaYield::Bytes(copied as u64)).map_err(|errno| errno.at("copy_file_range"))
    }

    /// Clones the whole file: its length is the range.
    async fn clone_range(&mut self, from: FileRef, to: FileRef, _: u64) -> CallResult {
        let from = self.core.fd(from)?;
        let to = self.core.fd(to)?;
        self.requests += 1;
        sys::clone_file(from, to).map(|()| MetaYield::Done).map_err(|errno| errno.at("ioctl FICLONE"))
    }

    async fn punch_hole(&mut self, file: FileRef, offset: u64, bytes: u64) -> CallResult {
        let fd = self.core.fd(file)?;
        self.requests += 1;
        sys::punch_hole(fd, offset, bytes).map(|()| MetaYield::Done).map_err(|errno| errno.at("fallocate"))
    }
}
