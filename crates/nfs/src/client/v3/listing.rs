//! Listings of directories, page by page: READDIRPLUS, or READDIR with LOOKUPs where the server has no READDIRPLUS.

use sharebench_model::{ErrorClass, Fact, OpError};

use crate::attributes::{FileAttributes, FileKind};
use crate::client::collected::Collected;
use crate::client::directories::Directories;
use crate::client::directory_walk::{DirectoryWalk, FoundName, Listing, listing_bytes};
use crate::client::v3::names::read;
use crate::client::v3::session::NfsSession;
use crate::protocol::{FileHandle, Procedure};
use crate::results::{get_listing, get_status};
use crate::status::NfsStatus;
use crate::xdr::Writer;

/// Size of the results of READDIR. Each of its entries needs a LOOKUP, and a page has to be complete within one timeout.
const PLAIN_LISTING_BYTES: u32 = 16 << 10;

fn kind_and_size(attributes: &FileAttributes) -> (bool, Option<u64>) {
    let directory = attributes.kind == FileKind::Directory;
    (directory, (!directory).then_some(attributes.size))
}

impl DirectoryWalk for NfsSession {
    type Handle = FileHandle;
    const LISTING: &'static str = Procedure::ReadDirPlus.name();

    fn directories(&mut self) -> &mut Directories<FileHandle> {
        &mut self.directories
    }

    fn listing(&mut self) -> &mut Option<Listing<FileHandle>> {
        &mut self.listing
    }

    async fn look_up(&mut self, directory: FileHandle, name: &str) -> Result<FoundName<FileHandle>, OpError> {
        let (handle, FileAttributes { kind, size, .. }) = self.lookup(directory, name).await?;
        Ok(FoundName { handle, size, is_directory: kind == FileKind::Directory, kind: kind.name() })
    }

    async fn read_entries(
        &mut self,
        listing: &mut Listing<FileHandle>,
    ) -> Result<(Collected<FileHandle>, bool), OpError> {
        match self.collect(listing, Procedure::ReadDirPlus).await? {
            Some(found) => Ok(found),
            None => Ok(self.collect(listing, Procedure::ReadDir).await?.unwrap_or_default()),
        }
    }
}

impl NfsSession {
    /// Performs READDIRPLUS or READDIR; true for the last page. None if the server does not have READDIRPLUS.
    async fn collect(
        &mut self,
        listing: &mut Listing<FileHandle>,
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
