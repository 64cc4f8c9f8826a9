//! A file mapped into memory, from and to which records are copied.

use std::os::fd::RawFd;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sharebench_model::{ErrorClass, OpError, OpStep};

use crate::error_code::ErrorCode;

/// Maximum number of mappings of this process at a time. The table is static, because a signal handler must not allocate.
const MAX_MAPPINGS: usize = 1024;
const PAGE: usize = 4096;

/// The step at which a mapping, or a copy from or to it, fails.
const MMAP: OpStep = OpStep::SystemCall("mmap");

/// One mapping as the signal handler sees it: atomics only, because the handler may interrupt any thread at any instruction.
struct MappedRange {
    /// 0 while free.
    base: AtomicUsize,
    len: AtomicUsize,
    /// A page could not be brought in or written.
    failed: AtomicBool,
}

static MAPPED: [MappedRange; MAX_MAPPINGS] = [const {
    MappedRange { base: AtomicUsize::new(0), len: AtomicUsize::new(0), failed: AtomicBool::new(false) }
}; MAX_MAPPINGS];

/// The first bytes of an open file, shared with its page cache.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    len: usize,
    place: usize,
}

impl Mapping {
    /// Maps `bytes` bytes; the file must be as long.
    pub fn new(fd: RawFd, bytes: u64) -> Result<Self, OpError> {
        let len = usize::try_from(bytes).map_err(|_| ErrorCode(libc::EFBIG).at("mmap"))?;
        let place = reserve()?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping touches no memory of ours; what it shows may change at any time, so it is
        // reached by copies through raw pointers only.
        let base = unsafe { libc::mmap(ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, 0) };
        let mapped = NonNull::new(base.cast::<u8>()).filter(|_| base != libc::MAP_FAILED);
        let Some(base) = mapped else {
            let errno = ErrorCode::last();
            MAPPED[place].base.store(0, Ordering::Release);
            return Err(refused(errno));
        };
        MAPPED[place].failed.store(false, Ordering::Relaxed);
        MAPPED[place].len.store(len, Ordering::Relaxed);
        // The base is stored last: the handler reads it first, and must then see the length.
        MAPPED[place].base.store(base.as_ptr() as usize, Ordering::Release);
        Ok(Self { base, len, place })
    }

    /// Copies from the file and returns the number of available bytes.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<u32, OpError> {
        let (at, len) = self.range(offset, into.len());
        // SAFETY: within the mapping; the target is borrowed exclusively and no part of the mapping.
        unsafe { ptr::copy_nonoverlapping(self.base.as_ptr().add(at), into.as_mut_ptr(), len) };
        self.settled(len)
    }

    /// Copies into the file.
    pub fn write(&self, offset: u64, from: &[u8]) -> Result<u32, OpError> {
        let (at, len) = self.range(offset, from.len());
        if len < from.len() {
            return Err(OpError::new(ErrorClass::Refused, MMAP, "a write beyond the end of the mapping"));
        }
        // SAFETY: within the mapping, checked above; the source is borrowed and no part of the mapping.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), self.base.as_ptr().add(at), len) };
        self.settled(len)
    }

    fn range(&self, offset: u64, len: usize) -> (usize, usize) {
        let at = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len);
        (at, len.min(self.len - at))
    }

    fn settled(&self, len: usize) -> Result<u32, OpError> {
        if MAPPED[self.place].failed.load(Ordering::Relaxed) {
            let detail = "a page of the file could not be read or written (SIGBUS)";
            return Err(OpError::new(ErrorClass::Io, MMAP, detail));
        }
        Ok(len as u32)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // Another thread may get these addresses as soon as they are unmapped.
        MAPPED[self.place].base.store(1, Ordering::Release);
        // SAFETY: the mapping made in `new`, unmapped once.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
        MAPPED[self.place].base.store(0, Ordering::Release);
    }
}

#[cold]
fn refused(errno: ErrorCode) -> OpError {
    match errno {
        // Such as a mount without a page cache of its own.
        ErrorCode(libc::ENODEV | libc::EINVAL | libc::EACCES) => {
            let detail = format!("{}: this file system has no shared mappings", errno.name());
            OpError::new(ErrorClass::Unsupported, MMAP, detail)
        }
        errno => errno.at("mmap"),
    }
}

/// Takes a free entry, and installs the handler before anything is mapped.
fn reserve() -> Result<usize, OpError> {
    static HANDLER: OnceLock<Result<(), i32>> = OnceLock::new();
    (*HANDLER.get_or_init(install)).map_err(|number| ErrorCode(number).at("sigaction"))?;
    // Base 1 is never a mapped address: it marks an entry that is reserved but not mapped yet.
    let take =
        |place: &MappedRange| place.base.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    let full = || OpError::new(ErrorClass::Refused, MMAP, format!("{MAX_MAPPINGS} files are mapped"));
    MAPPED.iter().position(take).ok_or_else(full)
}

/// A page that its file system cannot bring in (the file was cut, the server is gone, the disk is full) is a
/// SIGBUS, which would end the process without cleaning up on the target.
fn install() -> Result<(), i32> {
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_bus_error;
    // SAFETY: a zeroed sigaction is a valid one; the handler only does what a handler may.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        // On the alternative stack where the thread has one, as Rust's threads do.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut())
    };
    if installed == 0 { Ok(()) } else { Err(ErrorCode::last().0) }
}

/// Maps an empty page where one of our mappings failed, records the failure, and lets the copy continue: its result is
/// an error. Other bus errors end the process as they would have.
extern "C" fn on_bus_error(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo; mmap, signal and atomics may be used in a handler, and the
    // page lies within a mapping that its owner, this thread, is just copying from or to.
    unsafe {
        let address = (*info).si_addr() as usize;
        let hit = MAPPED.iter().find(|place| {
            let base = place.base.load(Ordering::Acquire);
            base > 1 && (base..base + place.len.load(Ordering::Relaxed)).contains(&address)
        });
        if let Some(place) = hit {
            place.failed.store(true, Ordering::Relaxed);
            let page = (address & !(PAGE - 1)) as *mut libc::c_void;
            let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            if libc::mmap(page, PAGE, protection, flags, -1, 0) != libc::MAP_FAILED {
                return;
            }
        }
        // Not one of our mappings: the faulting instruction runs again and now ends the process.
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    fn file(name: &str, len: u64) -> File {
        let path = std::env::temp_dir().join(format!("sharebench-mapping-{name}-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.set_len(len).unwrap();
        file
    }

    #[test]
    fn the_mapping_and_the_file_are_one() {
        let file = file("one", 10_000);
        let mapping = Mapping::new(file.as_raw_fd(), 10_000).unwrap();
        assert_eq!(mapping.write(9_000, b"mapped"), Ok(6));
        let mut read = [0; 6];
        file.read_exact_at(&mut read, 9_000).unwrap();
        assert_eq!(&read, b"mapped");
        file.write_all_at(b"written", 100).unwrap();
        let mut read = [0; 7];
        assert_eq!((mapping.read(100, &mut read), &read), (Ok(7), b"written"));
        assert_eq!(mapping.read(9_998, &mut read), Ok(2), "short at the end");
        assert_eq!(mapping.write(9_998, b"beyond").unwrap_err().class, ErrorClass::Refused);
    }

    #[test]
    fn a_page_that_is_gone_is_an_error_and_not_the_end() {
        let file = file("gone", 3 * 4096);
        let mapping = Mapping::new(file.as_raw_fd(), 3 * 4096).unwrap();
        assert_eq!(mapping.write(8192, b"there"), Ok(5));
        file.set_len(4096).unwrap();
        for _ in 0..2 {
            let error = mapping.read(8192, &mut [0; 8]).unwrap_err();
            assert_eq!(error.class, ErrorClass::Io, "{error}");
        }
        assert_eq!(mapping.write(8192, b"gone").unwrap_err().class, ErrorClass::Io);
        drop(mapping);
        assert_eq!(Mapping::new(file.as_raw_fd(), 4096).unwrap().read(0, &mut [0; 8]), Ok(8));
    }
}
