//! `QUERY_DIRECTORY` (MS-SMB2 3.3.5.18): pages of a listing that match a pattern.

use std::sync::PoisonError;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::directory::{QueryDirectoryRequest, flags};
use sharebench_smb::wire::info::InfoResponse;
use sharebench_smb::wire::listing::{ListingClass, ListingWriter};

use crate::smb::files::file_info::{describe, file_time};
use crate::smb::files::open_files::OpenFiles;
use crate::smb::files::write_times::WriteTimes;
use crate::smb::names::listing_state::{ListingPosition, ListingState};
use crate::smb::names::pattern::Pattern;
use crate::smb::names::resolve::{find, is_expressible};
use crate::smb::session::call::{Call, CallResponse, DONE};
use crate::smb::state::ServerState;
use crate::smb::status::{Outcome, checked, malformed};
use crate::{Attributes, NodeId, Volume};

/// Entries that the volume is asked for at a time: as many as a reply is likely to hold.
const MIN_BATCH: usize = 16;
const MAX_BATCH: usize = 1024;
/// Bytes of a typical entry.
const ENTRY_BYTES: usize = 128;

/// A page that is being filled.
struct Page<'a> {
    volume: &'a dyn Volume,
    /// Files whose times of the last write are held back.
    writers: Option<&'a OpenFiles>,
    directory: NodeId,
    listing: ListingWriter,
    /// Entries that still fit by number.
    left: usize,
    batch: usize,
    /// Entries with one of these attributes are left out.
    excluded: u32,
    last_name: String,
}

impl Page<'_> {
    /// Adds an entry; false if the page is full.
    fn push(&mut self, name: &str, attributes: &Attributes) -> bool {
        if self.left == 0 {
            return false;
        }
        let mut found = describe(self.volume, attributes);
        if let Some(file) = self.writers.and_then(|files| files.of_node(attributes.node)) {
            found.modified = file_time(file.as_shown(attributes.clone()).modified);
        }
        if found.attributes & self.excluded != 0 {
            return true;
        }
        if !self.listing.push(name, &found) {
            return false;
        }
        name.clone_into(&mut self.last_name);
        self.left -= 1;
        true
    }

    /// Adds `.` and `..`, then the entries of the volume, and advances the position.
    fn fill(&mut self, pattern: &Pattern, position: &mut ListingPosition) -> Outcome<()> {
        for (before, name, after) in [
            (ListingPosition::Start, ".", ListingPosition::Dot),
            (ListingPosition::Dot, "..", ListingPosition::After(0)),
        ] {
            if *position == before {
                let here = self.directory;
                let node = if name == "." { here } else { checked(self.volume.parent(here))? };
                if pattern.matches(name) && !self.push(name, &checked(self.volume.attributes(node))?) {
                    return Ok(());
                }
                *position = after;
            }
        }
        while let ListingPosition::After(cookie) = *position {
            let batch = checked(self.volume.list(self.directory, cookie, self.batch))?;
            if batch.is_empty() {
                *position = ListingPosition::End;
            }
            for entry in batch {
                let matches = is_expressible(&entry.name) && pattern.matches(&entry.name);
                if matches && !self.push(&entry.name, &entry.attributes) {
                    return Ok(());
                }
                *position = ListingPosition::After(entry.cookie);
            }
        }
        Ok(())
    }

    /// Adds the only entry with this name.
    fn fill_plain(&mut self, name: &str, position: &mut ListingPosition) -> Outcome<()> {
        if *position == ListingPosition::Start
            && is_expressible(name)
            && let Some((name, attributes)) = find(self.volume, self.directory, name)?
            && !self.push(&name, &attributes)
        {
            return Ok(());
        }
        *position = ListingPosition::End;
        Ok(())
    }
}

/// What a page of a listing may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimits {
    pub(crate) class: ListingClass,
    /// Most bytes.
    pub(crate) bytes: usize,
    /// Most entries.
    pub(crate) entries: usize,
    /// Entries with one of these attributes are left out.
    pub(crate) excluded: u32,
}

/// Encoded entries of a directory.
#[derive(Debug, Default)]
pub(crate) struct ListedPage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) entries: usize,
    /// Position of the last entry.
    pub(crate) last_at: usize,
    /// Name of the last entry; empty if there is none.
    pub(crate) last_name: String,
}

impl ServerState {
    /// The next entries of a directory that match the pattern of a listing, which advances.
    pub(crate) fn list_page(
        &self,
        directory: NodeId,
        state: &mut ListingState,
        limits: &PageLimits,
    ) -> Outcome<ListedPage> {
        let by_bytes = limits.bytes / ENTRY_BYTES;
        let mut page = Page {
            volume: self.volume.as_ref(),
            writers: (self.options.write_times == WriteTimes::Delayed).then_some(&self.files),
            directory,
            listing: ListingWriter::new(limits.class, limits.bytes),
            left: limits.entries,
            batch: by_bytes.min(limits.entries).clamp(MIN_BATCH, MAX_BATCH),
            excluded: limits.excluded,
            last_name: String::new(),
        };
        let text = state.pattern.clone().unwrap_or_default();
        let text = if text.is_empty() { "*" } else { &text };
        match Pattern::plain(text) {
            Some(name) if !matches!(name, "." | "..") => page.fill_plain(name, &mut state.position)?,
            _ => page.fill(&Pattern::new(text), &mut state.position)?,
        }
        let entries = limits.entries - page.left;
        let last_at = page.listing.last_at();
        Ok(ListedPage { entries, last_at, last_name: page.last_name, bytes: page.listing.into_bytes() })
    }
}

impl Call<'_> {
    /// `QUERY_DIRECTORY`. The pattern of the first request applies until a client restarts with another one.
    pub(crate) fn query_directory(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let request = QueryDirectoryRequest::decode(self.message).map_err(malformed)?;
        let open = self.file(request.file)?;
        if !open.directory {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let class = ListingClass::from_number(request.class).ok_or(NtStatus::INVALID_INFO_CLASS)?;
        let max_bytes = request.output_len.min(self.connection.server.options.max_transfer);
        self.check_charge(request.output_len)?;
        let mut state = open.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let anew = request.flags & flags::REOPEN != 0 || state.pattern.is_none();
        let restarts = request.flags & flags::RESTART_SCANS != 0;
        if anew || restarts && !request.pattern.is_empty() {
            let mut charge = open.count.lock().unwrap_or_else(PoisonError::into_inner).further_charge();
            if !charge.grow(request.pattern.len()) {
                return Err(NtStatus::INSUFFICIENT_RESOURCES);
            }
            state.pattern = Some(request.pattern);
            state.charge = Some(charge);
        }
        if anew || restarts {
            state.position = ListingPosition::Start;
        }
        let starts = state.position == ListingPosition::Start;
        let single = request.flags & flags::RETURN_SINGLE_ENTRY != 0;
        let limits = PageLimits {
            class,
            bytes: max_bytes as usize,
            entries: if single { 1 } else { usize::MAX },
            excluded: 0,
        };
        let page = self.connection.server.list_page(open.node, &mut state, &limits)?;
        if page.entries == 0 {
            return Err(match state.is_at_end() {
                true if starts => NtStatus::NO_SUCH_FILE,
                true => NtStatus::NO_MORE_FILES,
                // The next entry does not fit.
                false => NtStatus::INFO_LENGTH_MISMATCH,
            });
        }
        InfoResponse::encode(&page.bytes, body);
        DONE
    }
}
