//! Listings of directories, page by page, with the attributes that each entry carries.

use sharebench_model::{Entry, ErrorClass, ListedPage, MetaYield, OpError, OpStep};
use sharebench_target::{HeldEntries, ListingGuard};

use crate::client::exchange::Exchange;
use crate::client::names::operations::{ATTRIBUTE_ACCESS, unreadable};
use crate::client::open_file::Listing;
use crate::client::rights::lease_choice::Opens;
use crate::client::session::SmbSession;
use crate::status::NtStatus;
use crate::wire::create::{ATTRIBUTE_DIRECTORY, access, disposition, options};
use crate::wire::directory::{CLASS_DIRECTORY, QueryDirectoryRequest, entries, flags};
use crate::wire::header::command;
use crate::wire::info::InfoResponse;

/// What one credit pays for: size of the responses of a measured listing, which is the same at every server.
const LISTING_BYTES: u32 = 64 << 10;
/// Size of the responses of a walk, if the server grants the credits. Fewer round trips make it faster.
const WALK_BYTES: u32 = 1 << 20;

/// The error of a page whose caller keeps the pages before it.
#[cold]
fn position_lost() -> OpError {
    let detail = "the position in the directory was lost with a channel";
    OpError::new(ErrorClass::Disconnected, OpStep::Request("QUERY_DIRECTORY"), detail)
}

impl SmbSession {
    /// Lists a directory as a whole.
    pub(crate) async fn list(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let mut listing = self.begin_listing(path).await?;
        let mut held = HeldEntries::default();
        let listed = loop {
            let page = self.query_directory(&mut listing, LISTING_BYTES).await;
            if listing.position_lost && page.is_ok() {
                listing.restart();
                held = HeldEntries::default();
                continue;
            }
            match page.and_then(|page| held.add(page, &listing.guard)) {
                Ok(false) => {}
                Ok(true) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // Closed even if listing failed: the handle would stay open on the server until the session ends.
        let closed = self.close_file(listing.directory).await;
        listed?;
        closed?;
        Ok(MetaYield::Entries(held.into_entries()))
    }

    /// Returns the next page of a directory, and keeps the directory open unless that is the last page.
    pub(crate) async fn list_page(&mut self, path: &str, restart: bool) -> Result<MetaYield, OpError> {
        let mut listing = match self.listing.take() {
            Some(listing) if !restart && listing.guard.directory() == path => listing,
            abandoned => {
                if let Some(abandoned) = abandoned {
                    self.close_file(abandoned.directory).await?;
                }
                self.begin_listing(path).await?
            }
        };
        self.channels.primary().prepare_large_reply(WALK_BYTES);
        let affordable = self.channels.primary().credits.affordable_bytes();
        let page = self.query_directory(&mut listing, affordable.clamp(LISTING_BYTES, WALK_BYTES)).await;
        let page = page.and_then(|page| if listing.position_lost { Err(position_lost()) } else { Ok(page) });
        match page {
            Ok(page) if !page.end => {
                self.listing = Some(listing);
                Ok(MetaYield::Page(page))
            }
            ended => {
                let closed = self.close_file(listing.directory).await;
                let page = ended?;
                closed?;
                Ok(MetaYield::Page(page))
            }
        }
    }

    async fn begin_listing(&mut self, path: &str) -> Result<Listing, OpError> {
        let rights = access::READ_DATA | ATTRIBUTE_ACCESS;
        let kind = options::DIRECTORY_FILE;
        let (directory, _) = self.create_for(Opens::Directory, path, rights, disposition::OPEN, kind).await?;
        Ok(Listing::new(directory, path))
    }

    async fn query_directory(&mut self, listing: &mut Listing, bytes: u32) -> Result<ListedPage, OpError> {
        let name = command::name(command::QUERY_DIRECTORY);
        let output_len = bytes.min(self.negotiated.max_transact);
        let request = QueryDirectoryRequest {
            class: CLASS_DIRECTORY,
            file: listing.directory,
            pattern: "*".into(),
            output_len,
            flags: if std::mem::take(&mut listing.restarts) { flags::RESTART_SCANS } else { 0 },
            ..QueryDirectoryRequest::default()
        };
        let encode = |body: &mut Vec<u8>| request.encode(body);
        let header = self.exchange_sized(command::QUERY_DIRECTORY, output_len, encode).await?;
        // The server may have performed the request twice, and advanced its position twice.
        listing.position_lost = self.was_repeated();
        match NtStatus(header.status) {
            NtStatus::SUCCESS => {}
            // Some servers answer NO_SUCH_FILE if a directory has no entries, not even its own.
            NtStatus::NO_MORE_FILES | NtStatus::NO_SUCH_FILE => {
                return Ok(ListedPage { end: true, ..ListedPage::default() });
            }
            status => return Err(status.failure(name)),
        }
        let found = InfoResponse::decode(self.last_reply()).and_then(entries);
        let found = found.map_err(unreadable(name))?;
        let position = ListingGuard::position_of(found.iter().map(|entry| entry.name.as_str()));
        listing.guard.check_page(position, found.len(), false)?;
        let mut page = ListedPage::default();
        for entry in found.into_iter().filter(|entry| !matches!(entry.name.as_str(), "." | "..")) {
            listing.guard.check_name(&entry.name, &['/', '\\'])?;
            let directory = entry.attributes & ATTRIBUTE_DIRECTORY != 0;
            let size = (!directory).then_some(entry.end_of_file);
            page.entries.push(Entry { name: entry.name, directory, size });
        }
        Ok(page)
    }
}
