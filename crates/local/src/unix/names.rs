//! Operations on names, relative to open directories and never above them.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

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

/// Operations on the names of a session, and the number of system calls that they take.
pub(crate) struct Names<'a> {
    pub directories: &'a Directories,
    pub requests: &'a mut u32,
}

impl Names<'_> {
    /// Makes a call on a name in its open directory.
    fn on_name<T>(
        &mut self,
        path: &RelativePath<'_>,
        call: &'static str,
        perform: impl FnOnce(BorrowedFd<'_>, &CStr) -> Result<T, ErrorCode>,
    ) -> Result<T, OpError> {
        let (parent, name) = self.directories.parent(path, self.requests)?;
        *self.requests += 1;
        perform(parent.as_fd(), &c_string(name)).map_err(|errno| errno.at(call))
    }

    /// Makes a call on two names in their open directories.
    fn on_two_names(
        &mut self,
        from: &RelativePath<'_>,
        to: &RelativePath<'_>,
        call: &'static str,
        perform: fn(BorrowedFd<'_>, &CStr, BorrowedFd<'_>, &CStr) -> Result<(), ErrorCode>,
    ) -> Result<(), OpError> {
        let (old_parent, old) = self.directories.parent(from, self.requests)?;
        self.on_name(to, call, |new_parent, new| perform(old_parent.as_fd(), &c_string(old), new_parent, new))
    }

    pub fn stat(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let stat = self.on_name(&RelativePath::parse(path)?, "fstatat", sys::fstatat)?;
        let directory = is_dir(&stat);
        let size = if directory { 0 } else { stat.st_size.cast_unsigned() };
        Ok(MetaYield::Stat(Stat { size, directory }))
    }

    pub fn space(&mut self) -> Result<MetaYield, OpError> {
        *self.requests += 1;
        let root = self.directories.root();
        let space = sys::fstatvfs(root.as_raw_fd()).map_err(|errno| errno.at("fstatvfs"))?;
        let unit = space.f_frsize;
        let total = space.f_blocks.saturating_mul(unit);
        Ok(MetaYield::Space(Space { total, available: space.f_bavail.saturating_mul(unit) }))
    }

    pub fn make_dir(&mut self, path: &str) -> Result<MetaYield, OpError> {
        self.directories.make(&RelativePath::parse(path)?, self.requests)?;
        Ok(MetaYield::Done)
    }

    pub fn remove(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let path = RelativePath::parse(path)?;
        self.on_name(&path, "unlinkat", |parent, name| sys::unlinkat(parent, name, 0))?;
        Ok(MetaYield::Done)
    }

    pub fn remove_dir(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let path = RelativePath::parse(path)?;
        // A working directory is removed only while its name means the directory that is open.
        self.directories.enter(&path, self.requests)?;
        self.on_name(&path, "unlinkat", |parent, name| {
            sys::unlinkat(parent, name, libc::AT_REMOVEDIR).map_err(|errno| match errno {
                // POSIX allows either error for a directory with entries.
                ErrorCode(libc::EEXIST) => ErrorCode(libc::ENOTEMPTY),
                errno => errno,
            })
        })?;
        self.directories.forget(&path);
        Ok(MetaYield::Done)
    }

    pub fn rename(&mut self, from: &str, to: &str) -> Result<MetaYield, OpError> {
        let from = RelativePath::parse(from)?;
        let to = RelativePath::parse(to)?;
        self.on_two_names(&from, &to, "renameat", sys::renameat)?;
        // They may have been directories.
        self.directories.forget(&from);
        self.directories.forget(&to);
        Ok(MetaYield::Done)
    }

    /// Makes a hard link. A symbolic link in the last place is linked itself.
    pub fn link(&mut self, from: &str, to: &str) -> Result<MetaYield, OpError> {
        let from = RelativePath::parse(from)?;
        self.on_two_names(&from, &RelativePath::parse(to)?, "linkat", sys::linkat)?;
        Ok(MetaYield::Done)
    }

    /// Sets the time of modification, and leaves the time of access.
    pub fn set_modified(&mut self, path: &str, seconds: u32) -> Result<MetaYield, OpError> {
        let path = RelativePath::parse(path)?;
        self.on_name(&path, "utimensat", |parent, name| sys::set_modified(parent, name, seconds))?;
        Ok(MetaYield::Done)
    }

    pub fn list(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let mut listing = OpenListing::begin(self.directories, path.to_owned(), self.requests)?;
        let guard = ListingGuard::new(path, "getdents64");
        let mut held = HeldEntries::default();
        while !held.add(listing.page(self.requests)?, &guard)? {}
        listing.end(self.requests)?;
        Ok(MetaYield::Entries(held.into_entries()))
    }

    /// Returns the next page of a directory, and keeps the listing open unless that is the last page.
    pub fn list_page(
        &mut self,
        kept: &mut Option<OpenListing>,
        path: &str,
        restart: bool,
    ) -> Result<MetaYield, OpError> {
        let mut listing = match kept.take() {
            Some(listing) if !restart && listing.path == path => listing,
            _ => OpenListing::begin(self.directories, path.to_owned(), self.requests)?,
        };
        let page = listing.page(self.requests)?;
        if page.end {
            listing.end(self.requests)?;
        } else {
            *kept = Some(listing);
        }
        Ok(MetaYield::Page(page))
    }
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

    /// The entries of one system call; none at the end of the directory.
    fn page(&mut self, requests: &mut u32) -> Result<ListedPage, OpError> {
        *requests += 1;
        let len = sys::getdents(self.directory.as_raw_fd(), &mut self.buffer)
            .map_err(|errno| errno.at("getdents64"))?;
        let mut page = ListedPage { end: len == 0, ..ListedPage::default() };
        let mut records = self.buffer.get(..len).unwrap_or_default();
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
                page.entries.push(Entry { name: encode(name.to_bytes()), directory, size: None });
            }
        }
        Ok(page)
    }

    fn end(self, requests: &mut u32) -> Result<(), OpError> {
        *requests += 1;
        sys::close(self.directory).map_err(|errno| errno.at("close"))
    }
}

/// One `struct linux_dirent64` (getdents(2)): inode 8, offset 8, length 2, type 1 bytes, name with NUL.
fn next_record(records: &[u8]) -> Option<(&CStr, u8, &[u8])> {
    let len = u16::from_ne_bytes(records.get(16..18)?.try_into().ok()?) as usize;
    let name = CStr::from_bytes_until_nul(records.get(19..len)?).ok()?;
    Some((name, *records.get(18)?, records.get(len..)?))
}
