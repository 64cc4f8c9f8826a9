//! The names of large directories in any case.
//!
//! Linux finds a name whose case is not known only by reading the whole directory, so that each creation in a directory of
//! 100,000 files would take milliseconds. The names of such directories are kept, and the system reports their changes
//! (inotify(7)), also those that other processes make (docs/design/smb-server.md).

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{fstatfs, inotify};
use rustix::io::Errno;

use crate::NodeId;
use crate::VolumeResult;
use crate::volume::directory::linux::names::{Which, read_names};
use crate::volume::name::fold_case;

/// Directories with fewer names are read each time, by one or two system calls.
const MIN_NAMES: usize = 256;
/// Maximum number of directories whose names are kept, and of their names, each of which takes about 60 bytes and its length.
const MAX_DIRECTORIES: usize = 16;
const MAX_NAMES: usize = 2_000_000;
/// Size of one request for changes to the system, in bytes.
const READ_BYTES: usize = 16 << 10;
/// File systems of which the system reports every change (statfs(2)): ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS and ZFS. On
/// those of other machines the changes of other clients are not reported.
const LOCAL_FILE_SYSTEMS: [u64; 7] =
    [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0xF2F5_2010, 0x2FC1_2FC1];

/// The names of the large directories that clients look up names in, up to [`MAX_DIRECTORIES`].
#[derive(Default)]
pub(super) struct FoldedNames(Mutex<Indexes>);

#[derive(Default)]
struct Indexes {
    /// What reports the changes; none before the first directory.
    watcher: Option<OwnedFd>,
    /// The one that was used last is at the end.
    directories: Vec<Index>,
    buffer: Vec<MaybeUninit<u8>>,
    /// Makes the keys, so that no client can choose names whose keys are equal.
    keys: RandomState,
}

/// The names of a directory.
struct Index {
    id: NodeId,
    watch: i32,
    /// Each with the key of its folded form.
    names: BTreeSet<(u64, Box<str>)>,
}

impl FoldedNames {
    /// The only name in a directory that equals `name` except for case; none if there are several.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(super) fn only(
        &self,
        id: NodeId,
        directory: BorrowedFd<'_>,
        name: &str,
    ) -> VolumeResult<Option<String>> {
        let folded = fold_case(name);
        let mut kept = self.lock();
        let key = kept.keys.hash_one(folded.as_str());
        if let Some(index) = kept.current(id) {
            return Ok(index.only(key, &folded));
        }
        drop(kept);
        // Without the lock: it is the usual way in small directories.
        let names = read_names(directory, Which::All)?;
        if names.len() >= MIN_NAMES
            && let Some(index) = self.lock().add(id, directory)?
        {
            return Ok(index.only(key, &folded));
        }
        Ok(only(names.iter().map(String::as_str), &folded))
    }

    fn lock(&self) -> MutexGuard<'_, Indexes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The only one of these names that has this folded form.
fn only<'n>(names: impl Iterator<Item = &'n str>, folded: &str) -> Option<String> {
    let mut matches = names.filter(|name| fold_case(name) == folded);
    match (matches.next(), matches.next()) {
        (Some(only), None) => Some(only.to_owned()),
        _ => None,
    }
}

impl Index {
    /// The only name with this folded form and its key.
    fn only(&self, key: u64, folded: &str) -> Option<String> {
        let same_key = self.names.range((key, Box::default())..);
        only(same_key.take_while(|(other, _)| *other == key).map(|(_, name)| &**name), folded)
    }
}

impl Indexes {
    /// The names of a directory as they are now; none if they are not kept.
    fn current(&mut self, id: NodeId) -> Option<&Index> {
        if !self.directories.iter().any(|index| index.id == id) {
            return None;
        }
        self.receive();
        let at = self.directories.iter().position(|index| index.id == id)?;
        self.directories[at..].rotate_left(1);
        self.directories.last()
    }

    /// Keeps the names of a directory from now on; none if that is not possible.
    fn add(&mut self, id: NodeId, directory: BorrowedFd<'_>) -> VolumeResult<Option<&Index>> {
        let is_local = fstatfs(directory)
            .is_ok_and(|file_system| LOCAL_FILE_SYSTEMS.contains(&(file_system.f_type as u64)));
        if !is_local {
            return Ok(None);
        }
        if self.watcher.is_none() {
            self.watcher = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok();
        }
        let Some(watcher) = &self.watcher else { return Ok(None) };
        let events = inotify::WatchFlags::CREATE
            | inotify::WatchFlags::DELETE
            | inotify::WatchFlags::MOVED_FROM
            | inotify::WatchFlags::MOVED_TO
            | inotify::WatchFlags::DELETE_SELF
            | inotify::WatchFlags::ONLYDIR;
        // There is no call that takes a descriptor.
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        let Ok(watch) = inotify::add_watch(watcher, path, events) else { return Ok(None) };
        // Another thread may have added it meanwhile; it has the same watch then.
        self.directories.retain(|index| index.watch != watch);
        // After the watch has begun: what changes while the names are read is reported.
        let names = read_names(directory, Which::All)?.into_iter();
        let keyed = names.map(|name| (self.keys.hash_one(fold_case(&name).as_str()), name.into_boxed_str()));
        let index = Index { id, watch, names: keyed.collect() };
        self.directories.push(index);
        self.limit();
        Ok(self.directories.last().filter(|index| index.id == id))
    }

    /// Drops the directories that were used least recently until the others are within the limits.
    fn limit(&mut self) {
        while self.directories.len() > MAX_DIRECTORIES
            || self.directories.iter().map(|index| index.names.len()).sum::<usize>() > MAX_NAMES
        {
            let dropped = self.directories.remove(0);
            if let Some(watcher) = &self.watcher {
                // It has ended by itself if the directory was removed.
                let _ = inotify::remove_watch(watcher, dropped.watch);
            }
        }
    }

    /// Applies the changes since the last call. The system has reported a change before the call that made it returns.
    fn receive(&mut self) {
        let Some(watcher) = &self.watcher else { return };
        self.buffer.resize(READ_BYTES, MaybeUninit::uninit());
        let mut reader = inotify::Reader::new(watcher, &mut self.buffer);
        let is_complete = loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(error) => break error == Errno::AGAIN,
            };
            let events = event.events();
            if events.contains(inotify::ReadFlags::QUEUE_OVERFLOW) {
                break false;
            }
            let watch = event.wd();
            if events.intersects(
                inotify::ReadFlags::IGNORED | inotify::ReadFlags::DELETE_SELF | inotify::ReadFlags::UNMOUNT,
            ) {
                self.directories.retain(|index| index.watch != watch);
                continue;
            }
            // Names that are not UTF-8 are not served.
            let name = event.file_name().and_then(|name| name.to_str().ok());
            let index = self.directories.iter_mut().find(|index| index.watch == watch);
            let (Some(name), Some(index)) = (name, index) else { continue };
            let entry = (self.keys.hash_one(fold_case(name).as_str()), name.into());
            if events.intersects(inotify::ReadFlags::CREATE | inotify::ReadFlags::MOVED_TO) {
                index.names.insert(entry);
            } else if events.intersects(inotify::ReadFlags::DELETE | inotify::ReadFlags::MOVED_FROM) {
                index.names.remove(&entry);
            }
        };
        if !is_complete {
            // Changes were lost. The directories are read again when they are used.
            self.directories.clear();
            self.watcher = None;
        }
        self.limit();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd as _;
    use std::path::PathBuf;

    use super::*;

    /// A directory that is removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("folded-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn make(&self, name: &str) {
            fs::write(self.0.join(name), "").unwrap();
        }

        /// Makes as many files as a directory has whose names are kept, and opens it.
        fn filled(&self) -> fs::File {
            for number in 0..MIN_NAMES {
                self.make(&format!("Name-{number}"));
            }
            fs::File::open(&self.0).unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn changes_of_other_processes_are_seen_at_once() {
        let scratch = Scratch::new("changes");
        let directory = scratch.filled();
        let names = FoldedNames::default();
        let only = |name: &str| names.only(NodeId(7), directory.as_fd(), name).unwrap();
        assert_eq!(only("nAME-17"), Some("Name-17".to_owned()));
        assert_eq!(names.lock().directories.len(), 1, "a large directory is kept");
        assert_eq!(only("other"), None);
        scratch.make("Other");
        assert_eq!(only("other"), Some("Other".to_owned()));
        scratch.make("OTHER");
        assert_eq!(only("other"), None, "there are two");
        fs::rename(scratch.0.join("Other"), scratch.0.join("renamed")).unwrap();
        assert_eq!((only("other"), only("RENAMED")), (Some("OTHER".to_owned()), Some("renamed".to_owned())));
        fs::remove_file(scratch.0.join("OTHER")).unwrap();
        assert_eq!(only("other"), None);
        assert_eq!(names.lock().directories[0].names.len(), MIN_NAMES + 1);
        fs::remove_dir_all(&scratch.0).unwrap();
        assert_eq!(only("RENAMED"), None);
        assert!(names.lock().directories[0].names.is_empty());
    }

    #[test]
    fn a_small_directory_is_read_each_time() {
        let scratch = Scratch::new("small");
        scratch.make("Name");
        let directory = fs::File::open(&scratch.0).unwrap();
        let names = FoldedNames::default();
        assert_eq!(names.only(NodeId(7), directory.as_fd(), "name").unwrap(), Some("Name".to_owned()));
        assert!(names.lock().watcher.is_none());
    }

    #[test]
    fn a_directory_whose_changes_were_lost_is_read_again() {
        let scratch = Scratch::new("lost");
        let directory = scratch.filled();
        let names = FoldedNames::default();
        let only = |name: &str| names.only(NodeId(7), directory.as_fd(), name).unwrap();
        assert_eq!(only("name-1"), Some("Name-1".to_owned()));
        let kept = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let changes = kept.trim().parse::<usize>().unwrap() / 2 + 100;
        scratch.make("Early");
        for _ in 0..changes {
            // Two events that differ, so that the system does not merge them.
            scratch.make("again");
            fs::remove_file(scratch.0.join("again")).unwrap();
        }
        scratch.make("Late");
        assert_eq!(only("LATE"), Some("Late".to_owned()));
        assert_eq!((only("EARLY"), only("AGAIN")), (Some("Early".to_owned()), None));
        assert_eq!(names.lock().directories.len(), 1);
    }

    #[test]
    fn the_directories_that_were_used_least_recently_are_dropped() {
        let scratch = Scratch::new("many");
        let below = (0..=MAX_DIRECTORIES).map(|number| {
            let path = scratch.0.join(number.to_string());
            fs::create_dir(&path).unwrap();
            Scratch(path)
        });
        let below: Vec<_> = below.collect();
        let directories: Vec<_> = below.iter().map(Scratch::filled).collect();
        let names = FoldedNames::default();
        for (number, directory) in directories.iter().enumerate() {
            let found = names.only(NodeId(number as u64), directory.as_fd(), "name-3").unwrap();
            assert_eq!(found, Some("Name-3".to_owned()));
            // Keeps the first one in use.
            let _ = names.only(NodeId(0), directories[0].as_fd(), "name-3").unwrap();
        }
        let kept = names.lock();
        assert_eq!(kept.directories.len(), MAX_DIRECTORIES);
        assert!(kept.directories.iter().any(|index| index.id == NodeId(0)));
        assert!(kept.directories.iter().all(|index| index.id != NodeId(1)));
    }
}
