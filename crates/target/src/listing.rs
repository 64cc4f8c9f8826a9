//! Limits of directory listings. Without them a malicious or broken server could list a directory for ever, and fill the
//! memory of the client.

use std::hash::{DefaultHasher, Hash, Hasher};

use sharebench_model::{Entry, ErrorClass, ListedPage, OpError, OpStep};

/// Maximum number of entries of one directory.
pub const MAX_LISTED_ENTRIES: u64 = 4 << 20;
/// Maximum number of entries of a listing that is held in memory as a whole.
pub const MAX_HELD_ENTRIES: usize = 1 << 20;
/// Maximum bytes of the names of such a listing.
pub const MAX_HELD_BYTES: usize = 64 << 20;
/// Longest name that is accepted. The longest name of SMB and NTFS has 255 UTF-16 units, which are at most 765 bytes.
pub const MAX_NAME_BYTES: usize = 1024;

/// Watches the pages of one listing.
///
/// An adapter makes one when a listing begins and shows it each page. A page is accepted if the listing makes progress:
/// it has entries or is the last one, the directory stays within [`MAX_LISTED_ENTRIES`], and the position after the page
/// differs from an earlier one. Only one earlier position is kept, that of the page whose number is the latest power of
/// two, so that the memory does not grow and a cycle of any length is still found within three of its rounds.
#[derive(Debug, Clone)]
pub struct ListingGuard {
    directory: String,
    step: OpStep,
    entries: u64,
    pages: u64,
    kept_position: Option<u64>,
}

impl ListingGuard {
    /// Begins the listing of a directory by requests of the given name.
    pub fn new(directory: &str, request: &'static str) -> Self {
        Self {
            directory: directory.to_owned(),
            step: OpStep::Request(request),
            entries: 0,
            pages: 0,
            kept_position: None,
        }
    }

    /// The directory that is listed.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Checks a page with `received` entries, `.` and `..` included. `position` identifies the place where the listing
    /// continues, such as a cookie.
    ///
    /// # Errors
    /// The listing cannot come to an end, or exceeds a limit.
    pub fn check_page(&mut self, position: u64, received: usize, end: bool) -> Result<(), OpError> {
        self.entries = self.entries.saturating_add(received as u64);
        if self.entries > MAX_LISTED_ENTRIES {
            let what = format!("has more than {MAX_LISTED_ENTRIES} entries, the limit of a listing");
            return Err(self.fail(ErrorClass::Unsupported, &what));
        }
        if end {
            return Ok(());
        }
        if received == 0 {
            let what = "is listed by a page without entries that is not the last page";
            return Err(self.fail(ErrorClass::Protocol, what));
        }
        if self.kept_position == Some(position) {
            let what = "is listed in a circle: the server repeats a position";
            return Err(self.fail(ErrorClass::Protocol, what));
        }
        self.pages += 1;
        if self.pages.is_power_of_two() {
            self.kept_position = Some(position);
        }
        Ok(())
    }

    /// Checks a name of the listing.
    ///
    /// # Errors
    /// No path can contain the name, because it is empty, too long, or has a separator.
    pub fn check_name(&self, name: &str, separators: &[char]) -> Result<(), OpError> {
        let what = if name.is_empty() {
            "has an entry without a name".to_owned()
        } else if name.len() > MAX_NAME_BYTES {
            format!("has a name of {} bytes; the limit is {MAX_NAME_BYTES}", name.len())
        } else if name.contains(separators) || name.contains('\0') {
            format!("has the name {name:?}, which contains a separator")
        } else {
            return Ok(());
        };
        Err(self.fail(ErrorClass::Protocol, &what))
    }

    /// The position of a page in protocols whose server keeps the position: a hash of the names. Two pages of one
    /// listing never have the same names.
    pub fn position_of<'n>(names: impl IntoIterator<Item = &'n str>) -> u64 {
        let mut hasher = DefaultHasher::new();
        names.into_iter().for_each(|name| name.hash(&mut hasher));
        hasher.finish()
    }

    fn fail(&self, class: ErrorClass, what: &str) -> OpError {
        let detail = match self.directory.as_str() {
            "" => format!("the directory of the target {what}"),
            directory => format!("the directory '{directory}' {what}"),
        };
        OpError::new(class, self.step, detail)
    }
}

/// The entries of a directory that is held in memory as a whole, within [`MAX_HELD_ENTRIES`] and [`MAX_HELD_BYTES`].
#[derive(Debug, Default)]
pub struct HeldEntries {
    entries: Vec<Entry>,
    bytes: usize,
}

impl HeldEntries {
    /// Adds a page; returns true if it is the last one.
    ///
    /// # Errors
    /// The directory is too large, or no path can contain one of its names.
    pub fn add(&mut self, page: ListedPage, guard: &ListingGuard) -> Result<bool, OpError> {
        if page.unnamed > 0 {
            return Err(guard.fail(ErrorClass::Unsupported, "has a name that is not UTF-8"));
        }
        self.bytes += page.entries.iter().map(|entry| entry.name.len()).sum::<usize>();
        self.entries.extend(page.entries);
        if self.entries.len() > MAX_HELD_ENTRIES || self.bytes > MAX_HELD_BYTES {
            let mib = MAX_HELD_BYTES >> 20;
            let what =
                format!("exceeds {MAX_HELD_ENTRIES} entries or {mib} MiB of names, the limit of a list");
            return Err(guard.fail(ErrorClass::Unsupported, &what));
        }
        Ok(page.end)
    }

    /// The entries.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> ListingGuard {
        ListingGuard::new("a/b", "READDIR")
    }

    #[test]
    fn a_cycle_of_any_length_is_found_within_three_rounds() {
        for length in [1u64, 2, 3, 7, 64, 100, 1000] {
            let mut guard = guard();
            let found = (0..=3 * length).find(|page| guard.check_page(page % length, 1, false).is_err());
            assert!(found.is_some(), "a cycle of {length} pages");
        }
        let mut guard = guard();
        let found = (0..100_000).find(|page| guard.check_page(*page, 10, false).is_err());
        assert_eq!(found, None);
    }

    #[test]
    fn a_listing_ends_at_its_limits_and_names_the_directory() {
        let mut guard = guard();
        guard.check_page(0, MAX_LISTED_ENTRIES as usize, false).unwrap();
        let error = guard.check_page(1, 1, true).unwrap_err().to_string();
        assert!(error.contains("'a/b'") && error.contains("4194304"), "{error}");
        let empty = super::ListingGuard::new("", "search").check_page(0, 0, false).unwrap_err().to_string();
        assert!(empty.contains("the directory of the target"), "{empty}");
        assert!(super::ListingGuard::new("", "search").check_page(0, 0, true).is_ok());
    }

    #[test]
    fn names_that_no_path_can_contain_are_errors() {
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        for name in ["", "a/b", "a\0b", "../x", &long] {
            assert!(guard().check_name(name, &['/']).is_err(), "{name}");
        }
        guard().check_name("a\\b", &['/']).unwrap();
        assert!(guard().check_name("a\\b", &['/', '\\']).is_err());
    }

    #[test]
    fn held_entries_stay_within_their_limits() {
        let page = |count: usize| ListedPage {
            entries: vec![Entry { name: "n".repeat(64), directory: false, size: None }; count],
            unnamed: 0,
            end: false,
        };
        let mut held = HeldEntries::default();
        assert!(!held.add(page(1000), &guard()).unwrap());
        assert!(held.add(page(MAX_HELD_ENTRIES), &guard()).is_err());
        let unnamed = ListedPage { unnamed: 1, ..page(0) };
        assert!(HeldEntries::default().add(unnamed, &guard()).is_err());
    }
}
