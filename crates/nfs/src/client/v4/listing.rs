//! Listings of directories, page by page: READDIR with the attributes of each entry.

use sharebench_model::{ErrorClass, ListedPage, MetaYield, OpError};
use sharebench_target::{HeldEntries, ListingGuard};

use crate::client::collected::Collected;
use crate::client::listing::listing_bytes;
use crate::client::v4::requests::Request;
use crate::client::v4::session::Nfs4Session;
use crate::v4::attribute_types::FileType;
use crate::v4::attributes::Attributes;
use crate::v4::bitmap::Bitmap;
use crate::v4::data::FileHandle4;
use crate::v4::listing::{ReadDir, get_listing};
use crate::v4::operation::Operation;

/// `type`, `size`, `rdattr_error` and `filehandle`. With `rdattr_error`, an entry whose attributes cannot be read does
/// not fail the listing (RFC 7530, 16.24.4).
const WANTED: Bitmap = Bitmap::of(&[1, 4, 11, 19]);

/// A listing in progress: the directory, and where its next page begins.
#[derive(Debug)]
pub(crate) struct Listing {
    directory: FileHandle4,
    guard: ListingGuard,
    cookie: u64,
    verifier: [u8; 8],
}

/// Whether an entry is a directory, and its size; none without attributes.
fn kind_and_size(attributes: &Attributes<'_>) -> Option<(bool, Option<u64>)> {
    let directory = attributes.kind? == FileType::Directory;
    Some((directory, if directory { None } else { attributes.size }))
}

impl Nfs4Session {
    /// Lists a directory as a whole.
    pub(crate) async fn list(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let mut listing = self.begin_listing(path).await?;
        let mut held = HeldEntries::default();
        loop {
            let page = self.next_page(&mut listing, false).await?;
            if held.add(page, &listing.guard)? {
                return Ok(MetaYield::Entries(held.into_entries()));
            }
        }
    }

    /// Returns the next page of a directory, and keeps the listing unless that is the last page.
    pub(crate) async fn list_page(&mut self, path: &str, restart: bool) -> Result<MetaYield, OpError> {
        let mut listing = match self.listing.take() {
            Some(listing) if !restart && listing.guard.directory() == path => listing,
            _ => self.begin_listing(path).await?,
        };
        let page = self.next_page(&mut listing, true).await?;
        if !page.end {
            self.listing = Some(listing);
        }
        Ok(MetaYield::Page(page))
    }

    async fn begin_listing(&mut self, path: &str) -> Result<Listing, OpError> {
        let directory = self.directory(path).await?;
        let guard = ListingGuard::new(path, Operation::ReadDir.name());
        Ok(Listing { directory, guard, cookie: 0, verifier: [0; 8] })
    }

    /// The next page. With `keep`, the handles of its directories are kept for the walk to them.
    async fn next_page(&mut self, listing: &mut Listing, keep: bool) -> Result<ListedPage, OpError> {
        let (mut found, end) = self.read_directory(listing).await?;
        if let Some(error) = found.bad_name.take() {
            return Err(error);
        }
        listing.guard.check_page(listing.cookie, found.received, end)?;
        if keep {
            found.keep_directories(listing.guard.directory(), &mut self.directories);
        }
        for index in std::mem::take(&mut found.incomplete) {
            let name = found.entries[index].name.clone();
            match self.lookup(listing.directory, &name).await {
                Ok((_, kind, size)) => {
                    let entry = &mut found.entries[index];
                    entry.directory = kind == FileType::Directory;
                    entry.size = (!entry.directory).then_some(size);
                }
                // It was removed after the server had listed it.
                Err(error) if error.class == ErrorClass::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(ListedPage { entries: found.entries, unnamed: found.unnamed, end })
    }

    /// Performs READDIR; true for the last page.
    async fn read_directory(
        &mut self,
        listing: &mut Listing,
    ) -> Result<(Collected<FileHandle4>, bool), OpError> {
        let bytes = listing_bytes(&self.limits);
        let arguments = ReadDir {
            cookie: listing.cookie,
            verifier: listing.verifier,
            directory_bytes: bytes,
            max_bytes: bytes,
            wanted: WANTED,
        };
        let directory = listing.directory;
        let mut results = self
            .request(Request::reading(Operation::ReadDir), |compound, _| {
                compound.handle(&directory).operation(Operation::ReadDir, &arguments);
            })
            .await?;
        results.done(Operation::PutFh)?;
        let mut found = Collected::default();
        let (verifier, end) = results.get_with(Operation::ReadDir, |reader| {
            get_listing(reader, |entry| {
                let handle = entry.attributes.handle.and_then(|handle| FileHandle4::new(handle.0));
                let attributes = kind_and_size(&entry.attributes);
                found.add(entry.name.0, entry.cookie, attributes, handle, &listing.guard);
            })
        })?;
        listing.verifier = verifier;
        listing.cookie = found.last_cookie.unwrap_or(listing.cookie);
        Ok((found, end))
    }
}
