//! Listings of directories, page by page: READDIRPLUS, or READDIR with LOOKUPs where the server has no READDIRPLUS.

use sharebench_model::{ErrorClass, Fact, ListedPage, MetaYield, OpError};
use sharebench_target::{HeldEntries, ListingGuard};

use crate::attributes::{FileAttributes, FileKind};
use crate::client::collected::Collected;
use crate::client::metadata::read;
use crate::client::session::NfsSession;
use crate::protocol::{FileHandle, Procedure};
use crate::results::{FsInfo, get_listing, get_status};
use crate::status::NfsStatus;
use crate::xdr::Writer;

/// Limits for the size of a listing's results. Within them the server's preference decides.
const LISTING_BYTES: std::ops::RangeInclusive<u32> = 8 << 10..=512 << 10;
/// Size of a listing's results from servers that prefer smaller ones, but transfer as much in a READ. Many servers
/// report the `dtpref` of the time when requests were UDP datagrams, which would take ten times as many calls.
const USUAL_LISTING_BYTES: u32 = 128 << 10;
/// Size of the results of READDIR. Each of its entries needs a LOOKUP, and a page has to be complete within one timeout.
const PLAIN_LISTING_BYTES: u32 = 16 << 10;

/// A listing in progress: the directory, and where its next page begins.
#[derive(Debug)]
pub(crate) struct Listing {
    directory: FileHandle,
    guard: ListingGuard,
    cookie: u64,
    verifier: [u8; 8],
}

/// The size of a listing's results to request; the server may return less.
pub(crate) fn listing_bytes(limits: &FsInfo) -> u32 {
    let transferred = limits.read_preferred.min(USUAL_LISTING_BYTES);
    limits.directory_preferred.max(transferred).clamp(*LISTING_BYTES.start(), *LISTING_BYTES.end())
}

fn kind_and_size(attributes: &FileAttributes) -> (bool, Option<u64>) {
    let directory = attributes.kind == FileKind::Directory;
    (directory, (!directory).then_some(attributes.size))
}

impl NfsSession {
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
        let guard = ListingGuard::new(path, Procedure::ReadDirPlus.name());
        Ok(Listing { directory, guard, cookie: 0, verifier: [0; 8] })
    }

    /// The next page. With `keep`, the handles of its directories are kept for the walk to them.
    async fn next_page(&mut self, listing: &mut Listing, keep: bool) -> Result<ListedPage, OpError> {
        let found = match self.collect(listing, Procedure::ReadDirPlus).await? {
            Some(found) => found,
            None => self.collect(listing, Procedure::ReadDir).await?.unwrap_or_default(),
        };
        let (mut found, end) = found;
        if let Some(error) = found.bad_name {
            return Err(error);
        }
        listing.guard.check_page(listing.cookie, found.received, end)?;
        if keep {
            found.keep_directories(listing.guard.directory(), &mut self.directories);
        }
        for index in found.incomplete {
            let name = found.entries[index].name.clone();
            match self.lookup(listing.directory, &name).await {
                Ok((_, attributes)) => {
                    let entry = &mut found.entries[index];
                    (entry.directory, entry.size) = kind_and_size(&attributes);
                }
                // It was removed after the server had listed it.
                Err(error) if error.class == ErrorClass::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(ListedPage { entries: found.entries, unnamed: found.unnamed, end })
    }

    /// Performs READDIRPLUS or READDIR; true for the last page. None if the server does not have READDIRPLUS.
    async fn collect(
        &mut self,
        listing: &mut Listing,
        procedure: Procedure,
    ) -> Result<Option<(Collected<FileHandle>, bool)>, OpError> {
        let plus = procedure == Procedure::ReadDirPlus;
        if plus && self.lacks_readdirplus {
            return Ok(None);
        }
        let preferred = listing_bytes(&self.limits);
        let encode = |writer: &mut Writer| {
            listing.directory.put(writer);
            writer.u64(listing.cookie);
            writer.raw(&listing.verifier);
            if plus {
                // dircount (names and cookies only) and maxcount (the whole result).
                writer.u32(preferred);
                writer.u32(preferred);
            } else {
                writer.u32(PLAIN_LISTING_BYTES);
            }
        };
        let unsupported = match self.request(procedure, encode).await {
            Ok(reader) => matches!(get_status(&mut reader.clone()), Ok(Err(NfsStatus::NotSupp))),
            Err(error) if plus && error.class == ErrorClass::Unsupported => true,
            Err(error) => return Err(error),
        };
        if plus && unsupported {
            self.lacks_readdirplus = true;
            return Ok(None);
        }
        let mut found = Collected::default();
        let result = self.metadata_result();
        let decoded = read(result, procedure, |reader| {
            get_listing(reader, plus, |entry| {
                let attributes = entry.attributes.as_ref().map(kind_and_size);
                found.add(entry.name, entry.cookie, attributes, entry.handle, &listing.guard);
            })
        });
        let (verifier, end) = match decoded {
            // Some servers, such as JFileServer 1.4, have a malformed READDIRPLUS and a correct READDIR.
            Err(error) if plus && listing.cookie == 0 && error.class == ErrorClass::Protocol => {
                self.facts.state(Fact::Readdirplus, format!("not used: {}", error.detail));
                self.lacks_readdirplus = true;
                return Ok(None);
            }
            decoded => decoded?,
        };
        listing.verifier = verifier;
        listing.cookie = found.last_cookie.unwrap_or(listing.cookie);
        Ok(Some((found, end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_as_large_as_a_read_where_the_server_prefers_small_pages() {
        let of = |directory_preferred, read_preferred| {
            listing_bytes(&FsInfo { read_preferred, directory_preferred, ..FsInfo::default() })
        };
        assert_eq!(of(16 << 10, 1 << 20), 128 << 10);
        assert_eq!(of(16 << 10, 32 << 10), 32 << 10);
        assert_eq!(of(256 << 10, 64 << 10), 256 << 10);
        assert_eq!((of(0, 0), of(u32::MAX, u32::MAX)), (8 << 10, 512 << 10));
    }
}
