//! Opening a path of several components below a directory.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use super::status::{Kind, Status};

/// Flags with which every component is opened: a link is an error, and nothing is inherited by other programs.
pub const NO_LINKS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// Flags of a directory on the way: a reference without access to its content.
const ON_THE_WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(NO_LINKS);

/// How a path of several components is opened below a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// By the kernel: one `openat2` with `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`.
    Kernel,
    /// One `openat` per component: for kernels before 5.6, and for sandboxes that reject `openat2`.
    Components,
}

impl Resolution {
    /// The kernel's way where it exists, by one attempt per process.
    pub fn of_this_kernel() -> Self {
        static KNOWN: OnceLock<Resolution> = OnceLock::new();
        *KNOWN.get_or_init(|| {
            let attempt = openat2(CWD, c".", ON_THE_WAY, Mode::empty(), ResolveFlags::BENEATH);
            // Any error counts: sandboxes answer with other errors than a kernel that does not know the call.
            if attempt.is_ok() { Self::Kernel } else { Self::Components }
        })
    }

    /// Opens a path below a directory. Its components are separated by single `/`; none may be a link, `.` or `..`.
    /// Adds the number of system calls to `calls`.
    ///
    /// # Errors
    /// [`Errno::LOOP`] for a link anywhere in the path, [`Errno::INVAL`] for a path that is not of this form, and the
    /// errors of openat(2).
    pub fn open(
        self,
        directory: BorrowedFd<'_>,
        path: &CStr,
        flags: OFlags,
        mode: Mode,
        calls: &mut u32,
    ) -> Result<OwnedFd, Errno> {
        let components = || path.to_bytes().split(|byte| *byte == b'/');
        if components().any(|component| matches!(component, b"" | b"." | b"..")) {
            return Err(Errno::INVAL);
        }
        let flags = flags | NO_LINKS;
        // The kernel rejects a mode that no flag uses.
        let mode = if flags.intersects(OFlags::CREATE | OFlags::TMPFILE) { mode } else { Mode::empty() };
        if self == Self::Kernel && components().nth(1).is_some() {
            *calls += 1;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            match openat2(directory, path, flags, mode, resolve) {
                // The kernel gives up when names change too quickly; each component by itself cannot fail so.
                Err(Errno::AGAIN) => {}
                opened => return opened,
            }
        }
        open_components(directory, path, flags, mode, calls)
    }
}

fn open_components(
    directory: BorrowedFd<'_>,
    path: &CStr,
    flags: OFlags,
    mode: Mode,
    calls: &mut u32,
) -> Result<OwnedFd, Errno> {
    let (parents, last) = match path.to_bytes().iter().rposition(|byte| *byte == b'/') {
        Some(at) => (Some(&path.to_bytes()[..at]), &path.to_bytes()[at + 1..]),
        None => (None, path.to_bytes()),
    };
    let mut parent: Option<OwnedFd> = None;
    for component in parents.into_iter().flat_map(|parents| parents.split(|byte| *byte == b'/')) {
        let within = parent.as_ref().map_or(directory, AsFd::as_fd);
        // The call that opens it, and the one that closes it.
        *calls += 2;
        let opened = openat(within, component, ON_THE_WAY, Mode::empty());
        parent = Some(opened.map_err(|errno| explained(within, component, errno))?);
    }
    let within = parent.as_ref().map_or(directory, AsFd::as_fd);
    *calls += 1;
    let last = CString::new(last).map_err(|_| Errno::INVAL)?;
    openat(within, last, flags, mode)
}

/// The error that `openat2` has for a link, where `openat` reports that it is not a directory.
fn explained(directory: BorrowedFd<'_>, component: &[u8], errno: Errno) -> Errno {
    let is_link = || Status::at(directory, component).is_ok_and(|status| status.kind == Kind::Link);
    if errno == Errno::NOTDIR && is_link() { Errno::LOOP } else { errno }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("sharebench-beneath-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("inside/deep")).unwrap();
            fs::create_dir(path.join("outside")).unwrap();
            fs::write(path.join("inside/deep/file"), b"inside").unwrap();
            fs::write(path.join("outside/file"), b"outside").unwrap();
            symlink("../outside", path.join("inside/link")).unwrap();
            symlink("deep", path.join("inside/near")).unwrap();
            Self(path)
        }

        fn inside(&self) -> fs::File {
            fs::File::open(self.0.join("inside")).unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const BOTH: [Resolution; 2] = [Resolution::Kernel, Resolution::Components];

    fn opened(resolution: Resolution, directory: &fs::File, path: &CStr) -> Result<String, Errno> {
        let mut calls = 0;
        let fd = resolution.open(directory.as_fd(), path, OFlags::RDONLY, Mode::empty(), &mut calls)?;
        assert!(calls > 0);
        let mut text = String::new();
        fs::File::from(fd).read_to_string(&mut text).unwrap();
        Ok(text)
    }

    #[test]
    fn both_resolutions_open_files_and_reject_every_link() {
        let scratch = Scratch::new("links");
        let inside = scratch.inside();
        for resolution in BOTH {
            assert_eq!(opened(resolution, &inside, c"deep/file").as_deref(), Ok("inside"), "{resolution:?}");
            for path in [c"link/file", c"near/file", c"link", c"near"] {
                assert_eq!(opened(resolution, &inside, path), Err(Errno::LOOP), "{resolution:?} {path:?}");
            }
            for path in [c"../outside/file", c"/etc/passwd", c"deep//file", c"deep/../deep/file", c"", c"."] {
                assert_eq!(opened(resolution, &inside, path), Err(Errno::INVAL), "{resolution:?} {path:?}");
            }
            assert_eq!(opened(resolution, &inside, c"none/file"), Err(Errno::NOENT), "{resolution:?}");
            assert_eq!(opened(resolution, &inside, c"deep/file/x"), Err(Errno::NOTDIR), "{resolution:?}");
        }
    }

    #[test]
    fn identity_follows_the_object_and_not_the_name() {
        let scratch = Scratch::new("identity");
        let inside = scratch.inside();
        let before = Status::at(inside.as_fd(), c"deep").unwrap();
        let open = fs::File::open(scratch.0.join("inside/deep")).unwrap();
        fs::rename(scratch.0.join("inside/deep"), scratch.0.join("inside/moved")).unwrap();
        fs::create_dir(scratch.0.join("inside/deep")).unwrap();
        let after = Status::at(inside.as_fd(), c"deep").unwrap();
        assert_ne!(before.identity, after.identity);
        assert!(before.identity.same_device(&after.identity) && before.same_mount(&after));
        assert_eq!(Status::from_file(open.as_fd()).unwrap().identity, before.identity);
        assert_eq!(Status::at(inside.as_fd(), c"link").unwrap().kind, Kind::Link);
    }
}
