//! `FIND_FIRST2`, `FIND_NEXT2` and `FIND_CLOSE2` (MS-CIFS 3.3.5.37.2, 3.3.5.37.3, 3.3.5.38).

use std::sync::{Arc, Mutex, PoisonError};

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::message::{TextBytes, text_at};
use sharebench_smb::nt1::trans2::{
    CLOSE_AFTER, CLOSE_AT_END, CONTINUE, FindClose, FindFirst, FindNext, put_found,
};
use sharebench_smb::wire::listing::ListingClass;

use super::call::{Reached, Smb1Call, put_empty};
use super::create::share_path;
use super::names::{excluded, split_pattern};
use super::state::{Search, SearchProgress};
use super::transactions::{Transacted, Transaction};
use crate::front_ends::state_budget::ENTRY_BYTES;
use crate::smb::names::listing::{ListedPage, PageLimits};
use crate::smb::names::listing_state::ListingState;
use crate::smb::names::resolve::resolve;
use crate::smb::status::{Outcome, malformed};
use crate::volume::name::{MAX_NAME_BYTES, fold_case};

/// The layout of the entries of an information level (MS-CIFS 2.2.8.1).
fn class(level: u16) -> Outcome<ListingClass> {
    Ok(match level {
        0x0101 => ListingClass::Directory,
        0x0102 => ListingClass::FullDirectory,
        0x0103 => ListingClass::Names,
        0x0104 => ListingClass::BothDirectory,
        0x0105 => ListingClass::IdFullDirectory,
        0x0106 => ListingClass::IdBothDirectory,
        _ => return Err(NtStatus::INVALID_LEVEL),
    })
}

/// Entries and bytes of a request.
struct Limits {
    class: ListingClass,
    bytes: usize,
    entries: u16,
}

impl Smb1Call<'_> {
    /// `FIND_FIRST2`.
    pub(super) fn find_first(&self, request: &Transaction<'_>) -> Reached<Transacted> {
        let wanted = FindFirst::decode(request.parameters).map_err(malformed)?;
        let pattern_at = TextBytes { bytes: request.parameters, start: request.parameters_at };
        let (name, _) = text_at(pattern_at, FindFirst::LEN, self.is_unicode());
        let limits =
            Limits { class: class(wanted.level)?, bytes: request.max_data, entries: wanted.max_entries };
        let path = share_path(&name);
        let (directory, pattern) = split_pattern(&path);
        // The share itself has no name.
        let pattern = if pattern.is_empty() { "*" } else { pattern };
        let found = resolve(self.server.volume.as_ref(), directory)?.found;
        let found = found.ok_or(NtStatus::OBJECT_PATH_NOT_FOUND)?;
        if !found.directory {
            return Err(NtStatus::OBJECT_PATH_NOT_FOUND.into());
        }
        // The pattern, the same in its listing, and the last name.
        let bytes = size_of::<Search>() + 2 * ENTRY_BYTES + 2 * pattern.len() + 2 * MAX_NAME_BYTES;
        let charge = self.connection.budget.charge(bytes).ok_or(NtStatus::INSUFFICIENT_RESOURCES)?;
        let search = Search {
            uid: self.header.uid,
            tid: self.header.tid,
            directory: found.node,
            pattern: pattern.to_owned(),
            excluded: excluded(wanted.attributes),
            progress: Mutex::new(SearchProgress {
                listing: ListingState::new(pattern),
                last_name: String::new(),
            }),
            _charge: charge,
        };
        let (page, end) = self.next_page(&search, &limits)?;
        if page.entries == 0 {
            return Err(if end { NtStatus::NO_SUCH_FILE } else { NtStatus::INFO_LENGTH_MISMATCH }.into());
        }
        let closes = wanted.flags & CLOSE_AFTER != 0 || end && wanted.flags & CLOSE_AT_END != 0;
        let number = if closes { 0 } else { self.state.table().add_search(Arc::new(search))? };
        Ok(transacted(Some(number), page, end))
    }

    /// `FIND_NEXT2`: the next entries, or those after a name.
    pub(super) fn find_next(&self, request: &Transaction<'_>) -> Reached<Transacted> {
        let wanted = FindNext::decode(request.parameters).map_err(malformed)?;
        let name_at = TextBytes { bytes: request.parameters, start: request.parameters_at };
        let (name, _) = text_at(name_at, FindNext::LEN, self.is_unicode());
        let search = self.search(wanted.search)?;
        let limits =
            Limits { class: class(wanted.level)?, bytes: request.max_data, entries: wanted.max_entries };
        if wanted.flags & CONTINUE == 0 && !name.is_empty() {
            self.resume_after(&search, &name)?;
        }
        let (page, end) = self.next_page(&search, &limits)?;
        if page.entries == 0 && !end {
            return Err(NtStatus::INFO_LENGTH_MISMATCH.into());
        }
        if wanted.flags & CLOSE_AFTER != 0 || end && wanted.flags & CLOSE_AT_END != 0 {
            self.state.table().searches.remove(wanted.search);
        }
        Ok(transacted(None, page, end))
    }

    /// `FIND_CLOSE2`.
    pub(super) fn close_search(&self, body: &mut Vec<u8>) -> Outcome<()> {
        let words: FindClose = self.words()?;
        self.search(words.search)?;
        self.state.table().searches.remove(words.search);
        put_empty(body);
        Ok(())
    }

    fn search(&self, number: u16) -> Outcome<Arc<Search>> {
        let table = self.state.table();
        let found = table.searches.get(number);
        let found = found.filter(|search| (search.uid, search.tid) == (self.header.uid, self.header.tid));
        found.cloned().ok_or(NtStatus::INVALID_HANDLE)
    }

    /// The next entries, and whether the last one is among them.
    fn next_page(&self, search: &Search, limits: &Limits) -> Outcome<(ListedPage, bool)> {
        let limits = PageLimits {
            class: limits.class,
            bytes: limits.bytes,
            entries: usize::from(limits.entries.max(1)),
            excluded: search.excluded,
        };
        let mut progress = search.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let page = self.server.list_page(search.directory, &mut progress.listing, &limits)?;
        if page.entries > 0 {
            page.last_name.clone_into(&mut progress.last_name);
        }
        let end = progress.listing.is_at_end();
        Ok((page, end))
    }

    /// Makes a search continue after a name. It is the last one that the client has received, as a rule, after which the search
    /// continues anyway. The name may be one that the search leaves out, as `.` with attributes that exclude directories. A name that
    /// is no longer there changes nothing (MS-CIFS 2.2.6.3.1).
    fn resume_after(&self, search: &Search, name: &str) -> Outcome<()> {
        let mut progress = search.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = fold_case(name);
        if fold_case(&progress.last_name) == wanted {
            return Ok(());
        }
        let mut listing = ListingState::new("*");
        let limits = PageLimits {
            class: ListingClass::Names,
            bytes: self.state.max_buffer(),
            entries: 1,
            excluded: 0,
        };
        loop {
            let page = self.server.list_page(search.directory, &mut listing, &limits)?;
            if page.entries == 0 {
                return Ok(());
            }
            if fold_case(&page.last_name) == wanted {
                let listing = listing.with_pattern(&search.pattern);
                *progress = SearchProgress { listing, last_name: page.last_name };
                return Ok(());
            }
        }
    }
}

fn transacted(search: Option<u16>, page: ListedPage, end: bool) -> Transacted {
    let mut parameters = Vec::new();
    put_found(search, page.entries as u16, end, page.last_at as u16, &mut parameters);
    Transacted { parameters, data: page.bytes, cut: false }
}
