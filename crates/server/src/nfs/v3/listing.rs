//! READDIR and READDIRPLUS: pages within the client's limits, and cookies that continue a listing.

use sharebench_nfs::attributes::ATTRIBUTE_BYTES;
use sharebench_nfs::status::NfsStatus;
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::nfs::handle::HANDLE_BYTES;
use crate::nfs::state::ServerState;
use crate::nfs::v3::reply::{Outcome, node_status};
use crate::{DirectoryEntry, NodeId};

/// Cookies of `.` and `..`, which volumes do not list: the largest that fit a signed offset.
const AFTER_DOT: u64 = i64::MAX as u64 - 2;
const AFTER_DOT_DOT: u64 = i64::MAX as u64 - 1;
/// Status, attributes, verifier, end of list, end of directory.
const FRAME_BYTES: usize = 4 + 4 + ATTRIBUTE_BYTES + 8 + 4 + 4;
/// Maximum size of one page, in bytes.
pub(crate) const MAX_PAGE_BYTES: usize = 1 << 20;
/// Number of entries requested from the volume at a time.
const BATCH: usize = 256;

/// The limits that a client requests.
struct Page {
    directory: Outcome<NodeId>,
    cookie: u64,
    plus: bool,
    /// Bytes left for names, numbers and cookies, which READDIRPLUS limits separately.
    names_left: usize,
    /// Bytes left for everything.
    left: usize,
    entries: usize,
}

impl Page {
    fn get(state: &ServerState, call: &mut Reader<'_>, plus: bool, max: usize) -> Result<Self, XdrError> {
        let directory = state.handles.get(call)?;
        let cookie = call.u64()?;
        // The verifier is always 0, because a volume's cookies stay valid.
        call.u64()?;
        let first = call.u32()? as usize;
        let all = if plus { call.u32()? as usize } else { first };
        let names_left = if plus { first } else { MAX_PAGE_BYTES };
        let left = all.min(max).saturating_sub(FRAME_BYTES);
        Ok(Self { directory, cookie, plus, names_left, left, entries: 0 })
    }

    /// True if one more entry fits, which is then accounted for.
    fn take(&mut self, name: &str) -> bool {
        let names = 4 + 8 + 4 + name.len().next_multiple_of(4) + 8;
        let all = names + if self.plus { 4 + ATTRIBUTE_BYTES + 4 + 4 + HANDLE_BYTES } else { 0 };
        // At least one entry, even if it exceeds the limit for names.
        if all > self.left || names > self.names_left && self.entries > 0 {
            return false;
        }
        self.left -= all;
        self.names_left = self.names_left.saturating_sub(names);
        self.entries += 1;
        true
    }
}

impl ServerState {
    /// READDIR (RFC 1813, 3.3.16) and READDIRPLUS (3.3.17), in pages of at most `max` bytes.
    pub(crate) fn list(
        &self,
        call: &mut Reader<'_>,
        out: &mut Writer,
        plus: bool,
        max: usize,
    ) -> Result<(), XdrError> {
        let mut page = Page::get(self, call, plus, max)?;
        let start = out.len();
        out.u32(0);
        self.put_current(out, page.directory);
        out.u64(0);
        match self.put_page(out, &mut page) {
            Ok(end) => {
                out.boolean(false);
                out.boolean(end);
            }
            Err(status) => {
                out.truncate(start);
                out.u32(status.code());
                self.put_current(out, page.directory);
            }
        }
        Ok(())
    }

    /// Encodes entries until the page is full or the directory ends; true at its end.
    fn put_page(&self, out: &mut Writer, page: &mut Page) -> Outcome<bool> {
        let directory = page.directory?;
        let full = |page: &Page| if page.entries == 0 { Err(NfsStatus::TooSmall) } else { Ok(false) };
        for (name, before, after) in [(".", 0, AFTER_DOT), ("..", AFTER_DOT, AFTER_DOT_DOT)] {
            if page.cookie == before {
                if !page.take(name) {
                    return full(page);
                }
                let attributes = self.resolve(directory, name)?;
                let entry = DirectoryEntry { name: name.to_owned(), attributes, cookie: after };
                self.put_entry(out, page, &entry);
            }
        }
        let mut cookie = if page.cookie == AFTER_DOT_DOT { 0 } else { page.cookie };
        loop {
            let batch = self.volume.list(directory, cookie, BATCH).map_err(node_status)?;
            let Some(last) = batch.last() else { return Ok(true) };
            cookie = last.cookie;
            for entry in &batch {
                if !page.take(&entry.name) {
                    return full(page);
                }
                self.put_entry(out, page, entry);
            }
        }
    }

    fn put_entry(&self, out: &mut Writer, page: &mut Page, entry: &DirectoryEntry) {
        out.boolean(true);
        out.u64(entry.attributes.file_id);
        out.opaque(entry.name.as_bytes());
        out.u64(entry.cookie);
        page.cookie = entry.cookie;
        if page.plus {
            self.put_optional(out, Some(&entry.attributes));
            out.boolean(true);
            self.handles.put(out, entry.attributes.node);
        }
    }
}
