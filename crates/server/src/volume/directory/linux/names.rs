//! The names in a directory of the host, in an order that does not change when other names are added or removed.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FileType, Mode, OFlags, RawDir, openat};

use crate::NodeId;
use crate::VolumeResult;
use crate::volume::directory::linux::errno::volume_error;

/// Size of one request for names to the system, in bytes.
const READ_BYTES: usize = 32 << 10;

/// Number of listings in progress that are kept, so that one page of a large directory does not read all of it.
const MAX_KEPT_LISTINGS: usize = 16;

/// A name and its cookie.
pub(super) type Named = (u64, String);

/// The names of a directory in the order of their cookies.
pub(super) type Names = Arc<Vec<Named>>;

/// The cookie of a name: its hash. A listing can therefore continue after a name whatever has changed, even if the name
/// itself was removed. It is never 0.
pub(super) fn cookie(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_bytes());
    // Some clients treat cookies as signed numbers.
    (hasher.finish() >> 1).max(1)
}

/// Selection of the names of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Files and directories.
    Served,
    /// Also symbolic links.
    WithLinks,
    /// Also links and special files, which are not served but occupy their names.
    All,
}

impl Which {
    fn has(self, kind: FileType) -> bool {
        match kind {
            FileType::RegularFile | FileType::Directory | FileType::Unknown => true,
            FileType::Symlink => self != Self::Served,
            _ => self == Self::All,
        }
    }
}

/// Reads the names of files and directories, in the system's order.
pub(super) fn read_names(directory: BorrowedFd<'_>, which: Which) -> VolumeResult<Vec<String>> {
    // A separate descriptor, because the position in a directory belongs to the descriptor.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let own = openat(directory, ".", flags, Mode::empty()).map_err(volume_error)?;
    let mut buffer = vec![MaybeUninit::uninit(); READ_BYTES];
    let mut entries = RawDir::new(&own, &mut buffer);
    let mut names = Vec::new();
    let mut unreadable = 0;
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(volume_error)?;
        if !which.has(entry.file_type()) {
            continue;
        }
        match entry.file_name().to_str() {
            Ok("." | "..") => {}
            Ok(name) => names.push(name.to_owned()),
            Err(_) => unreadable += 1,
        }
    }
    if unreadable > 0 {
        tracing::warn!(count = unreadable, "names that are not UTF-8 are not shown");
    }
    Ok(names)
}

/// The listings in progress.
#[derive(Default)]
pub(super) struct Listings(Mutex<VecDeque<(NodeId, Names)>>);

impl Listings {
    /// The names of a directory: read at the start of a listing, and kept for its further pages.
    pub(super) fn names(
        &self,
        id: NodeId,
        directory: BorrowedFd<'_>,
        which: Which,
        starts: bool,
    ) -> VolumeResult<Names> {
        if !starts && let Some(names) = self.kept(id) {
            return Ok(names);
        }
        let names = read_names(directory, which)?.into_iter();
        let mut names: Vec<Named> = names.map(|name| (cookie(&name), name)).collect();
        names.sort_unstable();
        let names = Arc::new(names);
        let mut listings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listings.retain(|(other, _)| *other != id);
        listings.push_back((id, Arc::clone(&names)));
        if listings.len() > MAX_KEPT_LISTINGS {
            listings.pop_front();
        }
        Ok(names)
    }

    fn kept(&self, id: NodeId) -> Option<Names> {
        let listings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listings.iter().find(|(other, _)| *other == id).map(|(_, names)| Arc::clone(names))
    }
}

/// The names after `cookie`, grouped by equal cookies. A page must end between two groups, because it could not continue
/// within one.
pub(super) fn groups_after(names: &[Named], cookie: u64) -> impl Iterator<Item = &[Named]> {
    let start = names.partition_point(|(other, _)| *other <= cookie);
    names[start..].chunk_by(|one, other| one.0 == other.0)
}
