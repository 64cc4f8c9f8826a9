//! System calls with checked results; one function is one call.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, c_uint};

use crate::error_code::ErrorCode;

/// Block size of a file system that does not report one, in bytes.
pub const DEFAULT_BLOCK: u64 = 4096;

type Result<T> = std::result::Result<T, ErrorCode>;

fn count(returned: isize) -> Result<usize> {
    if returned < 0 { Err(ErrorCode::last()) } else { Ok(returned as usize) }
}

fn done(returned: c_int) -> Result<()> {
    count(returned as isize).map(|_| ())
}

#[inline]
pub fn pread(fd: RawFd, into: &mut [u8], offset: u64) -> Result<usize> {
    // SAFETY: the pointer and length describe a live, exclusively borrowed buffer.
    count(unsafe { libc::pread64(fd, into.as_mut_ptr().cast(), into.len(), offset.cast_signed()) })
}

#[inline]
pub fn pwrite(fd: RawFd, from: &[u8], offset: u64) -> Result<usize> {
    // SAFETY: the pointer and length describe a live buffer.
    count(unsafe { libc::pwrite64(fd, from.as_ptr().cast(), from.len(), offset.cast_signed()) })
}

/// `pwrite` that returns when the bytes are on stable storage.
pub fn pwrite_dsync(fd: RawFd, from: &[u8], offset: u64) -> Result<usize> {
    let part = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
    // SAFETY: one iovec that describes a live buffer, which the call only reads.
    count(unsafe { libc::pwritev2(fd, &raw const part, 1, offset.cast_signed(), libc::RWF_DSYNC) })
}

/// Copies from one file to the same place of another within the system; returns how many bytes, 0 at the end of the source.
pub fn copy_file_range(from: RawFd, to: RawFd, offset: u64, bytes: usize) -> Result<usize> {
    let mut read_at = offset.cast_signed();
    let mut write_at = offset.cast_signed();
    // SAFETY: both offsets are live numbers that the call reads and changes.
    count(unsafe { libc::copy_file_range(from, &raw mut read_at, to, &raw mut write_at, bytes, 0) })
}

/// Makes a file share the storage of another one.
pub fn clone_file(from: RawFd, to: RawFd) -> Result<()> {
    // SAFETY: the argument of FICLONE is a descriptor; no memory is involved.
    done(unsafe { libc::ioctl(to, libc::FICLONE, from) })
}

/// Gives back the storage of a range; the length of the file stays.
pub fn punch_hole(fd: RawFd, offset: u64, bytes: u64) -> Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: no memory is involved.
    done(unsafe { libc::fallocate64(fd, mode, offset.cast_signed(), bytes.cast_signed()) })
}

/// A part of a file.
#[derive(Debug, Clone, Copy)]
pub struct ByteRange {
    pub offset: u64,
    pub bytes: u64,
}

/// What becomes of a range of an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeLock {
    /// Locked for writing; with `wait` the call returns when no other open file has a conflicting lock.
    Exclusive { wait: bool },
    /// Not locked.
    Unlocked,
}

/// Locks or unlocks bytes for the open file itself, not for the process.
pub fn lock_range(fd: RawFd, range: ByteRange, lock: RangeLock) -> Result<()> {
    let (kind, command) = match lock {
        RangeLock::Exclusive { wait: true } => (libc::F_WRLCK, libc::F_OFD_SETLKW),
        RangeLock::Exclusive { wait: false } => (libc::F_WRLCK, libc::F_OFD_SETLK),
        RangeLock::Unlocked => (libc::F_UNLCK, libc::F_OFD_SETLK),
    };
    // SAFETY: all fields are numbers, for which zero is valid; the process must be 0 in these commands.
    let mut request: libc::flock64 = unsafe { std::mem::zeroed() };
    request.l_type = kind as libc::c_short;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    request.l_start = range.offset.cast_signed();
    request.l_len = range.bytes.cast_signed();
    // SAFETY: the pointer is to a live structure, which the call reads.
    done(unsafe { libc::fcntl(fd, command, &raw const request) })
}

pub fn fsync(fd: RawFd) -> Result<()> {
    // SAFETY: no memory is involved.
    done(unsafe { libc::fsync(fd) })
}

pub fn openat(dir: BorrowedFd<'_>, path: &CStr, flags: c_int) -> Result<OwnedFd> {
    // SAFETY: the path is NUL-terminated; the mode is read because the variadic argument is there.
    let fd =
        unsafe { libc::openat(dir.as_raw_fd(), path.as_ptr(), flags | libc::O_CLOEXEC, 0o644 as c_uint) };
    done(fd)?;
    // SAFETY: the descriptor was just opened and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub fn close(fd: OwnedFd) -> Result<()> {
    use std::os::fd::IntoRawFd;
    // SAFETY: into_raw_fd transferred the ownership, so it is closed once.
    done(unsafe { libc::close(fd.into_raw_fd()) })
}

pub fn fstat(fd: RawFd) -> Result<libc::stat64> {
    let mut stat = MaybeUninit::uninit();
    // SAFETY: the call fills the structure when it succeeds, which `done` checks before it is read.
    unsafe {
        done(libc::fstat64(fd, stat.as_mut_ptr()))?;
        Ok(stat.assume_init())
    }
}

/// Attributes of a name; a symbolic link in its last place is not followed.
pub fn fstatat(dir: BorrowedFd<'_>, path: &CStr) -> Result<libc::stat64> {
    let mut stat = MaybeUninit::uninit();
    // SAFETY: as in `fstat`; the path is NUL-terminated.
    unsafe {
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        done(libc::fstatat64(dir.as_raw_fd(), path.as_ptr(), stat.as_mut_ptr(), flags))?;
        Ok(stat.assume_init())
    }
}

pub fn ftruncate(fd: RawFd, size: u64) -> Result<()> {
    let size = i64::try_from(size).map_err(|_| ErrorCode(libc::EFBIG))?;
    // SAFETY: no memory is involved.
    done(unsafe { libc::ftruncate64(fd, size) })
}

pub fn mkdirat(dir: BorrowedFd<'_>, path: &CStr, mode: u32) -> Result<()> {
    // SAFETY: the path is NUL-terminated.
    done(unsafe { libc::mkdirat(dir.as_raw_fd(), path.as_ptr(), mode) })
}

/// Removes a name; `flags` is 0 for files, `AT_REMOVEDIR` for directories.
pub fn unlinkat(dir: BorrowedFd<'_>, path: &CStr, flags: c_int) -> Result<()> {
    // SAFETY: the path is NUL-terminated.
    done(unsafe { libc::unlinkat(dir.as_raw_fd(), path.as_ptr(), flags) })
}

pub fn renameat(from: BorrowedFd<'_>, old: &CStr, to: BorrowedFd<'_>, new: &CStr) -> Result<()> {
    // SAFETY: both paths are NUL-terminated.
    done(unsafe { libc::renameat(from.as_raw_fd(), old.as_ptr(), to.as_raw_fd(), new.as_ptr()) })
}

/// Makes a hard link; a symbolic link in the last place is not followed.
pub fn linkat(from: BorrowedFd<'_>, old: &CStr, to: BorrowedFd<'_>, new: &CStr) -> Result<()> {
    // SAFETY: both paths are NUL-terminated.
    done(unsafe { libc::linkat(from.as_raw_fd(), old.as_ptr(), to.as_raw_fd(), new.as_ptr(), 0) })
}

/// Sets the time of modification of a name to seconds since 1970; a symbolic link is not followed.
pub fn set_modified(dir: BorrowedFd<'_>, path: &CStr, seconds: u32) -> Result<()> {
    let accessed = libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_OMIT };
    let modified = libc::timespec { tv_sec: seconds.into(), tv_nsec: 0 };
    let times = [accessed, modified];
    // SAFETY: the path is NUL-terminated, and the call reads two times.
    done(unsafe {
        libc::utimensat(dir.as_raw_fd(), path.as_ptr(), times.as_ptr(), libc::AT_SYMLINK_NOFOLLOW)
    })
}

pub fn fstatvfs(fd: RawFd) -> Result<libc::statvfs64> {
    let mut space = MaybeUninit::uninit();
    // SAFETY: as in `fstat`.
    unsafe {
        done(libc::fstatvfs64(fd, space.as_mut_ptr()))?;
        Ok(space.assume_init())
    }
}

/// Returns the block size of a file system in bytes.
pub fn block_size(fd: RawFd) -> Result<u64> {
    let mut fs = MaybeUninit::<libc::statfs64>::uninit();
    // SAFETY: as in `fstat`.
    let fs = unsafe {
        done(libc::fstatfs64(fd, fs.as_mut_ptr()))?;
        fs.assume_init()
    };
    // The field is signed with glibc and unsigned with musl.
    Ok(u64::try_from(fs.f_bsize).unwrap_or(DEFAULT_BLOCK))
}

/// Fills `into` with directory records; 0 bytes at the end.
pub fn getdents(fd: RawFd, into: &mut [u8]) -> Result<usize> {
    // SAFETY: the pointer and length describe a live, exclusively borrowed buffer.
    count(unsafe { libc::syscall(libc::SYS_getdents64, fd, into.as_mut_ptr(), into.len()) } as isize)
}

/// Whether this process may create names in a directory; also fails on a read-only file system.
pub fn may_write(dir: BorrowedFd<'_>) -> Result<()> {
    let mode = libc::W_OK | libc::X_OK;
    // SAFETY: the path is a NUL-terminated constant.
    done(unsafe { libc::faccessat(dir.as_raw_fd(), c".".as_ptr(), mode, libc::AT_EACCESS) })
}

pub fn fadvise_dontneed(fd: RawFd) -> Result<()> {
    // SAFETY: no memory is involved; this call returns the error number instead of setting it.
    match unsafe { libc::posix_fadvise64(fd, 0, 0, libc::POSIX_FADV_DONTNEED) } {
        0 => Ok(()),
        number => Err(ErrorCode(number)),
    }
}

/// The part of a file that is in the page cache, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachedPages {
    /// All of them.
    pub cached: u64,
    /// Those not written yet, or being written.
    pub dirty: u64,
}

/// Pages of a whole file in the page cache, by `cachestat` (Linux 6.5).
pub fn cached_pages(fd: RawFd) -> Result<CachedPages> {
    /// Not yet named by the libc crate on every architecture; the number is common to all of them.
    const CACHESTAT: libc::c_long = 451;
    let whole_file = [0_u64; 2];
    let mut stat = [0_u64; 5];
    // SAFETY: struct cachestat_range is two, struct cachestat five 64-bit fields (linux/mman.h).
    count(unsafe { libc::syscall(CACHESTAT, fd, whole_file.as_ptr(), stat.as_mut_ptr(), 0) } as isize)?;
    // nr_cache, nr_dirty, nr_writeback, and two counts of evicted pages.
    Ok(CachedPages { cached: stat[0], dirty: stat[1] + stat[2] })
}

/// Bytes of a page of the page cache.
pub fn page_bytes() -> u64 {
    // SAFETY: no memory is involved.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// The alignment of offsets and lengths for direct I/O on an open file; none where the system does not
/// report it (statx(2): `STATX_DIOALIGN`, Linux 6.1).
pub fn direct_alignment(fd: RawFd) -> Option<u32> {
    let mut stat = MaybeUninit::<libc::statx>::zeroed();
    let flags = libc::AT_EMPTY_PATH;
    let mask = libc::STATX_DIOALIGN;
    // SAFETY: the path is a NUL-terminated constant, the structure is large enough and zeroed before.
    let stat = unsafe {
        done(libc::statx(fd, c"".as_ptr(), flags, mask, stat.as_mut_ptr())).ok()?;
        stat.assume_init()
    };
    (stat.stx_mask & mask != 0 && stat.stx_dio_offset_align > 0).then_some(stat.stx_dio_offset_align)
}

/// The status flags that an open file really has.
pub fn status_flags(fd: RawFd) -> Result<c_int> {
    // SAFETY: no memory is involved.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    done(flags).map(|()| flags)
}

/// Pages of a whole file in the page cache, by `mincore` over a mapping of it.
pub fn resident_pages(fd: RawFd, bytes: u64) -> Result<u64> {
    if bytes == 0 {
        return Ok(0);
    }
    let len = usize::try_from(bytes).map_err(|_| ErrorCode(libc::EFBIG))?;
    let mut pages = vec![0_u8; len.div_ceil(page_bytes() as usize)];
    // SAFETY: a fresh mapping that is never read; mincore writes one byte per page into `pages`.
    unsafe {
        let mapping = libc::mmap(ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, fd, 0);
        if mapping == libc::MAP_FAILED {
            return Err(ErrorCode::last());
        }
        let looked = done(libc::mincore(mapping, len, pages.as_mut_ptr()));
        libc::munmap(mapping, len);
        looked?;
    }
    Ok(pages.iter().filter(|page| **page & 1 == 1).count() as u64)
}

/// CPU time of a thread of this process that has not been joined, in nanoseconds; 0 once it has ended.
pub fn thread_cpu_ns(thread: libc::pthread_t) -> u64 {
    // SAFETY: the handle of a thread that was not joined is valid, and both calls write the values that they are given; zeroed
    // ones are valid.
    let used = unsafe {
        let mut clock = 0;
        let mut used: libc::timespec = std::mem::zeroed();
        if libc::pthread_getcpuclockid(thread, &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut used) != 0
        {
            return 0;
        }
        used
    };
    used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned()
}
