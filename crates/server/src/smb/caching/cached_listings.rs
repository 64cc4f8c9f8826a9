//! What is remembered of cached listings: how many there are, and what an open has to do with that of its directory.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::smb::caching::cache_request::LeaseId;

/// Maximum number of leases of one directory, each of which a change breaks by a message.
pub(crate) const MAX_LISTING_LEASES: usize = 1024;

/// The number of directories whose listings clients cache, so that a change looks for none while there are none.
#[derive(Default)]
pub(crate) struct CachedListings(AtomicUsize);

impl CachedListings {
    /// Counts a directory whose first lease was granted, or whose last one was broken or has ended.
    pub(crate) fn note(&self, cached: bool) {
        if cached {
            self.0.fetch_add(1, Ordering::AcqRel);
        } else {
            self.0.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// True if no client caches a listing.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

/// What an open has to do with the listing of its directory.
#[derive(Default)]
pub(crate) struct ParentListing {
    /// The lease of the directory that the client has named.
    pub(crate) lease: Option<LeaseId>,
    /// The file was written over this open, which the listing shows from its close on at the latest.
    pub(crate) written: AtomicBool,
}

impl ParentListing {
    pub(crate) fn new(lease: Option<LeaseId>) -> Self {
        Self { lease, written: AtomicBool::default() }
    }

    /// Records a write. As on Windows, it breaks the leases of the directory when the open is closed, not at once: a
    /// client with a lease sees sizes and times as of the last close.
    #[inline]
    pub(crate) fn note_written(&self) {
        if !self.written.load(Ordering::Relaxed) {
            self.written.store(true, Ordering::Relaxed);
        }
    }
}
