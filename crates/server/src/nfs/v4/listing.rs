//! READDIR: pages within the client's limits, and cookies that continue a listing (RFC 7530, 16.24).

use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::listing::{ReadDir, put_end};
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer};

use crate::nfs::handle::FileObject;
use crate::nfs::v4::attributes::Described;
use crate::nfs::v4::compound::{Compound, RPC_REPLY_BYTES};
use crate::nfs::v4::errors::{OpResult, of_node};
use crate::{Attributes, DirectoryEntry, NodeId, VolumeSpace};

/// Number of entries requested from the volume at a time.
const BATCH: usize = 256;
/// Largest page, in bytes.
const MAX_PAGE_BYTES: u32 = 1 << 20;
/// End of the list and of the directory.
const END_BYTES: usize = 8;
/// Bytes of a result without entries.
const EMPTY_BYTES: u32 = 8 + END_BYTES as u32;
/// Cookies 0, 1 and 2 have meanings of their own (RFC 7530, 16.24.4), so that those of the volume are shifted.
const FIRST_COOKIE: u64 = 2;

/// A page that is being filled.
struct Page {
    wanted: Bitmap,
    space: VolumeSpace,
    /// Length of the reply at which the page is full.
    limit: usize,
    entries: usize,
}

impl Compound<'_> {
    /// READDIR.
    pub(super) fn list(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = ReadDir::get(call)?;
        let object = self.object()?;
        let verifier = self.v4().cookie_verifier;
        if (1..=FIRST_COOKIE).contains(&args.cookie) {
            return Err(Nfs4Status::BadCookie.into());
        }
        if args.cookie != 0 && args.verifier != verifier {
            return Err(Nfs4Status::NotSame.into());
        }
        if args.max_bytes < EMPTY_BYTES {
            return Err(Nfs4Status::Toosmall.into());
        }
        if args.wanted.contains(48) || args.wanted.contains(54) {
            return Err(Nfs4Status::Inval.into());
        }
        let of_session = self.session.as_ref().map_or(u32::MAX, |session| session.fore.max_response);
        let max =
            args.max_bytes.min(MAX_PAGE_BYTES).min(of_session.saturating_sub(RPC_REPLY_BYTES as u32 + 200));
        let space = self.server.space_for(args.wanted)?;
        let limit = out.len() + (max as usize).saturating_sub(END_BYTES);
        let mut page = Page { wanted: args.wanted, space, limit, entries: 0 };
        out.raw(&verifier);
        let end = match object {
            FileObject::Pseudo(depth) => self.list_pseudo(depth, args.cookie, out, &mut page)?,
            FileObject::Node(node) => {
                // Only a directory has entries; a volume may answer for a link what is true of a file.
                self.directory_change(node).map_err(|status| match status {
                    Nfs4Status::Symlink => Nfs4Status::Notdir,
                    other => other,
                })?;
                self.list_node(node, args.cookie, out, &mut page)?
            }
        };
        if page.entries == 0 && !end {
            return Err(Nfs4Status::Toosmall.into());
        }
        put_end(out, end);
        Ok(())
    }

    fn list_pseudo(
        &self,
        depth: u32,
        cookie: u64,
        out: &mut Writer,
        page: &mut Page,
    ) -> Result<bool, Nfs4Status> {
        let Some((name, object)) = self.v4().pseudo.entry(depth).filter(|_| cookie == 0) else {
            return Ok(true);
        };
        let attributes = self.server.attributes_of(object)?;
        Ok(self.put_entry(out, page, name, FIRST_COOKIE + 1, &attributes, object))
    }

    /// Appends entries until the page is full or the directory ends; true at its end.
    fn list_node(
        &self,
        directory: NodeId,
        cookie: u64,
        out: &mut Writer,
        page: &mut Page,
    ) -> Result<bool, Nfs4Status> {
        let mut cookie = cookie.saturating_sub(FIRST_COOKIE);
        loop {
            let batch = self.volume().list(directory, cookie, BATCH).map_err(of_node)?;
            let Some(last) = batch.last() else { return Ok(true) };
            cookie = last.cookie;
            for DirectoryEntry { name, attributes, cookie } in &batch {
                let object = FileObject::Node(attributes.node);
                let shifted = cookie.saturating_add(FIRST_COOKIE);
                if !self.put_entry(out, page, name, shifted, attributes, object) {
                    return Ok(false);
                }
            }
        }
    }

    /// Appends an entry; false if the page has no room for it.
    fn put_entry(
        &self,
        out: &mut Writer,
        page: &mut Page,
        name: &str,
        cookie: u64,
        attributes: &Attributes,
        object: FileObject,
    ) -> bool {
        let at = out.len();
        out.boolean(true);
        out.u64(cookie);
        out.opaque(name.as_bytes());
        let described = Described { attributes, object, space: page.space };
        self.server.put_wanted(out, self.minor_version, page.wanted, &described);
        if out.len() > page.limit {
            out.truncate(at);
            return false;
        }
        page.entries += 1;
        true
    }
}
