//! A file in the page cache: drop its pages, verify the drop, and report which pages are cached.

use std::os::fd::RawFd;
use std::thread::sleep;
use std::time::Duration;

use sharebench_model::{ErrorClass, OpError, OpStep, Residency};

use super::sys;
use crate::error_code::ErrorCode;

/// Longest pause between two attempts. The pauses double up to it and add up to two seconds.
const LONGEST_PAUSE: Duration = Duration::from_millis(1024);

/// Writes dirty pages back (they would stay), drops the clean ones and counts the remaining pages. `overlay`
/// files keep their pages in another file's cache, which only a mapping reaches. Every call is counted.
///
/// The kernel skips locked pages: those that are being read ahead, and whole batches that
/// another process is dropping. We wait for these. Pages in use remain, and are an error.
pub(crate) fn drop_cache(fd: RawFd, overlay: bool, requests: &mut u32) -> Result<(), OpError> {
    // POSIX_FADV_DONTNEED leaves dirty pages cached (docs/measure/measurement-rules.md 2.1).
    counted("fsync", sys::fsync(fd), requests)?;
    let mut pause = Duration::from_millis(1);
    loop {
        counted("posix_fadvise", sys::fadvise_dontneed(fd), requests)?;
        *requests += 1;
        let left = match sys::cached_pages(fd) {
            Ok(pages) if !overlay => pages.cached,
            _ => left_by_mincore(fd, requests)?,
        };
        match left {
            0 => return Ok(()),
            pages if pause > LONGEST_PAUSE => {
                let detail = format!("{pages} pages stay in the page cache");
                return Err(OpError::new(ErrorClass::Busy, OpStep::ClientCache, detail));
            }
            _ => sleep(pause),
        }
        pause *= 2;
    }
}

fn counted(call: &'static str, result: Result<(), ErrorCode>, requests: &mut u32) -> Result<(), OpError> {
    *requests += 1;
    result.map_err(|errno| errno.at(call))
}

/// The part of a file that is in the page cache. The call does not change the cache.
pub(crate) fn residency(fd: RawFd, overlay: bool, requests: &mut u32) -> Result<Residency, OpError> {
    *requests += 2;
    let bytes = sys::fstat(fd).map_err(|errno| errno.at("fstat"))?.st_size.cast_unsigned();
    let page = sys::page_bytes();
    let (pages, dirty) = match sys::cached_pages(fd) {
        Ok(pages) if !overlay => (pages.cached, Some(pages.dirty)),
        _ => (left_by_mincore(fd, requests)?, None),
    };
    // The last page may reach beyond the end.
    let within = |pages: u64| pages.saturating_mul(page).min(bytes);
    Ok(Residency { bytes, resident: within(pages), dirty: dirty.map(within) })
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
            assert_eq!(pages, sys::CachedPages { cached: 10, dirty: 0 });
        }
    }

    #[test]
    fn dirty_pages_are_seen_until_they_are_written() {
        let path = std::env::temp_dir().join(format!("sharebench-dirty-{}", std::process::id()));
        let mut file = std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(&vec![7; 10_000]).unwrap();
        let mut requests = 0;
        let seen = residency(file.as_raw_fd(), false, &mut requests).unwrap();
        assert_eq!((seen.bytes, seen.resident, requests >= 2), (10_000, 10_000, true));
        file.sync_all().unwrap();
        let synced = residency(file.as_raw_fd(), false, &mut requests).unwrap();
        assert_ne!(synced.dirty, Some(10_000));
        drop_cache(file.as_raw_fd(), false, &mut requests).unwrap();
        assert_eq!(residency(file.as_raw_fd(), false, &mut requests).unwrap().resident, 0);
    }
}
