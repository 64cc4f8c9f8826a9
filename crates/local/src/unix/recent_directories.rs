//! Directories that a session keeps open because its last operations were on names in them.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of these directories: a rename uses two, and a few jobs or files more are at hand.
const MAX_KEPT: usize = 4;

/// The directories of the last operations on names.
///
/// Opening the directory of a name, examining and closing it takes three system calls, more than most operations do. Programs
/// that work in a directory open or enter it once. A session does the same: it keeps a directory until it has not looked at its
/// working directory for `interval`, or a session of this process removes or renames the directory. If another process
/// does that, operations go to the open directory until then, as those on a working directory do.
#[derive(Debug, Default)]
pub(crate) struct RecentDirectories {
    kept: Vec<RecentDirectory>,
    /// Place of the next one once all are in use.
    next: usize,
}

#[derive(Debug)]
struct RecentDirectory {
    path: Vec<u8>,
    fd: Arc<OwnedFd>,
    /// When the name of its working directory was last examined.
    checked: Instant,
    is_current: Arc<AtomicBool>,
}

impl RecentDirectories {
    /// The directory of a path, if it was examined within `interval`.
    pub fn get(&self, path: &[u8], interval: Duration) -> Option<Arc<OwnedFd>> {
        let kept = self.kept.iter().find(|kept| kept.path == path)?;
        let is_usable = kept.is_current.load(Ordering::Acquire) && kept.checked.elapsed() < interval;
        is_usable.then(|| Arc::clone(&kept.fd))
    }

    /// Keeps an open directory, in the place of an earlier one of this path if there is one.
    pub fn keep(&mut self, path: &[u8], fd: &Arc<OwnedFd>, checked: Instant, is_current: Arc<AtomicBool>) {
        let kept = RecentDirectory { path: path.to_vec(), fd: Arc::clone(fd), checked, is_current };
        let same = self.kept.iter_mut().find(|other| other.path == path);
        if let Some(place) = same {
            *place = kept;
        } else if self.kept.len() < MAX_KEPT {
            self.kept.push(kept);
        } else {
            self.kept[self.next] = kept;
            self.next = (self.next + 1) % MAX_KEPT;
        }
    }
}
