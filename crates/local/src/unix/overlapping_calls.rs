//! Operations on names and files of which a session can have several in flight.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use sharebench_model::{ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpStep, OpenHow};

use super::directories::Directories;
use super::names::{Names, is_dir};
use super::relative_path::RelativePath;
use super::sys;
use crate::error_code::ErrorCode;

/// An operation with all that its system calls need, so that any thread can perform it.
///
/// [`SessionCore::prepared`] makes it, [`OverlappingCall::perform`] makes the system calls, and [`SessionCore::completed`]
/// turns the outcome into the result. The first and the last need the session's open files, the one in between does not.
///
/// [`SessionCore::prepared`]: super::session_core::SessionCore::prepared
/// [`SessionCore::completed`]: super::session_core::SessionCore::completed
#[derive(Debug)]
pub(crate) enum OverlappingCall {
    Open {
        path: String,
        how: OpenHow,
        /// Flags of the policy.
        flags: libc::c_int,
    },
    Close {
        fd: OwnedFd,
    },
    SetSize {
        fd: RawFd,
        size: u64,
    },
    /// One that has paths only.
    Names(MetaOp),
}

/// What an [`OverlappingCall`] has done.
#[derive(Debug)]
pub(crate) enum CallOutcome {
    Opened { fd: OwnedFd, size: u64, flags: libc::c_int },
    Other(MetaYield),
}

/// The file that an operation uses.
pub(crate) fn file_of(op: &MetaOp) -> Option<FileRef> {
    match op {
        MetaOp::Close { file } | MetaOp::SetSize { file, .. } => Some(*file),
        _ => None,
    }
}

impl OverlappingCall {
    /// Makes the system calls, and adds their number to `requests`.
    pub fn perform(self, directories: &Directories, requests: &mut u32) -> Result<CallOutcome, OpError> {
        let done = match self {
            Self::Open { path, how, flags } => return open(directories, &path, how, flags, requests),
            Self::Close { fd } => {
                *requests += 1;
                sys::close(fd).map_err(|errno| errno.at("close"))?;
                MetaYield::Done
            }
            Self::SetSize { fd, size } => {
                *requests += 1;
                sys::ftruncate(fd, size).map_err(|errno| errno.at("ftruncate"))?;
                MetaYield::Done
            }
            Self::Names(op) => on_names(&mut Names { directories, requests }, &op)?,
        };
        Ok(CallOutcome::Other(done))
    }
}

/// An operation that has paths only.
pub(crate) fn on_names(names: &mut Names<'_>, op: &MetaOp) -> Result<MetaYield, OpError> {
    match op {
        MetaOp::Stat { path } => names.stat(path),
        MetaOp::Remove { path } => names.remove(path),
        MetaOp::MakeDir { path } => names.make_dir(path),
        MetaOp::RemoveDir { path } => names.remove_dir(path),
        MetaOp::Rename { from, to } => names.rename(from, to),
        MetaOp::Link { from, to } => names.link(from, to),
        MetaOp::SetModified { path, seconds } => names.set_modified(path, *seconds),
        _ => Err(OpError::cannot_overlap()),
    }
}

/// Opens a file with the flags of its policy.
pub(crate) fn open(
    directories: &Directories,
    path: &str,
    how: OpenHow,
    flags: libc::c_int,
    requests: &mut u32,
) -> Result<CallOutcome, OpError> {
    let path = RelativePath::parse(path)?;
    let access = match how {
        OpenHow::Read => libc::O_RDONLY,
        OpenHow::ReadWrite => libc::O_RDWR,
        OpenHow::CreateNew => libc::O_RDWR | libc::O_CREAT | libc::O_EXCL,
    };
    let fd = directories.open(&path, access | flags, requests)?;
    // A file that this call made is empty.
    let size = if how == OpenHow::CreateNew { 0 } else { size_of_file(fd.as_raw_fd(), requests)? };
    // Without a policy there is nothing that the file system could have ignored.
    if flags != 0 {
        *requests += 1;
        check_flags(fd.as_raw_fd(), flags)?;
    }
    Ok(CallOutcome::Opened { fd, size, flags })
}

/// Bytes of an open file; an open directory is an error.
fn size_of_file(fd: RawFd, requests: &mut u32) -> Result<u64, OpError> {
    *requests += 1;
    let stat = sys::fstat(fd).map_err(|errno| errno.at("fstat"))?;
    if is_dir(&stat) {
        return Err(ErrorCode(libc::EISDIR).at("openat"));
    }
    Ok(stat.st_size.cast_unsigned())
}

/// Verifies the flags, because a file system may accept flags and ignore them.
fn check_flags(fd: RawFd, wanted: libc::c_int) -> Result<(), OpError> {
    let kept = sys::status_flags(fd).map_err(|errno| errno.at("fcntl"))?;
    for (flag, name) in [(libc::O_DIRECT, "O_DIRECT"), (libc::O_DSYNC, "O_DSYNC")] {
        if wanted & flag != kept & wanted & flag {
            let detail = format!("the open file does not have the requested flag {name}");
            return Err(OpError::new(ErrorClass::Unsupported, OpStep::SystemCall("openat"), detail));
        }
    }
    Ok(())
}
