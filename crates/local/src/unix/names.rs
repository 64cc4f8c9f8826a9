//! Operations on names, relative to open directories and never above them.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use sharebench_model::{Entry, ListedPage, MetaYield, OpError, Space, Stat};
use sharebench_target::{HeldEntries, ListingGuard};

use super::directories::Directories;
use super::relative_path::{RelativePath, c_string, encode};
use super::sys;
use crate::error_code::ErrorCode;

/// Size of the buffer for the entries of one system call.
const LISTED_BYTES: usize = 64 << 10;

pub(crate) fn is_dir(stat: &libc::stat64) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFDIR
}

pub(crate) fn stat(directories: &Directories, path: &str, requests: &mut u32) -> Result<MetaYield, OpError> {
    let path = RelativePath::parse(path)?;
    let (parent, name) = directories.parent(&path, requests)?;
    *requests += 1;
    let stat = sys::fstatat(parent.as_fd(), &c_string(name)).map_err(|errno| errno.at("fstatat"))?;
    let directory = is_dir(&stat);
    let size = if directory { 0 } else { stat.st_size.cast_unsigned() };
    Ok(MetaYield::Stat(Stat { size, directory }))
}

pub(crate) fn space(directories: &Directories, requests: &mut u32) -> Result<MetaYield, OpError> {
    *requests += 1;
    let space = sys::fstatvfs(directories.root().as_raw_fd()).map_err(|errno| errno.at("fstatvfs"))?;
    let unit = space.f_frsize;
    let total = space.f_blocks.saturating_mul(unit);
    Ok(MetaYield::Space(Space { total, available: space.f_bavail.saturating_mul(unit) }))
}

pub(crate) fn make_dir(
    directories: &Directories,
    path: &str,
    requests: &mut u32,
) -> Result<MetaYield, OpError> {
    directories.make(&RelativePath::parse(path)?, requests)?;
    Ok(MetaYield::Done)
}

pub(crate) fn remove(
    directories: &Directories,
    path: &str,
    requests: &mut u32,
) -> Result<MetaYield, OpError> {
    let path = RelativePath::parse(path)?;
    let (parent, name) = directories.parent(&path, requests)?;
    *requests += 1;
    sys::unlinkat(parent.as_fd(), &c_string(name), 0).map_err(|errno| errno.at("unlinkat"))?;
    Ok(MetaYield::Done)
}

pub(crate) fn remove_dir(
    directories: &Directories,
    path: &str,
    requests: &mut u32,
) -> Result<MetaYield, OpError> {
    let path = RelativePath::parse(path)?;
    // A working directory is removed only while its name means the directory that is open.
    directories.enter(&path, requests)?;
    let (parent, name) = directories.parent(&path, requests)?;
    *requests += 1;
    sys::unlinkat(parent.as_fd(), &c_string(name), libc::AT_REMOVEDIR).map_err(|errno| match errno {
        // POSIX allows either error for a directory with entries.
        ErrorCode(libc::EEXIST) => ErrorCode(libc::ENOTEMPTY).at("unlinkat"),
        errno => errno.at("unlinkat"),
    })?;
    directories.forget(&path);
    Ok(MetaYield::Done)
}

pub(crate) fn rename(
    directories: &Directories,
    from: &str,
    to: &str,
    requests: &mut u32,
) -> Result<MetaYield, OpError> {
    let from = RelativePath::parse(from)?;
    let to = RelativePath::parse(to)?;
    let (old_parent, old) = directories.parent(&from, requests)?;
    let (new_parent, new) = directories.parent(&to, requests)?;
    *requests += 1;
    sys::renameat(old_parent.as_fd(), &c_string(old), new_parent.as_fd(), &c_string(new))
        .map_err(|errno| errno.at("renameat"))?;
    // They may have been directories.
    directories.forget(&from);
    directories.forget(&to);
    Ok(MetaYield::Done)
}

/// Makes a hard link. A symbolic link in the last place is linked itself.
pub(crate) fn link(
    directories: &Directories,
    from: &str,
    to: &str,
    requests: &mut u32,
) -> Result<MetaYield, OpError> {
    let from = RelativePath::parse(from)?;
    let to = RelativePath::parse(to)?;
    let (old_parent, old) = directories.parent(&from, requests)?;
    let (new_parent, new) = directories.parent(&to, requests)?;
    *requests += 1;
    sys::linkat(old_parent.as_fd(), &c_string(old), new_parent.as_fd(), &c_string(new))
        .map_err(|errno| errno.at("linkat"))?;
    Ok(MetaYield::Done)
}

/// Sets the time of modification, and leaves the time of access.
pub(crate) fn set_modified(
    directories: &Directories,
    path: &str,
    seconds: u32,
    requests: &mut u32,
) -> Result<MetaYield, OpError> {
    let path = RelativePath::parse(path)?;
    let (parent, name) = directories.parent(&path, requests)?;
    *requests += 1;
    sys::set_modified(parent.as_fd(), &c_string(name), seconds).map_err(|errno| errno.at("utimensat"))?;
    Ok(MetaYield::Done)
}

/// A directory that is listed page by page: its path, its descriptor, and the buffer of one page.
#[derive(Debug)]
pub(crate) struct OpenListing {
    path: String,
    directory: OwnedFd,
    buffer: Vec<u8>,
}

impl OpenListing {
    fn begin(directories: &Directories, path: String, requests: &mut u32) -> Result<Self, OpError> {
        let directory = directories.open_directory(&RelativePath::parse(&path)?, requests)?;
        Ok(Self { path, directory, buffer: vec![0; LISTED_BYTES] })
    }

    /// Appends the entries of one system call; true at the end of the directory.
    fn read(&mut self, entries: &mut Vec<Entry>, requests: &mut u32) -> Result<bool, OpError> {
        *requests += 1;
        let len = sys::getdents(self.directory.as_raw_fd(), &mut self.buffer)
            .map_err(|errno| errno.at("getdents64"))?;
        let Some(mut records) = self.buffer.get(..len).filter(|records| !records.is_empty()) else {
            return Ok(true);
        };
        while let Some((name, kind, rest)) = next_record(records) {
            records = rest;
            if name != c"." && name != c".." {
                let directory = match kind {
                    libc::DT_UNKNOWN => {
                        *requests += 1;
                        is_dir(
                            &sys::fstatat(self.directory.as_fd(), name)
                                .map_err(|errno| errno.at("fstatat"))?,
                        )
                    }
                    // Most file systems state the type in the listing, which saves a call for each entry.
                    kind => kind == libc::DT_DIR,
                };
                entries.push(Entry { name: encode(name.to_bytes()), directory, size: None });
            }
        }
        Ok(false)
    }

    fn end(self, requests: &mut u32) -> Result<(), OpError> {
        *requests += 1;
        sys::close(self.directory).map_err(|errno| errno.at("close"))
    }
}

pub(crate) fn list(directories: &Directories, path: &str, requests: &mut u32) -> Result<MetaYield, OpError> {
    let mut listing = OpenListing::begin(directories, path.to_owned(), requests)?;
    let guard = ListingGuard::new(path, "getdents64");
    let mut held = HeldEntries::default();
    loop {
        let mut entries = Vec::new();
        let end = listing.read(&mut entries, requests)?;
        if held.add(ListedPage { entries, unnamed: 0, end }, &guard)? {
            break;
        }
    }
    listing.end(requests)?;
    Ok(MetaYield::Entries(held.into_entries()))
}

/// Returns the next page of a directory, and keeps the listing open unless that is the last page.
pub(crate) fn list_page(
    directories: &Directories,
    kept: &mut Option<OpenListing>,
    path: String,
    restart: bool,
    requests: &mut u32,
) -> Result<MetaYield, OpError> {
    let mut listing = match kept.take() {
        Some(listing) if !restart && listing.path == path => listing,
        _ => OpenListing::begin(directories, path, requests)?,
    };
    let mut entries = Vec::new();
    let end = listing.read(&mut entries, requests)?;
    if end {
        listing.end(requests)?;
    } else {
        *kept = Some(listing);
    }
    Ok(MetaYield::Page(ListedPage { entries, unnamed: 0, end }))
}

/// One `struct linux_dirent64` (getdents(2)): inode 8, offset 8, length 2, type 1 bytes, name with NUL.
fn next_record(records: &[u8]) -> Option<(&CStr, u8, &[u8])> {
    let len = u16::from_ne_bytes(records.get(16..18)?.try_into().ok()?) as usize;
    let name = CStr::from_bytes_until_nul(records.get(19..len)?).ok()?;
    Some((name, *records.get(18)?, records.get(len..)?))
}
