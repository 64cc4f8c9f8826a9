//! The walk to directories and through them by file handles, whatever the version of NFS.

use sharebench_model::{ErrorClass, ListedPage, MetaYield, OpError, OpStep};
use sharebench_target::{HeldEntries, ListingGuard};

use crate::client::collected::Collected;
use crate::client::directories::Directories;
use crate::results::FsInfo;

/// Limits for the size of a listing's results. Within them the server's preference decides.
const LISTING_BYTES: std::ops::RangeInclusive<u32> = 8 << 10..=512 << 10;
/// Size of a listing's results from servers that prefer smaller ones, but transfer as much in a READ. Many servers
/// report the `dtpref` of the time when requests were UDP datagrams, which would take ten times as many calls.
const USUAL_LISTING_BYTES: u32 = 128 << 10;

/// The size of a listing's results to request; the server may return less.
pub(crate) fn listing_bytes(limits: &FsInfo) -> u32 {
    let transferred = limits.read_preferred.min(USUAL_LISTING_BYTES);
    limits.directory_preferred.max(transferred).clamp(*LISTING_BYTES.start(), *LISTING_BYTES.end())
}

/// A listing in progress: the directory, and where its next page begins.
#[derive(Debug)]
pub(crate) struct Listing<H> {
    pub(crate) directory: H,
    pub(crate) guard: ListingGuard,
    pub(crate) cookie: u64,
    pub(crate) verifier: [u8; 8],
}

/// The result of a LOOKUP.
#[derive(Debug)]
pub(crate) struct FoundName<H> {
    pub(crate) handle: H,
    pub(crate) size: u64,
    pub(crate) is_directory: bool,
    /// What it is, in words.
    pub(crate) kind: &'static str,
}

/// A session that walks by handles.
pub(crate) trait DirectoryWalk {
    /// A file handle of the version.
    type Handle: Copy;
    /// Name of the procedure or operation that lists.
    const LISTING: &'static str;

    /// The handles that the session keeps.
    fn directories(&mut self) -> &mut Directories<Self::Handle>;

    /// The listing in progress.
    fn listing(&mut self) -> &mut Option<Listing<Self::Handle>>;

    /// LOOKUP of a name.
    async fn look_up(
        &mut self,
        directory: Self::Handle,
        name: &str,
    ) -> Result<FoundName<Self::Handle>, OpError>;

    /// Reads the next entries of a listing, and moves it; true if they are the last ones.
    async fn read_entries(
        &mut self,
        listing: &mut Listing<Self::Handle>,
    ) -> Result<(Collected<Self::Handle>, bool), OpError>;

    /// Walks to a directory, from the nearest known one.
    async fn directory(&mut self, path: &str) -> Result<Self::Handle, OpError> {
        let (mut handle, rest) = self.directories().nearest(path);
        let mut known = path.len() - rest.len();
        for name in rest.split('/').filter(|_| !rest.is_empty()) {
            let found = self.look_up(handle, name).await?;
            if !found.is_directory {
                let detail = format!("'{name}' is not a directory but {}", found.kind);
                return Err(OpError::new(ErrorClass::NotFound, OpStep::Request("LOOKUP"), detail));
            }
            handle = found.handle;
            let end = known + name.len();
            self.directories().insert(&path[..end], handle);
            known = end + 1;
        }
        Ok(handle)
    }

    /// Lists a directory as a whole.
    async fn list(&mut self, path: &str) -> Result<MetaYield, OpError> {
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
    async fn list_page(&mut self, path: &str, restart: bool) -> Result<MetaYield, OpError> {
        let mut listing = match self.listing().take() {
            Some(listing) if !restart && listing.guard.directory() == path => listing,
            _ => self.begin_listing(path).await?,
        };
        let page = self.next_page(&mut listing, true).await?;
        if !page.end {
            *self.listing() = Some(listing);
        }
        Ok(MetaYield::Page(page))
    }

    /// A listing that begins.
    async fn begin_listing(&mut self, path: &str) -> Result<Listing<Self::Handle>, OpError> {
        let directory = self.directory(path).await?;
        Ok(Listing { directory, guard: ListingGuard::new(path, Self::LISTING), cookie: 0, verifier: [0; 8] })
    }

    /// The next page. With `keep`, the handles of its directories are kept for the walk to them.
    async fn next_page(
        &mut self,
        listing: &mut Listing<Self::Handle>,
        keep: bool,
    ) -> Result<ListedPage, OpError> {
        let (mut found, end) = self.read_entries(listing).await?;
        if let Some(error) = found.bad_name {
            return Err(error);
        }
        listing.guard.check_page(listing.cookie, found.received, end)?;
        if keep {
            found.keep_directories(listing.guard.directory(), self.directories());
        }
        for index in found.incomplete {
            let name = found.entries[index].name.clone();
            match self.look_up(listing.directory, &name).await {
                Ok(looked_up) => {
                    let entry = &mut found.entries[index];
                    entry.directory = looked_up.is_directory;
                    entry.size = (!looked_up.is_directory).then_some(looked_up.size);
                }
                // It was removed after the server had listed it.
                Err(error) if error.class == ErrorClass::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(ListedPage { entries: found.entries, unnamed: found.unnamed, end })
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
