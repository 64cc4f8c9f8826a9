//! Operations on names below the root. Links are neither followed nor entered when a directory is listed.

use std::fs::{self, ReadDir};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use sharebench_model::{Entry, ListedPage, MetaYield, OpError, Stat};
use sharebench_target::{HeldEntries, ListingGuard};
use windows_sys::Win32::Foundation::ERROR_DIRECTORY;

use super::relative_path::below;
use crate::error_code::ErrorCode;

/// Entries of one page of a listing.
const PAGE_ENTRIES: usize = 512;

fn failed(call: &'static str) -> impl Fn(io::Error) -> OpError {
    move |error| ErrorCode::from_io_error(&error).at(call)
}

pub(crate) fn stat(root: &Path, path: &str) -> Result<MetaYield, OpError> {
    let found = fs::symlink_metadata(below(root, path)?).map_err(failed("GetFileInformationByHandle"))?;
    let directory = found.is_dir();
    Ok(MetaYield::Stat(Stat { size: if directory { 0 } else { found.len() }, directory }))
}

pub(crate) fn make_dir(root: &Path, path: &str) -> Result<MetaYield, OpError> {
    fs::create_dir(below(root, path)?).map_err(failed("CreateDirectoryW"))?;
    Ok(MetaYield::Done)
}

pub(crate) fn remove(root: &Path, path: &str) -> Result<MetaYield, OpError> {
    fs::remove_file(below(root, path)?).map_err(failed("DeleteFileW"))?;
    Ok(MetaYield::Done)
}

pub(crate) fn remove_dir(root: &Path, path: &str) -> Result<MetaYield, OpError> {
    fs::remove_dir(below(root, path)?).map_err(failed("RemoveDirectoryW"))?;
    Ok(MetaYield::Done)
}

/// Renames; replaces a file, but no directory.
pub(crate) fn rename(root: &Path, from: &str, to: &str) -> Result<MetaYield, OpError> {
    let from = below(root, from)?;
    let to = below(root, to)?;
    fs::rename(from, to).map_err(failed("MoveFileExW"))?;
    Ok(MetaYield::Done)
}

/// Makes a hard link.
pub(crate) fn link(root: &Path, from: &str, to: &str) -> Result<MetaYield, OpError> {
    fs::hard_link(below(root, from)?, below(root, to)?).map_err(failed("CreateHardLinkW"))?;
    Ok(MetaYield::Done)
}

/// Sets the time of modification to seconds since 1970.
pub(crate) fn set_modified(root: &Path, path: &str, seconds: u32) -> Result<MetaYield, OpError> {
    let file = fs::File::options().write(true).open(below(root, path)?).map_err(failed("CreateFileW"))?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into());
    file.set_modified(time).map_err(failed("SetFileTime"))?;
    Ok(MetaYield::Done)
}

/// A directory that is listed page by page.
#[derive(Debug)]
pub(crate) struct OpenListing {
    path: String,
    entries: ReadDir,
}

impl OpenListing {
    fn begin(root: &Path, path: String) -> Result<Self, OpError> {
        let full = below(root, &path)?;
        let found = fs::symlink_metadata(&full).map_err(failed("GetFileInformationByHandle"))?;
        if !found.is_dir() {
            return Err(ErrorCode(ERROR_DIRECTORY).at("FindFirstFileW"));
        }
        Ok(Self { entries: fs::read_dir(full).map_err(failed("FindFirstFileW"))?, path })
    }

    /// The next entries.
    fn page(&mut self) -> Result<ListedPage, OpError> {
        let mut page = ListedPage::default();
        for found in self.entries.by_ref().take(PAGE_ENTRIES) {
            let found = found.map_err(failed("FindNextFileW"))?;
            // The listing has type and size, so that neither costs a call. A link is no directory here.
            let kind = found.file_type().map_err(failed("FindNextFileW"))?;
            let Ok(name) = found.file_name().into_string() else {
                page.unnamed += 1;
                continue;
            };
            page.entries.push(Entry { name, directory: kind.is_dir(), size: None });
        }
        page.end = page.entries.len() as u64 + page.unnamed < PAGE_ENTRIES as u64;
        Ok(page)
    }
}

pub(crate) fn list(root: &Path, path: &str, requests: &mut u32) -> Result<MetaYield, OpError> {
    let mut listing = OpenListing::begin(root, path.to_owned())?;
    let guard = ListingGuard::new(path, "FindNextFileW");
    let mut held = HeldEntries::default();
    loop {
        *requests += 1;
        if held.add(listing.page()?, &guard)? {
            return Ok(MetaYield::Entries(held.into_entries()));
        }
    }
}

/// The next page of a directory; the listing stays open unless that is the last page.
pub(crate) fn list_page(
    root: &Path,
    kept: &mut Option<OpenListing>,
    path: String,
    restart: bool,
) -> Result<MetaYield, OpError> {
    let mut listing = match kept.take() {
        Some(listing) if !restart && listing.path == path => listing,
        _ => OpenListing::begin(root, path)?,
    };
    let page = listing.page()?;
    if !page.end {
        *kept = Some(listing);
    }
    Ok(MetaYield::Page(page))
}
