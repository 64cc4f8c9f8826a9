//! An open file, and what the opens of a node have in common.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Instant, SystemTime};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::create::access;
use tokio::runtime::Handle;

use crate::front_ends::state_budget::{ENTRY_BYTES, StateCharge};
use crate::smb::caching::cache_request::LeaseId;
use crate::smb::caching::cached_listings::{CachedListings, ParentListing};
use crate::smb::caching::grants::Grant;
use crate::smb::files::byte_locks::Lock;
use crate::smb::files::content_changes::ContentChanges;
use crate::smb::files::durability::Durability;
use crate::smb::files::lock_sequences::LockSequences;
use crate::smb::files::open_count::OpenCount;
use crate::smb::files::open_entries::{OpenEntries, OpenEntry};
use crate::smb::files::write_times::ShownWriteTime;
use crate::smb::names::file_locations::{FileLocation, FileLocations};
use crate::smb::names::listing_state::ListingState;
use crate::smb::names::watches::Watch;
use crate::smb::session::pending::PendingReply;
use crate::smb::status::Outcome;
use crate::{Attributes, NodeId, SetAttributes, Volume, VolumeResult};

/// An open file or directory of a client (MS-SMB2 3.3.1.10).
pub(crate) struct OpenFile {
    pub(crate) id: FileId,
    pub(crate) node: NodeId,
    /// The node that has the stream, if the open is one.
    pub(crate) base: Option<NodeId>,
    pub(crate) directory: bool,
    /// Granted access.
    pub(crate) access: u32,
    /// Every write is on stable storage before its reply.
    pub(crate) write_through: bool,
    pub(crate) options: u32,
    /// The lease that the open belongs to.
    pub(crate) lease: Option<LeaseId>,
    pub(crate) parent: ParentListing,
    /// Bytes that the client has reserved.
    pub(crate) allocation: u64,
    /// What happens to the open when its client loses its connection.
    pub(crate) durable: Option<Durability>,
    /// Time for which the client has requested that nothing ends the open after a loss, in milliseconds; 0 for none.
    pub(crate) resilience: AtomicU64,
    /// Shared with the other opens of the node.
    pub(crate) file: Arc<File>,
    pub(crate) delete_on_close: AtomicBool,
    /// The numbers of its lock requests, by index (MS-SMB2 3.3.1.10: `LockSequenceArray`).
    pub(crate) lock_sequences: LockSequences,
    /// `FilePositionInformation`, which only stores what a client sets.
    pub(crate) position: AtomicU64,
    pub(crate) listing: Mutex<ListingState>,
    /// The watch of a directory, after the first request for it.
    pub(crate) watch: OnceLock<Arc<Watch>>,
    /// Counts the open at its connection.
    pub(crate) count: Mutex<OpenCount>,
    /// Changes that are in progress.
    pub(crate) changes: ContentChanges,
}

impl OpenFile {
    /// The place of the name by which it was opened.
    pub(crate) fn location(&self) -> FileLocation {
        self.file.state().locations.of_open(self.id.volatile).clone()
    }

    /// The node that has times, owner and mode.
    pub(crate) fn described_node(&self) -> NodeId {
        self.base.unwrap_or(self.node)
    }

    /// Attributes of the open: of a stream, the sizes are its own and everything else that of its file.
    pub(crate) fn attributes(&self, volume: &dyn Volume) -> VolumeResult<Attributes> {
        let own = volume.attributes(self.node)?;
        let Some(base) = self.base else { return Ok(self.file.as_shown(own)) };
        let base = volume.attributes(base)?;
        Ok(self.file.as_shown(Attributes {
            size: own.size,
            allocated: own.allocated,
            directory: false,
            ..base
        }))
    }

    /// Prepares the time of a write for a server that reports it late.
    pub(crate) fn begin_write(&self, volume: &dyn Volume) -> VolumeResult<()> {
        let modified = || volume.attributes(self.described_node()).map(|found| found.modified);
        self.file.write_time.begin_write(Instant::now(), modified)
    }

    /// Reports the writes of an open that is being closed. Those that were held back have the time of the close.
    pub(crate) fn end_writes(&self, volume: &dyn Volume) {
        let writes = self.access & (access::WRITE_DATA | access::APPEND_DATA) != 0;
        if writes && self.file.write_time.release() {
            let change = SetAttributes { modified: Some(SystemTime::now()), ..SetAttributes::default() };
            if let Err(error) = volume.set_attributes(self.described_node(), &change) {
                tracing::debug!(%error, "the time of the last write stays that of the write");
            }
        }
    }

    /// Bytes of an open with what belongs to it alone: its grant, and a file that nobody else has open. `name` is that of the request.
    pub(crate) fn bytes(name: &str) -> usize {
        let entries = size_of::<OpenEntry>() + size_of::<Grant>() + 6 * ENTRY_BYTES;
        size_of::<Self>() + size_of::<File>() + entries + 3 * name.len()
    }

    /// True if the close removes the file.
    pub(crate) fn deletes(&self) -> bool {
        self.delete_on_close.load(Ordering::Relaxed)
    }

    /// Checks that one of these rights was granted.
    pub(crate) fn require(&self, any_of: u32) -> Outcome<()> {
        if self.access & any_of == 0 { Err(NtStatus::ACCESS_DENIED) } else { Ok(()) }
    }
}

/// A node that is open at least once.
pub(crate) struct File {
    pub(crate) node: NodeId,
    /// True while there are byte-range locks, so that READ and WRITE of other files need not look for them.
    pub(crate) locked: AtomicBool,
    /// True while clients may cache what they read, so that WRITE of other files need not look for them.
    pub(crate) cached: AtomicBool,
    /// Counts the directory while clients cache its listing; none for a file.
    pub(crate) listings: Option<Arc<CachedListings>>,
    /// Runs the timers of breaks.
    pub(crate) runtime: Option<Handle>,
    breaks: AtomicU64,
    pub(crate) write_time: ShownWriteTime,
    state: Mutex<FileState>,
}

/// What the opens of a node have in common.
pub(crate) struct FileState {
    /// The one that is chosen is that whose removal is pending.
    pub(crate) locations: FileLocations,
    pub(crate) opens: OpenEntries,
    pub(crate) delete_pending: bool,
    /// The lease of the directory that the open which requested the removal has named.
    pub(crate) deleter: Option<LeaseId>,
    pub(crate) locks: Vec<Lock>,
    pub(crate) pending_locks: Vec<PendingLock>,
    pub(crate) grants: Vec<Grant>,
    /// That of the locks.
    pub(crate) lock_charge: StateCharge,
}

impl FileState {
    /// Requests the removal of the name of an open, or withdraws the request.
    pub(crate) fn set_delete_pending(&mut self, open: u64, pending: bool) {
        self.delete_pending = pending;
        if pending {
            self.locations.choose(open);
        }
    }
}

impl File {
    pub(crate) fn new(
        node: NodeId,
        location: &FileLocation,
        listings: Option<Arc<CachedListings>>,
        runtime: Option<Handle>,
        lock_charge: StateCharge,
    ) -> Self {
        let state = FileState {
            locations: FileLocations::new(location),
            opens: OpenEntries::default(),
            delete_pending: false,
            deleter: None,
            locks: Vec::new(),
            pending_locks: Vec::new(),
            grants: Vec::new(),
            lock_charge,
        };
        Self {
            node,
            locked: AtomicBool::default(),
            cached: AtomicBool::default(),
            listings,
            runtime,
            breaks: AtomicU64::default(),
            write_time: ShownWriteTime::default(),
            state: Mutex::new(state),
        }
    }

    /// The node that has the stream, if the file is one.
    pub(crate) fn base(&self) -> Option<NodeId> {
        self.state().locations.chosen().stream.as_ref().map(|(base, _)| *base)
    }

    /// The place whose removal is pending, if the file is open no longer.
    pub(crate) fn unused_location(&self) -> Option<FileLocation> {
        let state = self.state();
        (state.opens.is_empty() && state.delete_pending).then(|| state.locations.chosen().clone())
    }

    /// True for a directory.
    pub(crate) fn is_directory(&self) -> bool {
        self.listings.is_some()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, FileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attributes of the volume with the time of the last write that clients see.
    pub(crate) fn as_shown(&self, mut attributes: Attributes) -> Attributes {
        attributes.modified = self.write_time.shown(Instant::now(), attributes.modified);
        attributes
    }

    /// Ends what the client of an open may cache. Requests that wait for it continue.
    pub(crate) fn end_grants(&self, open: u64) {
        let released = {
            let mut state = self.state();
            let released = state.leave_grants(open);
            self.note_grants(&mut state);
            released
        };
        for deferred in released {
            deferred.release();
        }
    }

    /// A number for a break.
    pub(crate) fn next_break(&self) -> u64 {
        self.breaks.fetch_add(1, Ordering::Relaxed)
    }
}

/// A request that waits for the next of its ranges. It holds those before it, so that no later request overtakes it there.
pub(crate) struct PendingLock {
    pub(crate) wanted: Vec<Lock>,
    /// How many of the ranges it holds.
    pub(crate) held: usize,
    /// With SMB1: its offsets have 64 bits, which a cancellation of its ranges states as well (MS-CIFS 2.2.4.32.1).
    pub(crate) large: bool,
    pub(crate) pending: PendingReply,
}

impl PendingLock {
    /// The first byte of the range that it waits for.
    pub(crate) fn offset(&self) -> u64 {
        self.wanted.get(self.held).map_or(0, |lock| lock.offset)
    }

    pub(crate) fn is_of(&self, open: u64) -> bool {
        self.wanted.first().is_some_and(|lock| lock.owner.open == open)
    }
}
