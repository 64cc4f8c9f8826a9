//! Operations that the system performs on ranges of open files by itself: `copy_file_range`, FICLONE and holes.
//!
//! On a mounted path the kernel's client passes them to the server where the protocol has such requests. Where the server
//! or file system has none, `copy_file_range` copies through this machine, which the wire counts of the mount show.

use std::os::fd::{AsRawFd, OwnedFd};

use sharebench_client_core::OpenFileTable;
use sharebench_model::{MetaYield, OpError, ServerSideOp};

use super::sys;

/// Most bytes of one call: what the kernel copies at most (`MAX_RW_COUNT`, `copy_file_range(2)`).
const MAX_COPY: u64 = 0x7fff_f000;

/// Performs one of these operations.
pub(crate) fn perform(
    files: &OpenFileTable<OwnedFd>,
    op: &ServerSideOp,
    requests: &mut u32,
) -> Result<MetaYield, OpError> {
    match *op {
        ServerSideOp::CopyRange { from, to, offset, bytes } => {
            let from = files.get(from)?.as_raw_fd();
            let to = files.get(to)?.as_raw_fd();
            *requests += 1;
            let copied = sys::copy_file_range(from, to, offset, bytes.min(MAX_COPY) as usize);
            let copied = copied.map_err(|errno| errno.at("copy_file_range"))?;
            Ok(MetaYield::Bytes(copied as u64))
        }
        // The whole file: its length is the range.
        ServerSideOp::CloneRange { from, to, .. } => {
            let from = files.get(from)?.as_raw_fd();
            let to = files.get(to)?.as_raw_fd();
            *requests += 1;
            sys::clone_file(from, to).map_err(|errno| errno.at("ioctl FICLONE"))?;
            Ok(MetaYield::Done)
        }
        ServerSideOp::PunchHole { file, offset, bytes } => {
            let fd = files.get(file)?.as_raw_fd();
            *requests += 1;
            sys::punch_hole(fd, offset, bytes).map_err(|errno| errno.at("fallocate"))?;
            Ok(MetaYield::Done)
        }
        ServerSideOp::ReadSparse { .. } => Err(OpError::unsupported(
            "a read of this system has no request that reads holes without their zeros",
        )),
    }
}
