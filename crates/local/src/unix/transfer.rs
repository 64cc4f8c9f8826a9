//! One data operation as a blocking system call.

use sharebench_model::{DataOp, Stability};

use super::sys;
use crate::error_code::ErrorCode;

/// Performs an operation on an open file and returns the bytes transferred. `slot` is as long as the operation says. Adds the
/// number of system calls to `requests`; an error names the call.
#[inline]
pub(crate) fn transfer(
    fd: i32,
    op: DataOp,
    slot: &mut [u8],
    requests: &mut u32,
) -> Result<u32, (ErrorCode, &'static str)> {
    match op {
        DataOp::Read { offset, .. } => {
            *requests += 1;
            let read = sys::pread(fd, slot, offset).map_err(|errno| (errno, "pread"))?;
            Ok(read as u32)
        }
        DataOp::Write { offset, len, stability, .. } => {
            write_all(fd, slot, offset, stability, requests).map_err(|errno| (errno, "pwrite"))?;
            Ok(len)
        }
        DataOp::Flush { .. } => {
            *requests += 1;
            // fsync rather than fdatasync: what file servers do for COMMIT and FLUSH.
            sys::fsync(fd).map_err(|errno| (errno, "fsync"))?;
            Ok(0)
        }
    }
}

/// Writes everything; a short write is tried again so that the system says why it was short.
fn write_all(
    fd: i32,
    mut from: &[u8],
    mut offset: u64,
    stability: Stability,
    requests: &mut u32,
) -> Result<(), ErrorCode> {
    loop {
        *requests += 1;
        let bytes = match stability {
            Stability::Unstable => sys::pwrite(fd, from, offset)?,
            Stability::Durable => sys::pwrite_dsync(fd, from, offset)?,
        };
        from = from.get(bytes..).unwrap_or_default();
        offset += bytes as u64;
        match (from.is_empty(), bytes) {
            (true, _) => return Ok(()),
            // Nothing written and no reason given: trying again would never end.
            (false, 0) => return Err(ErrorCode(libc::EIO)),
            _ => {}
        }
    }
}
