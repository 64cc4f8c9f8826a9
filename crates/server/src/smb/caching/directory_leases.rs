//! Leases of directories: which changes end what clients cache of a listing (MS-SMB2 3.3.1.4, 3.3.4.7).
//!
//! A change of the names in a directory, or of what its listing shows of a file, breaks the leases of the directory to nothing. It
//! does not wait for the acknowledgments: the clients learn of the change before or with the reply to the request that made it.
//! A client may name the lease of the directory in the lease of a file that it opens there (`ParentLeaseKey`): it knows of its own
//! changes over this open, which leave its lease of the directory as it is.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::change_notify::{Action, filter};
use sharebench_smb::wire::create::access;

use crate::smb::caching::cache_request::{LeaseId, Owner};
use crate::smb::caching::lease_breaks::Obstacles;
use crate::smb::files::open_file::{File, FileState, OpenFile};
use crate::smb::files::open_files::OpenFiles;
use crate::smb::names::file_locations::FileLocation;
use crate::smb::status::Outcome;
use crate::volume::name::fold_case;
use crate::{ListedIn, NodeId, Volume};

impl File {
    /// Ends what clients cache of the listing of this directory, except under the lease that the client of the change has
    /// named.
    fn end_listing(self: &Arc<Self>, named: Option<LeaseId>) {
        self.end_read_caches(|grant| named.is_some_and(|id| grant.owner == Owner::Lease(id)));
    }
}

impl OpenFile {
    /// Reports a change of the file to those who watch its directory or cache its listing, after the change and before its reply.
    pub(crate) fn note_change(&self, files: &OpenFiles, changed: u32) {
        if !files.watches.is_empty() || !files.listings.is_empty() {
            let location = self.location();
            files.note_location(&location, Action::Modified, changed, self.parent.lease);
        }
    }

    /// Reports that content was written.
    #[inline]
    pub(crate) fn note_written(&self, files: &OpenFiles) {
        self.parent.note_written();
        if !files.watches.is_empty() {
            let location = self.location();
            files.watches.note_location(&location, Action::Modified, filter::LAST_WRITE | filter::SIZE);
        }
    }
}

impl OpenFiles {
    /// Reports a change at a place to those who watch its directory, and ends the listings of it that clients cache. `named` is
    /// the lease of the directory that the open of the change has named.
    pub(crate) fn note_location(
        &self,
        location: &FileLocation,
        action: Action,
        kind: u32,
        named: Option<LeaseId>,
    ) {
        self.watches.note_location(location, action, kind);
        self.end_listing(location.directory, named);
    }

    /// Ends the listings of a directory that clients cache.
    pub(crate) fn end_listing(&self, directory: NodeId, named: Option<LeaseId>) {
        if !self.listings.is_empty()
            && let Some(file) = self.of_node(directory)
        {
            file.end_listing(named);
        }
    }

    /// The directory whose listings show what was written over an open that is being closed, if clients cache any.
    pub(crate) fn written_in(&self, open: &OpenFile) -> Option<NodeId> {
        let written = !self.listings.is_empty() && open.parent.written.load(Ordering::Relaxed);
        written.then(|| open.location().directory)
    }

    /// Ends the listings that show a node, which another protocol has changed. A directory may have been moved with all that
    /// clients cache below it, under paths that no longer lead there.
    pub(crate) fn end_listings_of(&self, node: NodeId, volume: &dyn Volume) {
        if self.listings.is_empty() {
            return;
        }
        let directory = volume.attributes(node).is_ok_and(|found| found.directory);
        match volume.listed_in(node) {
            ListedIn::Nowhere => {}
            ListedIn::Directory(parent) if !directory => self.end_listing(parent, None),
            ListedIn::Directory(_) | ListedIn::Unknown => {
                for file in self.all_open() {
                    if file.is_directory() {
                        file.end_listing(None);
                    }
                }
            }
        }
    }
}

impl FileState {
    /// True if the client of an open caches its handle, so that a break may end the open.
    fn is_kept(&self, open: u64) -> bool {
        self.grants.iter().any(|grant| grant.has(open) && grant.keeps_handle())
    }
}

impl OpenFiles {
    /// Sends the breaks that the rename of a directory needs of clients that keep handles below it, one file after the other as
    /// Windows does (MS-FSA 2.1.5.15.11).
    ///
    /// # Errors
    /// `STATUS_ACCESS_DENIED` if something below is open, and not only because its client caches the handle.
    pub(crate) fn break_below(&self, directory: &str) -> Outcome<Obstacles> {
        let above = format!("{}\\", fold_case(directory));
        let mut kept = None;
        for file in self.all_open() {
            let state = file.state();
            let is_below = |location: &FileLocation| fold_case(&location.path).starts_with(&above);
            if state.opens.is_empty() || !state.locations.all().any(is_below) {
                continue;
            }
            if !state.opens.iter().all(|open| state.is_kept(open.id)) {
                return Err(NtStatus::ACCESS_DENIED);
            }
            drop(state);
            kept = Some(file);
        }
        Ok(kept.map(|file| file.state().break_handles(&file, None)).unwrap_or_default())
    }

    /// The directory, if clients cache handles with which it was opened to be removed or renamed, so that its names must stay
    /// (MS-FSA 2.1.5.15.11).
    ///
    /// # Errors
    /// `STATUS_SHARING_VIOLATION` if it is open for this purpose, and not only because a client caches the handle.
    pub(crate) fn held_for_removal(&self, directory: NodeId) -> Outcome<Option<Arc<File>>> {
        let Some(file) = self.of_node(directory) else { return Ok(None) };
        let held = {
            let state = file.state();
            let mut holders = state.opens.iter().filter(|open| open.access & access::DELETE != 0).peekable();
            let held = holders.peek().is_some();
            if !holders.all(|open| state.is_kept(open.id)) {
                return Err(NtStatus::SHARING_VIOLATION);
            }
            held
        };
        Ok(held.then_some(file))
    }
}
