//! The directories through which a session resolves names.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use sharebench_beneath::{Identity, Kind, Resolution, Status};
use sharebench_model::{ErrorClass, OpError, OpStep};

use crate::errno::Errno;
use crate::owner;
use crate::relative_path::{RelativePath, c_string, encode, split_last};
use crate::sys;

/// Longest time for which a working directory is used without a look at its name. A look is one `statx`, whose time
/// counts towards the operation on a name that it precedes, never towards a read or a write.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of working directories that a session keeps open: those of a run, its data set and a few more.
const MAX_OPEN: usize = 8;

/// Permissions of a working directory: nobody else may exchange names in it.
const PRIVATE: u32 = 0o700;

/// The identity of the working directories that the sessions of one target use, by name.
///
/// The first session that opens a working directory determines its identity. As long as any session keeps it open, the
/// others accept no other directory of this name. When the last one closes it, the entry expires: the pre-step command
/// may then mount the file system anew, which changes device numbers.
#[derive(Debug, Default)]
pub(crate) struct KnownDirectories(Mutex<BTreeMap<Vec<u8>, Weak<Identity>>>);

impl KnownDirectories {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Weak<Identity>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The identity that the sessions agree on; `found` if no session has the directory open.
    fn agree(&self, name: &[u8], found: Identity) -> Arc<Identity> {
        let mut known = self.lock();
        if let Some(agreed) = known.get(name).and_then(Weak::upgrade) {
            return agreed;
        }
        known.retain(|_, identity| identity.strong_count() > 0);
        let agreed = Arc::new(found);
        known.insert(name.to_vec(), Arc::downgrade(&agreed));
        agreed
    }

    fn current(&self, name: &[u8]) -> Option<Identity> {
        self.lock().get(name).and_then(Weak::upgrade).map(|identity| *identity)
    }

    fn remove(&self, name: &[u8]) {
        self.lock().remove(name);
    }
}

/// The root directory of a session and the working directories that it keeps open.
///
/// A path that starts with a working directory of sharebench is resolved relative to the descriptor of that directory,
/// and every other path relative to the root, always without links. A working directory must belong to the calling
/// user, which is checked by descriptor when it is opened; its name must continue to mean the same directory, which is
/// checked before operations on names, at most once per [`CHECK_INTERVAL`]. If another process exchanges it, all
/// operations on names fail as stale, and nothing in the other directory is touched.
#[derive(Debug)]
pub(crate) struct Directories {
    root: OwnedFd,
    resolution: Resolution,
    known: Arc<KnownDirectories>,
    open: Vec<WorkingDirectory>,
}

/// A working directory that the session keeps open.
#[derive(Debug)]
struct WorkingDirectory {
    name: Vec<u8>,
    fd: OwnedFd,
    owner: u32,
    /// Shared with the other sessions that have it open, see [`KnownDirectories`].
    identity: Arc<Identity>,
    checked: Instant,
}

/// The directory of a path's last component.
#[derive(Debug)]
pub(crate) enum ParentDirectory<'d> {
    /// The root or a working directory.
    Kept(BorrowedFd<'d>),
    /// Opened for this operation.
    Opened(OwnedFd),
}

impl AsFd for ParentDirectory<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Kept(fd) => *fd,
            Self::Opened(fd) => fd.as_fd(),
        }
    }
}

fn errno(errno: rustix::io::Errno) -> Errno {
    Errno(errno.raw_os_error())
}

impl Directories {
    pub fn new(root: OwnedFd, resolution: Resolution, known: Arc<KnownDirectories>) -> Self {
        Self { root, resolution, known, open: Vec::new() }
    }

    /// The root directory.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Opens a file or directory.
    pub fn open(
        &mut self,
        path: &RelativePath,
        flags: libc::c_int,
        requests: &mut u32,
    ) -> Result<OwnedFd, OpError> {
        self.enter(path, requests)?;
        let (within, rest) = self.base(path)?;
        let flags = OFlags::from_bits_retain(flags.cast_unsigned());
        if rest.is_empty() {
            *requests += 1;
            let own = sys::openat(within, c".", flags.bits().cast_signed());
            return own.map_err(|errno| errno.at("openat"));
        }
        let mode = Mode::from_raw_mode(0o644);
        let opened = self.resolution.open(within, &c_string(rest), flags, mode, requests);
        opened.map_err(|error| errno(error).at("openat"))
    }

    /// Opens a directory for listing. One below a working directory must be part of it by owner and device.
    pub fn open_directory(&mut self, path: &RelativePath, requests: &mut u32) -> Result<OwnedFd, OpError> {
        let fd = self.open(path, libc::O_RDONLY | libc::O_DIRECTORY, requests)?;
        if let Some(working) = self.working(path) {
            working.check_part(fd.as_fd(), path, requests)?;
        }
        Ok(fd)
    }

    /// The open directory of a path's last component, and that component.
    pub fn parent<'d, 'p>(
        &'d mut self,
        path: &'p RelativePath,
        requests: &mut u32,
    ) -> Result<(ParentDirectory<'d>, &'p [u8]), OpError> {
        // A name in the root is an operation on the working directory itself, which need not exist.
        if !path.is_single() {
            self.enter(path, requests)?;
        }
        self.resolve_parent(path, requests)
    }

    /// The open directories of two paths' last components, and these components.
    pub fn parents<'d, 'p>(
        &'d mut self,
        one: &'p RelativePath,
        other: &'p RelativePath,
        requests: &mut u32,
    ) -> Result<[(ParentDirectory<'d>, &'p [u8]); 2], OpError> {
        for path in [one, other] {
            if !path.is_single() {
                self.enter(path, requests)?;
            }
        }
        Ok([self.resolve_parent(one, requests)?, self.resolve_parent(other, requests)?])
    }

    fn resolve_parent<'d, 'p>(
        &'d self,
        path: &'p RelativePath,
        requests: &mut u32,
    ) -> Result<(ParentDirectory<'d>, &'p [u8]), OpError> {
        if path.is_single() {
            return Ok((ParentDirectory::Kept(self.root()), path.bytes()));
        }
        let (within, rest) = self.base(path)?;
        let (parent, last) = split_last(rest);
        if parent.is_empty() {
            return Ok((ParentDirectory::Kept(within), last));
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let opened = self.resolution.open(within, &c_string(parent), flags, Mode::empty(), requests);
        let opened = opened.map_err(|error| errno(error).at("openat"))?;
        // The call that closes it.
        *requests += 1;
        if let Some(working) = self.working(path) {
            working.check_part(opened.as_fd(), path, requests)?;
        }
        Ok((ParentDirectory::Opened(opened), last))
    }

    /// The directory that a path is relative to, and the path from there.
    fn base<'d, 'p>(&'d self, path: &'p RelativePath) -> Result<(BorrowedFd<'d>, &'p [u8]), OpError> {
        match path.in_working_directory() {
            Some((name, rest)) => {
                let working = self.working(path).ok_or_else(|| replaced(name))?;
                Ok((working.fd.as_fd(), rest))
            }
            None => Ok((self.root(), path.bytes())),
        }
    }

    fn working(&self, path: &RelativePath) -> Option<&WorkingDirectory> {
        let (name, _) = path.in_working_directory()?;
        self.open.iter().find(|working| working.name == name)
    }

    /// Makes a directory. A working directory is private, and stays open from now on.
    pub fn make(&mut self, path: &RelativePath, requests: &mut u32) -> Result<(), OpError> {
        let working = path.is_single().then(|| path.in_working_directory()).flatten();
        let mode = if working.is_some() { PRIVATE } else { 0o755 };
        {
            let (parent, name) = self.parent(path, requests)?;
            *requests += 1;
            sys::mkdirat(parent.as_fd(), &c_string(name), mode).map_err(|errno| errno.at("mkdirat"))?;
        }
        if let Some((name, _)) = working {
            self.forget(path);
            self.known.remove(name);
            self.enter(path, requests)?;
        }
        Ok(())
    }

    /// Closes the working directory that a path starts with, before it is removed or renamed, or after it was.
    pub fn forget(&mut self, path: &RelativePath) {
        if let Some((name, _)) = path.in_working_directory() {
            self.open.retain(|working| working.name != name);
        }
    }

    /// Makes sure that the working directory of a path is open and is still the one of its name.
    pub fn enter(&mut self, path: &RelativePath, requests: &mut u32) -> Result<(), OpError> {
        let Some((name, rest)) = path.in_working_directory() else { return Ok(()) };
        if let Some(at) = self.open.iter().position(|working| working.name == name) {
            // An operation on the directory itself always looks, because it depends on the name.
            if !rest.is_empty() && self.open[at].checked.elapsed() < CHECK_INTERVAL {
                return Ok(());
            }
            *requests += 1;
            let now = Status::at(self.root(), name).map(|status| status.identity);
            let working = &mut self.open[at];
            match now {
                Ok(identity) if identity == *working.identity => {
                    working.checked = Instant::now();
                    return Ok(());
                }
                // Another session of this process has made it anew.
                Ok(identity) if self.known.current(name) == Some(identity) => drop(self.open.swap_remove(at)),
                Ok(_) => return Err(replaced(name)),
                Err(error) => return Err(errno(error).at("statx")),
            }
        }
        let working = self.open_working(name, requests)?;
        if self.open.len() >= MAX_OPEN {
            self.open.remove(0);
        }
        self.open.push(working);
        Ok(())
    }

    fn open_working(&self, name: &[u8], requests: &mut u32) -> Result<WorkingDirectory, OpError> {
        *requests += 2;
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let fd = sys::openat(self.root(), &c_string(name), flags).map_err(|errno| errno.at("openat"))?;
        let status = Status::of(fd.as_fd()).map_err(|error| errno(error).at("statx"))?;
        if !owner::is_caller(self.root(), status.owner) {
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
        Ok(WorkingDirectory { name: name.to_vec(), fd, owner: status.owner, identity, checked })
    }
}

impl WorkingDirectory {
    /// Checks that an open directory below this one is on the same device and has the same owner, so that a directory
    /// that somebody else moved or mounted here is not emptied.
    fn check_part(
        &self,
        part: BorrowedFd<'_>,
        path: &RelativePath,
        requests: &mut u32,
    ) -> Result<(), OpError> {
        *requests += 1;
        let status = Status::of(part).map_err(|error| errno(error).at("statx"))?;
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
