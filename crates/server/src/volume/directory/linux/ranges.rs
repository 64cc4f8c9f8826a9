//! Holes, reserved space and copies of ranges, by system calls that move no data through this process.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{FallocateFlags, SeekFrom, copy_file_range, fallocate};
use rustix::io::{Errno, retry_on_intr};

use crate::volume::directory::linux::DirectoryVolume;
use crate::volume::directory::linux::errno::volume_error;
use crate::volume::directory::linux::volume::file_offset;
use crate::{FileRange, NodeId, SeekTarget, VolumeError, VolumeResult};

/// Largest copy of one system call, so that a call of a client cannot keep a thread for minutes.
const MAX_COPY_BYTES: u64 = 64 << 20;

/// The next data or hole at or after `offset`.
pub(super) fn seek(file: BorrowedFd<'_>, offset: u64, target: SeekTarget) -> VolumeResult<Option<u64>> {
    let size = rustix::fs::fstat(file).map_err(volume_error)?.st_size;
    if i64::try_from(offset).is_ok_and(|offset| offset < size) {
        // The position of the descriptor is not used by any other call.
        let from = match target {
            SeekTarget::Data => SeekFrom::Data(offset),
            SeekTarget::Hole => SeekFrom::Hole(offset),
        };
        return match rustix::fs::seek(file, from) {
            Ok(at) => Ok(Some(at)),
            Err(Errno::NXIO) => Ok(None),
            Err(errno) => Err(volume_error(errno)),
        };
    }
    Err(VolumeError::TooBig)
}

impl DirectoryVolume {
    /// Reserves or frees a range.
    pub(super) fn change_range(
        &self,
        file: NodeId,
        offset: u64,
        len: u64,
        how: FallocateFlags,
    ) -> VolumeResult<()> {
        self.writable()?;
        let len_fits = usize::try_from(len).map_err(|_| VolumeError::TooBig)?;
        file_offset(offset, len_fits).ok_or(VolumeError::TooBig)?;
        let open = self.tree.file(file, true)?;
        retry_on_intr(|| fallocate(open.fd(), how, offset, len)).map_err(volume_error)?;
        self.tree.changes.note(file);
        Ok(())
    }

    /// Copies up to [`MAX_COPY_BYTES`] within the kernel.
    pub(super) fn copy_between(&self, from: FileRange, to: FileRange, len: u64) -> VolumeResult<u64> {
        self.writable()?;
        let source = self.tree.file(from.file, false)?;
        let target = self.tree.file(to.file, true)?;
        let mut done = 0;
        let wanted = len.min(MAX_COPY_BYTES);
        while done < wanted {
            let place = |offset: u64| offset.checked_add(done).filter(|at| i64::try_from(*at).is_ok());
            let mut read_at = place(from.offset).ok_or(VolumeError::TooBig)?;
            let mut write_at = place(to.offset).ok_or(VolumeError::TooBig)?;
            let rest = usize::try_from(wanted - done).unwrap_or(usize::MAX);
            let copied =
                copy_file_range(source.fd(), Some(&mut read_at), target.fd(), Some(&mut write_at), rest);
            match copied {
                Ok(0) => break,
                Ok(count) => done += count as u64,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(volume_error(errno)),
            }
        }
        self.tree.changes.note(to.file);
        Ok(done)
    }

    /// Shares the blocks of a range; [`VolumeError::Unsupported`] where the file system cannot.
    pub(super) fn clone_between(&self, from: FileRange, to: FileRange, len: u64) -> VolumeResult<()> {
        self.writable()?;
        let source = self.tree.file(from.file, false)?;
        let target = self.tree.file(to.file, true)?;
        let range = libc::file_clone_range {
            src_fd: i64::from(source.fd().as_raw_fd()),
            src_offset: from.offset,
            src_length: len,
            dest_offset: to.offset,
        };
        // SAFETY: both descriptors are open, and the structure lives until the call returns.
        let done = unsafe { libc::ioctl(target.fd().as_raw_fd(), libc::FICLONERANGE, &raw const range) };
        if done != 0 {
            let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            return Err(match Errno::from_raw_os_error(errno) {
                // Another file system, or ranges that are not whole blocks.
                Errno::XDEV => VolumeError::Unsupported,
                Errno::INVAL => VolumeError::BadName,
                errno => volume_error(errno),
            });
        }
        self.tree.changes.note(to.file);
        Ok(())
    }
}
