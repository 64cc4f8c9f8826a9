//! The directories through which a session resolves names.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::beneath::{Identity, Kind, Resolution, Status};
use rustix::fs::{Mode, OFlags};
use sharebench_model::{ErrorClass, OpError, OpStep};

use super::known_directories::KnownDirectories;
use super::owner;
use super::recent_directories::RecentDirectories;
use super::relative_path::{RelativePath, c_string, encode, split_last};
use super::sys;
use crate::error_code::ErrorCode;

/// Longest time for which a working directory is used without a look at its name. A look is one `statx`, whose time
/// counts towards the operation on a name that it precedes, never towards a read or a write.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of working directories that a session keeps open: those of a run, its data set and a few more.
const MAX_OPEN: usize = 8;

/// Permissions of a working directory: nobody else may exchange names in it.
const PRIVATE: u32 = 0o700;

/// The directories of a session. Clones share them, so that threads of one session resolve names by the same descriptors. The lock
/// is held while a directory is found or opened, never during the operation on a name.
#[derive(Debug, Clone)]
pub(crate) struct Directories(Arc<Mutex<OpenDirectories>>);

/// The root directory of a session, and the directories that it keeps open.
///
/// A path in a working directory of sharebench is resolved relative to the descriptor of that directory,
/// and every other path relative to the root, always without links. A working directory must belong to the calling
/// user, which is checked by descriptor when it is opened; its name must continue to mean the same directory, which is
/// checked before operations on names, at most once per [`CHECK_INTERVAL`]. If another process exchanges it, all
/// operations on names fail as stale, and nothing in the other directory is touched. The directories of the last names are kept
/// open as well, see [`RecentDirectories`].
#[derive(Debug)]
struct OpenDirectories {
    root: Arc<OwnedFd>,
    resolution: Resolution,
    known: Arc<KnownDirectories>,
    working: Vec<WorkingDirectory>,
    kept: RecentDirectories,
}

/// A working directory that the session keeps open.
#[derive(Debug)]
struct WorkingDirectory {
    name: Vec<u8>,
    fd: Arc<OwnedFd>,
    owner: u32,
    /// Shared with the other sessions that have it open, see [`KnownDirectories`].
    identity: Arc<Identity>,
    checked: Instant,
}

fn errno(errno: rustix::io::Errno) -> ErrorCode {
    ErrorCode(errno.raw_os_error())
}

impl Directories {
    pub fn new(root: OwnedFd, resolution: Resolution, known: Arc<KnownDirectories>) -> Self {
        let root = Arc::new(root);
        let kept = RecentDirectories::default();
        Self(Arc::new(Mutex::new(OpenDirectories { root, resolution, known, working: Vec::new(), kept })))
    }

    fn lock(&self) -> MutexGuard<'_, OpenDirectories> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The root directory.
    pub fn root(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.lock().root)
    }

    /// Opens a file or directory.
    pub fn open(
        &self,
        path: &RelativePath<'_>,
        flags: libc::c_int,
        requests: &mut u32,
    ) -> Result<OwnedFd, OpError> {
        let (within, rest) = self.lock().directory_and_name(path, requests)?;
        *requests += 1;
        let name = c_string(rest);
        let flags = flags | libc::O_NOFOLLOW | libc::O_NOCTTY;
        sys::openat(within.as_fd(), &name, flags).map_err(|errno| {
            // The kernel reports a link in the place of a directory so, and in the place of a file by ELOOP.
            let is_link = errno.0 == libc::ENOTDIR
                && Status::at(within.as_fd(), &name).is_ok_and(|status| status.kind == Kind::Link);
            if is_link { ErrorCode(libc::ELOOP).at("openat") } else { errno.at("openat") }
        })
    }

    /// Opens a directory for listing. One below a working directory must be part of it by owner and device.
    pub fn open_directory(&self, path: &RelativePath<'_>, requests: &mut u32) -> Result<OwnedFd, OpError> {
        self.enter(path, requests)?;
        let fd = self.open(path, libc::O_RDONLY | libc::O_DIRECTORY, requests)?;
        if let Some(working) = self.lock().working(path) {
            working.check_part(fd.as_fd(), path, requests)?;
        }
        Ok(fd)
    }

    /// The open directory of a path's last component, and that component.
    pub fn parent<'p>(
        &self,
        path: &'p RelativePath<'_>,
        requests: &mut u32,
    ) -> Result<(Arc<OwnedFd>, &'p [u8]), OpError> {
        self.lock().parent(path, requests)
    }

    /// Makes a directory. A working directory is private, and stays open from now on.
    pub fn make(&self, path: &RelativePath<'_>, requests: &mut u32) -> Result<(), OpError> {
        let working = path.is_single().then(|| path.in_working_directory()).flatten();
        let mode = if working.is_some() { PRIVATE } else { 0o755 };
        let (parent, name) = self.parent(path, requests)?;
        *requests += 1;
        sys::mkdirat(parent.as_fd(), &c_string(name), mode).map_err(|errno| errno.at("mkdirat"))?;
        if let Some((name, _)) = working {
            self.forget(path);
            let mut directories = self.lock();
            directories.known.remove(name);
            directories.enter(path, requests)?;
        }
        Ok(())
    }

    /// Uses what is open under a path no longer, after it was removed or renamed.
    pub fn forget(&self, path: &RelativePath<'_>) {
        let mut directories = self.lock();
        directories.known.invalidate(path.bytes());
        if let Some((name, [])) = path.in_working_directory() {
            directories.working.retain(|working| working.name != name);
        }
    }

    /// Makes sure that the working directory of a path is open and is still the one of its name.
    pub fn enter(&self, path: &RelativePath<'_>, requests: &mut u32) -> Result<(), OpError> {
        self.lock().enter(path, requests)
    }
}

impl OpenDirectories {
    /// The directory relative to which a path is opened, and the last component; none of it for the directory itself.
    fn directory_and_name<'p>(
        &mut self,
        path: &'p RelativePath<'_>,
        requests: &mut u32,
    ) -> Result<(Arc<OwnedFd>, &'p [u8]), OpError> {
        if !path.is_single() {
            return self.parent(path, requests);
        }
        self.enter(path, requests)?;
        let (within, rest, _) = self.base(path)?;
        Ok((within, rest))
    }

    fn parent<'p>(
        &mut self,
        path: &'p RelativePath<'_>,
        requests: &mut u32,
    ) -> Result<(Arc<OwnedFd>, &'p [u8]), OpError> {
        let (directory, last) = split_last(path.bytes());
        // A name in the root is an operation on the working directory itself, which need not exist.
        if directory.is_empty() {
            return Ok((Arc::clone(&self.root), last));
        }
        if let Some(kept) = self.kept.get(directory, CHECK_INTERVAL) {
            return Ok((kept, last));
        }
        // Before the directory is opened: a removal in between makes it invalid at once.
        let is_current = self.known.keep(directory);
        self.enter(path, requests)?;
        let (within, rest, checked) = self.base(path)?;
        let (parent, _) = split_last(rest);
        let fd = if parent.is_empty() { within } else { self.open_parent(&within, parent, path, requests)? };
        self.kept.keep(directory, &fd, checked, is_current);
        Ok((fd, last))
    }

    fn open_parent(
        &self,
        within: &OwnedFd,
        parent: &[u8],
        path: &RelativePath<'_>,
        requests: &mut u32,
    ) -> Result<Arc<OwnedFd>, OpError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let opened = self.resolution.open(within.as_fd(), &c_string(parent), flags, Mode::empty(), requests);
        let opened = opened.map_err(|error| errno(error).at("openat"))?;
        // The call that closes it.
        *requests += 1;
        if let Some(working) = self.working(path).filter(|_| !path.is_working_directory()) {
            working.check_part(opened.as_fd(), path, requests)?;
        }
        Ok(Arc::new(opened))
    }

    /// The directory that a path is relative to, the path from there, and when the name of the directory was examined.
    fn base<'p>(&self, path: &'p RelativePath<'_>) -> Result<(Arc<OwnedFd>, &'p [u8], Instant), OpError> {
        match path.in_working_directory() {
            // That in a recycle bin is a name in the bin.
            Some((name, rest)) if path.is_single() || !rest.is_empty() => {
                let working = self.working(path).ok_or_else(|| replaced(name))?;
                Ok((Arc::clone(&working.fd), rest, working.checked))
            }
            _ => Ok((Arc::clone(&self.root), path.bytes(), Instant::now())),
        }
    }

    fn working(&self, path: &RelativePath<'_>) -> Option<&WorkingDirectory> {
        let (name, _) = path.in_working_directory()?;
        self.working.iter().find(|working| working.name == name)
    }

    /// See [`Directories::enter`].
    fn enter(&mut self, path: &RelativePath<'_>, requests: &mut u32) -> Result<(), OpError> {
        let Some((name, rest)) = path.in_working_directory() else { return Ok(()) };
        if let Some(at) = self.working.iter().position(|working| working.name == name) {
            // An operation on the directory itself always looks, because it depends on the name.
            if !rest.is_empty() && self.working[at].checked.elapsed() < CHECK_INTERVAL {
                return Ok(());
            }
            *requests += 1;
            let now = Status::at(self.root.as_fd(), name).map(|status| status.identity);
            let working = &mut self.working[at];
            match now {
                Ok(identity) if identity == *working.identity => {
                    working.checked = Instant::now();
                    return Ok(());
                }
                // Another session of this process has made it anew.
                Ok(identity) if self.known.current(name) == Some(identity) => {
                    drop(self.working.swap_remove(at));
                }
                Ok(_) => return Err(replaced(name)),
                Err(error) => return Err(errno(error).at("statx")),
            }
        }
        let working = self.open_working(name, requests)?;
        if self.working.len() >= MAX_OPEN {
            self.working.remove(0);
        }
        self.working.push(working);
        Ok(())
    }

    fn open_working(&self, name: &[u8], requests: &mut u32) -> Result<WorkingDirectory, OpError> {
        *requests += 1;
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let fd = self.resolution.open(self.root.as_fd(), &c_string(name), flags, Mode::empty(), requests);
        let fd = fd.map_err(|error| errno(error).at("openat"))?;
        let status = Status::from_file(fd.as_fd()).map_err(|error| errno(error).at("statx"))?;
        if !owner::is_caller(self.root.as_fd(), status.owner) {
            return Err(OpError::new(
                ErrorClass::Refused,
                OpStep::Path,
                owner::foreign(&encode(name), status.owner),
            ));
        }
        let identity = self.known.agree(name, status.identity);
        if *identity != status.identity {
            return Err(replaced(name));
        }
        let checked = Instant::now();
        Ok(WorkingDirectory { name: name.to_vec(), fd: Arc::new(fd), owner: status.owner, identity, checked })
    }
}

impl WorkingDirectory {
    /// Checks that an open directory below this one is on the same device and has the same owner, so that a directory
    /// that somebody else moved or mounted here is not emptied.
    fn check_part(
        &self,
        part: BorrowedFd<'_>,
        path: &RelativePath<'_>,
        requests: &mut u32,
    ) -> Result<(), OpError> {
        *requests += 1;
        let status = Status::from_file(part).map_err(|error| errno(error).at("statx"))?;
        if status.kind == Kind::Directory
            && status.owner == self.owner
            && status.identity.same_device(&self.identity)
        {
            return Ok(());
        }
        let detail = format!(
            "'{}' leads to a directory of another owner or device; it is not touched",
            encode(path.bytes())
        );
        Err(OpError::new(ErrorClass::Refused, OpStep::Path, detail))
    }
}

/// The name of a working directory no longer means the directory that was opened.
fn replaced(name: &[u8]) -> OpError {
    let detail = format!(
        "another process has moved or replaced '{}' while it was in use; nothing in the other directory was touched",
        encode(name)
    );
    OpError::new(ErrorClass::Stale, OpStep::Path, detail)
}
