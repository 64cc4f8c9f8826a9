//! Listings of directories, page by page, with the sizes that each entry carries.

use sharebench_model::{Entry, ListedPage, MetaYield, OpError};
use sharebench_target::{HeldEntries, ListingGuard};

use crate::client::{EntryInfo, Search};
use crate::target::session::NcpSession;

/// A listing in progress.
#[derive(Debug)]
pub(crate) struct Listing {
    search: Search,
    guard: ListingGuard,
}

impl NcpSession {
    /// Lists a directory as a whole.
    pub(super) async fn list(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let mut listing = self.begin_listing(path).await?;
        let mut held = HeldEntries::default();
        loop {
            let page = self.next_page(&mut listing).await?;
            if held.add(page, &listing.guard)? {
                return Ok(MetaYield::Entries(held.into_entries()));
            }
        }
    }

    /// Returns the next page of a directory, and keeps the listing unless that is the last page.
    pub(super) async fn list_page(&mut self, path: &str, restart: bool) -> Result<MetaYield, OpError> {
        let mut listing = match self.listing.take() {
            Some(listing) if !restart && listing.guard.directory() == path => listing,
            _ => self.begin_listing(path).await?,
        };
        let page = self.next_page(&mut listing).await?;
        if !page.end {
            self.listing = Some(listing);
        }
        Ok(MetaYield::Page(page))
    }

    async fn begin_listing(&mut self, path: &str) -> Result<Listing, OpError> {
        let directory = self.path(path)?;
        let search = self.call_client(async |client| client.begin_search(&directory).await).await?;
        Ok(Listing { search, guard: ListingGuard::new(path, "search") })
    }

    async fn next_page(&mut self, listing: &mut Listing) -> Result<ListedPage, OpError> {
        let large = self.connections.first().is_some_and(|connection| connection.inner().is_large());
        let mut page = ListedPage::default();
        let mut received = 0;
        let mut bad_name = None;
        let guard = &listing.guard;
        let short_names = self.short_names.clone();
        let each = |name: &[u8], info: EntryInfo| {
            received += 1;
            let Ok(name) = std::str::from_utf8(name) else {
                page.unnamed += 1;
                return;
            };
            if matches!(name, "." | "..") {
                return;
            }
            if let Err(error) = guard.check_name(name, &['/']) {
                bad_name.get_or_insert(error);
                return;
            }
            // Only an open file has a size that exceeds 32 bits.
            let is_complete = !(large && info.size == u32::MAX);
            let size = (is_complete && !info.directory).then_some(u64::from(info.size));
            let name = short_names.as_ref().map_or_else(|| name.to_owned(), |names| names.shown(name));
            page.entries.push(Entry { name, directory: info.directory, size });
        };
        let search = &mut listing.search;
        let end = self.call_client(async |client| client.continue_search(search, each).await).await?;
        page.end = end;
        if let Some(error) = bad_name {
            return Err(error);
        }
        listing.guard.check_page(listing.search.position(), received, page.end)?;
        Ok(page)
    }
}
