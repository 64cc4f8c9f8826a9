//! `QUERY_DIRECTORY` (MS-SMB2 3.3.5.18): pages of a listing that match a pattern.

use std::sync::PoisonError;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::directory::{QueryDirectoryRequest, flags};
use sharebench_smb::wire::info::InfoResponse;
use sharebench_smb::wire::listing::{ListingClass, ListingWriter};

use crate::smb::call::{Answer, Call, DONE};
use crate::smb::file_info::{describe, file_time};
use crate::smb::open_files::{OpenFile, OpenFiles};
use crate::smb::pattern::Pattern;
use crate::smb::resolve::{find, is_expressible};
use crate::smb::status::{Outcome, checked, malformed};
use crate::smb::write_times::WriteTimes;
use crate::{Attributes, Volume};

/// Entries that the volume is asked for at a time: as many as a reply is likely to hold.
const MIN_BATCH: usize = 16;
const MAX_BATCH: usize = 1024;
/// Bytes of a typical entry.
const ENTRY_BYTES: usize = 128;

/// How far a client has read a directory.
#[derive(Debug, Default)]
pub(super) struct ListingState {
    pattern: Option<String>,
    position: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Position {
    /// Before `.`.
    #[default]
    Start,
    /// After `.`.
    Dot,
    /// After the entry with this cookie of the volume; 0 after `..`.
    After(u64),
    /// After the last entry.
    End,
}

/// A page that is being filled.
struct Page<'a> {
    volume: &'a dyn Volume,
    /// Files whose times of the last write are held back.
    writers: Option<&'a OpenFiles>,
    open: &'a OpenFile,
    listing: ListingWriter,
    /// Entries that still fit by number.
    left: usize,
    batch: usize,
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
        if !self.listing.push(name, &found) {
            return false;
        }
        self.left -= 1;
        true
    }

    /// Adds `.` and `..`, then the entries of the volume, and advances the position.
    fn fill(&mut self, pattern: &Pattern, position: &mut Position) -> Outcome<()> {
        for (before, name, after) in
            [(Position::Start, ".", Position::Dot), (Position::Dot, "..", Position::After(0))]
        {
            if *position == before {
                let here = self.open.node;
                let node = if name == "." { here } else { checked(self.volume.parent(here))? };
                if pattern.matches(name) && !self.push(name, &checked(self.volume.attributes(node))?) {
                    return Ok(());
                }
                *position = after;
            }
        }
        while let Position::After(cookie) = *position {
            let batch = checked(self.volume.list(self.open.node, cookie, self.batch))?;
            if batch.is_empty() {
                *position = Position::End;
            }
            for entry in batch {
                let matches = is_expressible(&entry.name) && pattern.matches(&entry.name);
                if matches && !self.push(&entry.name, &entry.attributes) {
                    return Ok(());
                }
                *position = Position::After(entry.cookie);
            }
        }
        Ok(())
    }

    /// Adds the only entry with this name.
    fn fill_plain(&mut self, name: &str, position: &mut Position) -> Outcome<()> {
        if *position == Position::Start
            && is_expressible(name)
            && let Some((name, attributes)) = find(self.volume, self.open.node, name)?
            && !self.push(&name, &attributes)
        {
            return Ok(());
        }
        *position = Position::End;
        Ok(())
    }
}

impl Call<'_> {
    /// `QUERY_DIRECTORY`. The pattern of the first request applies until a client restarts with another one.
    pub(super) fn query_directory(&mut self, body: &mut Vec<u8>) -> Outcome<Answer> {
        let request = QueryDirectoryRequest::decode(self.message).map_err(malformed)?;
        let open = self.file(request.file)?;
        if !open.directory {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let class = ListingClass::from_number(request.class).ok_or(NtStatus::INVALID_INFO_CLASS)?;
        let max_bytes = request.output_len.min(self.connection.server.options.max_transfer);
        self.check_charge(request.output_len)?;
        let mut state = open.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let first = state.pattern.is_none();
        if request.flags & flags::REOPEN != 0 || first {
            state.pattern = Some(request.pattern);
            state.position = Position::Start;
        } else if request.flags & flags::RESTART_SCANS != 0 {
            if !request.pattern.is_empty() {
                state.pattern = Some(request.pattern);
            }
            state.position = Position::Start;
        }
        let starts = state.position == Position::Start;
        let single = request.flags & flags::RETURN_SINGLE_ENTRY != 0;
        let batch =
            if single { MIN_BATCH } else { (max_bytes as usize / ENTRY_BYTES).clamp(MIN_BATCH, MAX_BATCH) };
        let server = &self.connection.server;
        let mut page = Page {
            volume: server.volume.as_ref(),
            writers: (server.options.write_times == WriteTimes::Delayed).then_some(&server.files),
            open: &open,
            listing: ListingWriter::new(class, max_bytes as usize),
            left: if single { 1 } else { usize::MAX },
            batch,
        };
        let text = state.pattern.clone().unwrap_or_default();
        let text = if text.is_empty() { "*" } else { &text };
        match Pattern::plain(text) {
            Some(name) if !matches!(name, "." | "..") => page.fill_plain(name, &mut state.position)?,
            _ => page.fill(&Pattern::new(text), &mut state.position)?,
        }
        if page.listing.is_empty() {
            return Err(match state.position {
                Position::End if starts => NtStatus::NO_SUCH_FILE,
                Position::End => NtStatus::NO_MORE_FILES,
                // The next entry does not fit.
                _ => NtStatus::INFO_LENGTH_MISMATCH,
            });
        }
        InfoResponse::encode(&page.listing.into_bytes(), body);
        DONE
    }
}
