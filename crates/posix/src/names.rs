//! Operations on names, relative to the root directory and never above it.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use sharebench_model::{Entry, ErrorClass, MetaYield, OpError, OpStep, Space, Stat};

use crate::errno::Errno;
use crate::sys;

/// A path below the root in the system's form. Absolute paths, `.`, `..`, empty components and NUL bytes
/// are rejected, so that no name can leave the root.
pub(crate) fn relative(path: &str) -> Result<CString, OpError> {
    let refuse = |why: &str| OpError::new(ErrorClass::Refused, OpStep::Path, format!("'{path}' {why}"));
    if path.is_empty() {
        return Ok(c".".to_owned());
    }
    for part in path.split('/') {
        match part {
            "" => return Err(refuse("has an empty component")),
            "." | ".." => return Err(refuse("leaves its directory")),
            _ => {}
        }
    }
    CString::new(path).map_err(|_| refuse("holds a NUL byte"))
}

pub(crate) fn is_dir(stat: &libc::stat64) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFDIR
}

pub(crate) fn stat(root: BorrowedFd<'_>, path: &str, requests: &mut u32) -> Result<MetaYield, OpError> {
    let path = relative(path)?;
    *requests += 1;
    let stat = sys::fstatat(root, &path).map_err(|errno| errno.at("fstatat"))?;
    let directory = is_dir(&stat);
    let size = if directory { 0 } else { stat.st_size.cast_unsigned() };
    Ok(MetaYield::Stat(Stat { size, directory }))
}

pub(crate) fn space(root: BorrowedFd<'_>, requests: &mut u32) -> Result<MetaYield, OpError> {
    *requests += 1;
    let space = sys::fstatvfs(root.as_raw_fd()).map_err(|errno| errno.at("fstatvfs"))?;
    let unit = space.f_frsize;
    let total = space.f_blocks.saturating_mul(unit);
    Ok(MetaYield::Space(Space { total, available: space.f_bavail.saturating_mul(unit) }))
}

pub(crate) fn make_dir(root: BorrowedFd<'_>, path: &str, requests: &mut u32) -> Result<MetaYield, OpError> {
    let path = relative(path)?;
    *requests += 1;
    sys::mkdirat(root, &path).map_err(|errno| errno.at("mkdirat"))?;
    Ok(MetaYield::Done)
}

pub(crate) fn remove(root: BorrowedFd<'_>, path: &str, requests: &mut u32) -> Result<MetaYield, OpError> {
    let path = relative(path)?;
    *requests += 1;
    sys::unlinkat(root, &path, 0).map_err(|errno| errno.at("unlinkat"))?;
    Ok(MetaYield::Done)
}

pub(crate) fn remove_dir(root: BorrowedFd<'_>, path: &str, requests: &mut u32) -> Result<MetaYield, OpError> {
    let path = relative(path)?;
    *requests += 1;
    sys::unlinkat(root, &path, libc::AT_REMOVEDIR).map_err(|errno| match errno {
        // POSIX allows either error for a directory with entries.
        Errno(libc::EEXIST) => Errno(libc::ENOTEMPTY).at("unlinkat"),
        errno => errno.at("unlinkat"),
    })?;
    Ok(MetaYield::Done)
}

pub(crate) fn rename(
    root: BorrowedFd<'_>,
    from: &str,
    to: &str,
    requests: &mut u32,
) -> Result<MetaYield, OpError> {
    let from = relative(from)?;
    let to = relative(to)?;
    *requests += 1;
    sys::renameat(root, &from, &to).map_err(|errno| errno.at("renameat"))?;
    Ok(MetaYield::Done)
}

pub(crate) fn list(root: BorrowedFd<'_>, path: &str, requests: &mut u32) -> Result<MetaYield, OpError> {
    let path = relative(path)?;
    // A symbolic link in the last place could lead out of the root.
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    *requests += 1;
    let dir = sys::openat(root, &path, flags).map_err(|errno| errno.at("openat"))?;
    let mut entries = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        *requests += 1;
        let len = sys::getdents(dir.as_raw_fd(), &mut buffer).map_err(|errno| errno.at("getdents64"))?;
        let Some(mut records) = buffer.get(..len).filter(|records| !records.is_empty()) else { break };
        while let Some((name, kind, rest)) = next_record(records) {
            records = rest;
            if name != c"." && name != c".." {
                let directory = match kind {
                    libc::DT_UNKNOWN => {
                        *requests += 1;
                        is_dir(&sys::fstatat(dir.as_fd(), name).map_err(|errno| errno.at("fstatat"))?)
                    }
                    // Most file systems state the type in the listing, which saves a call for each entry.
                    kind => kind == libc::DT_DIR,
                };
                entries.push(Entry { name: name.to_string_lossy().into_owned(), directory });
            }
        }
    }
    *requests += 1;
    sys::close(dir).map_err(|errno| errno.at("close"))?;
    Ok(MetaYield::Entries(entries))
}

/// One `struct linux_dirent64` (getdents(2)): inode 8, offset 8, length 2, type 1 bytes, name with NUL.
fn next_record(records: &[u8]) -> Option<(&CStr, u8, &[u8])> {
    let len = u16::from_ne_bytes(records.get(16..18)?.try_into().ok()?) as usize;
    let name = CStr::from_bytes_until_nul(records.get(19..len)?).ok()?;
    Some((name, *records.get(18)?, records.get(len..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leaves_the_root() {
        for path in ["..", "a/../../b", "/etc", "a//b", "a/", "./a", "a\0b"] {
            let error = relative(path).unwrap_err();
            assert_eq!(error.class, ErrorClass::Refused, "{path}");
        }
        assert_eq!(relative("a b/..c/d").unwrap().to_str(), Ok("a b/..c/d"));
        assert_eq!(relative("").unwrap().to_str(), Ok("."));
    }
}
