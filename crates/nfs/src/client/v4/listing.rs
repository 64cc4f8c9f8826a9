//! Listings of directories, page by page: READDIR with the attributes of each entry.

use sharebench_model::OpError;

use crate::client::collected::Collected;
use crate::client::directories::Directories;
use crate::client::directory_walk::{DirectoryWalk, FoundName, Listing, listing_bytes};
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
const WANTED: Bitmap = Bitmap::from_numbers(&[1, 4, 11, 19]);

/// Whether an entry is a directory, and its size; none without attributes.
fn kind_and_size(attributes: &Attributes<'_>) -> Option<(bool, Option<u64>)> {
    let directory = attributes.kind? == FileType::Directory;
    Some((directory, if directory { None } else { attributes.size }))
}

impl DirectoryWalk for Nfs4Session {
    type Handle = FileHandle4;
    const LISTING: &'static str = Operation::ReadDir.name();

    fn directories(&mut self) -> &mut Directories<FileHandle4> {
        &mut self.directories
    }

    fn listing(&mut self) -> &mut Option<Listing<FileHandle4>> {
        &mut self.listing
    }

    async fn look_up(
        &mut self,
        directory: FileHandle4,
        name: &str,
    ) -> Result<FoundName<FileHandle4>, OpError> {
        let (handle, kind, size) = self.lookup(directory, name).await?;
        Ok(FoundName { handle, size, is_directory: kind == FileType::Directory, kind: kind.name() })
    }

    /// READDIR.
    async fn read_entries(
        &mut self,
        listing: &mut Listing<FileHandle4>,
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
