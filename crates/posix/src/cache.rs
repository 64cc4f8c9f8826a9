//! Dropping a file from the page cache, and proving it.

use std::os::fd::RawFd;
use std::thread::sleep;
use std::time::Duration;

use sharebench_model::{ErrorClass, OpError};

use crate::errno::Errno;
use crate::sys;

/// Longest pause between two attempts; the pauses double up to it and are half a second together.
const LONGEST_PAUSE: Duration = Duration::from_millis(256);

/// Writes dirty pages out (they would stay), drops the clean ones and counts what is left. `overlay`
/// files keep their pages in another file's cache, which only a mapping reaches. Every call is counted.
///
/// The kernel passes over pages that are locked: those that are being read ahead, and whole batches that
/// somebody else is just dropping. They are waited for; pages in use stay, and are an error.
pub(crate) fn drop_cache(fd: RawFd, overlay: bool, requests: &mut u32) -> Result<(), OpError> {
    counted("fsync", sys::fsync(fd), requests)?;
    let mut pause = Duration::from_millis(1);
    loop {
        counted("posix_fadvise", sys::fadvise_dontneed(fd), requests)?;
        *requests += 1;
        let left = match sys::cached_pages(fd) {
            Ok(pages) if !overlay => pages,
            _ => left_by_mincore(fd, requests)?,
        };
        match left {
            0 => return Ok(()),
            pages if pause > LONGEST_PAUSE => {
                let detail = format!("{pages} pages stay in the page cache");
                return Err(OpError::new(ErrorClass::Busy, "drop cache", detail));
            }
            _ => sleep(pause),
        }
        pause *= 2;
    }
}

fn counted(step: &'static str, result: Result<(), Errno>, requests: &mut u32) -> Result<(), OpError> {
    *requests += 1;
    result.map_err(|errno| errno.at(step))
}

/// For kernels before 6.5 and for sandboxes that forbid `cachestat`.
fn left_by_mincore(fd: RawFd, requests: &mut u32) -> Result<u64, OpError> {
    *requests += 4;
    let size = sys::fstat(fd).map_err(|errno| errno.at("fstat"))?.st_size.cast_unsigned();
    sys::resident_pages(fd, size).map_err(|errno| errno.at("mincore"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn both_ways_of_counting_agree() {
        let path = std::env::temp_dir().join(format!("sharebench-cache-{}", std::process::id()));
        let mut file = std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(&vec![7; 40_000]).unwrap();
        file.sync_all().unwrap();
        assert_eq!(sys::resident_pages(file.as_raw_fd(), 40_000), Ok(10));
        if let Ok(pages) = sys::cached_pages(file.as_raw_fd()) {
            assert_eq!(pages, 10);
        }
    }
}
