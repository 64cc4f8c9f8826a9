//! Commands on names: DELETE, RENAME, and those on directories (MS-CIFS 3.3.5.3, 3.3.5.4, 3.3.5.9, 3.3.5.10, 3.3.5.18).

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::path::{SearchAttributes, names_of};
use sharebench_smb::wire::create::{CreateRequest, SHARE_ALL, access, disposition, options};

use super::call::{Reached, Smb1Call, Stop, put_empty};
use super::create::share_path;
use crate::smb::caching::cache_request::CacheRequest;
use crate::smb::files::file_info::{DIRECTORY, HIDDEN, SYSTEM, describe};
use crate::smb::names::pattern::Pattern;
use crate::smb::names::resolve::{is_expressible, resolve};
use crate::smb::status::{Outcome, checked};

/// Entries that the volume is asked for at a time.
const BATCH: usize = 256;
/// DELETE removes a file that nobody else has open (MS-CIFS 2.2.4.7.2): options and shared access of its open.
const UNUSED: u32 = 0;
/// An entry with one of these attributes is found only if the search names the attribute.
const SEARCHED: u32 = HIDDEN | SYSTEM | DIRECTORY;

/// The attributes that entries must not have for these search attributes (MS-CIFS 2.2.1.2.4).
pub(super) fn excluded(wanted: u16) -> u32 {
    SEARCHED & !u32::from(wanted)
}

/// A directory and a pattern for its entries; `*.*` matches all of them, as with DOS.
pub(super) fn split_pattern(path: &str) -> (&str, &str) {
    let (directory, pattern) = path.rsplit_once('\\').unwrap_or(("", path));
    (directory, if pattern == "*.*" { "*" } else { pattern })
}

impl Smb1Call<'_> {
    /// The paths of a command on names.
    fn paths<const N: usize>(&self) -> Outcome<[String; N]> {
        let names = names_of(self.bytes(), self.is_unicode());
        let mut paths = names.iter().map(|name| share_path(name));
        let mut found = [const { String::new() }; N];
        for location in &mut found {
            *location = paths.next().ok_or(NtStatus::INVALID_PARAMETER)?;
        }
        Ok(found)
    }

    /// `CREATE_DIRECTORY`.
    pub(super) fn make_directory(&self, body: &mut Vec<u8>) -> Reached<()> {
        let [name] = self.paths()?;
        let request = CreateRequest {
            access: access::READ_ATTRIBUTES,
            share: SHARE_ALL,
            disposition: disposition::CREATE,
            options: options::DIRECTORY_FILE,
            name,
            ..CreateRequest::default()
        };
        let opened = self.open_path(&request, CacheRequest::Nothing)?;
        self.close_open(&opened.open);
        put_empty(body);
        Ok(())
    }

    /// `DELETE_DIRECTORY`.
    pub(super) fn remove_directory(&self, body: &mut Vec<u8>) -> Reached<()> {
        let [path] = self.paths()?;
        self.remove(&path, options::DIRECTORY_FILE, SHARE_ALL)?;
        put_empty(body);
        Ok(())
    }

    /// Removes a file or directory.
    fn remove(&self, path: &str, kind: u32, share: u32) -> Reached<()> {
        self.with_path(path, access::DELETE | access::READ_ATTRIBUTES, kind, share, |open| {
            let deferred = self.server.set_disposition(open, true)?;
            deferred.map_or(Ok(()), |deferred| Err(Stop::Deferred(deferred)))
        })
    }

    /// `CHECK_DIRECTORY`.
    pub(super) fn check_directory(&self, body: &mut Vec<u8>) -> Outcome<()> {
        let [path] = self.paths()?;
        let found = resolve(self.server.volume.as_ref(), &path)?.found;
        match found {
            Some(found) if found.directory => put_empty(body),
            Some(_) => return Err(NtStatus::NOT_A_DIRECTORY),
            None => return Err(NtStatus::OBJECT_NAME_NOT_FOUND),
        }
        Ok(())
    }

    /// DELETE of one file, or of all files that match a pattern.
    pub(super) fn delete(&self, body: &mut Vec<u8>) -> Reached<()> {
        let words: SearchAttributes = self.words()?;
        let excluded = excluded(words.attributes) & !DIRECTORY;
        let [path] = self.paths()?;
        let (directory, pattern) = split_pattern(&path);
        if Pattern::plain(pattern).is_some() {
            self.delete_file(&path, excluded)?;
        } else {
            self.delete_matching(directory, pattern, excluded)?;
        }
        put_empty(body);
        Ok(())
    }

    fn delete_file(&self, path: &str, excluded: u32) -> Reached<()> {
        let volume = self.server.volume.as_ref();
        if excluded != 0
            && let Some(found) = resolve(volume, path)?.found
            && describe(volume, &found).attributes & excluded != 0
        {
            return Err(NtStatus::NO_SUCH_FILE.into());
        }
        self.remove(path, options::NON_DIRECTORY_FILE, UNUSED)
    }

    fn delete_matching(&self, directory: &str, pattern: &str, excluded: u32) -> Reached<()> {
        let volume = self.server.volume.as_ref();
        let found = resolve(volume, directory)?.found.filter(|found| found.directory);
        let node = found.ok_or(NtStatus::OBJECT_PATH_NOT_FOUND)?.node;
        let matcher = Pattern::new(pattern);
        let mut cookie = 0;
        let mut deleted = false;
        loop {
            let page = checked(volume.list(node, cookie, BATCH))?;
            let Some(last) = page.last() else { break };
            cookie = last.cookie;
            for entry in page {
                let wanted = !entry.attributes.directory
                    && is_expressible(&entry.name)
                    && matcher.matches(&entry.name)
                    && describe(volume, &entry.attributes).attributes & excluded == 0;
                if wanted {
                    let above = if directory.is_empty() { String::new() } else { format!("{directory}\\") };
                    self.remove(&format!("{above}{}", entry.name), options::NON_DIRECTORY_FILE, UNUSED)?;
                    deleted = true;
                }
            }
        }
        if deleted { Ok(()) } else { Err(NtStatus::NO_SUCH_FILE.into()) }
    }

    /// RENAME, which replaces nothing.
    pub(super) fn rename(&self, body: &mut Vec<u8>) -> Reached<()> {
        let words: SearchAttributes = self.words()?;
        let [from, to] = self.paths()?;
        // A pattern could rename several files, and no client needs that.
        if Pattern::plain(&from).is_none() || Pattern::plain(&to).is_none() {
            return Err(NtStatus::OBJECT_NAME_INVALID.into());
        }
        let volume = self.server.volume.as_ref();
        if let Some(found) = resolve(volume, &from)?.found
            && describe(volume, &found).attributes & excluded(words.attributes) & !DIRECTORY != 0
        {
            return Err(NtStatus::NO_SUCH_FILE.into());
        }
        self.with_path(&from, access::DELETE | access::READ_ATTRIBUTES, 0, SHARE_ALL, |open| {
            let deferred = self.server.rename(open, false, &to)?;
            deferred.map_or(Ok(()), |deferred| Err(Stop::Deferred(deferred)))
        })?;
        put_empty(body);
        Ok(())
    }
}
