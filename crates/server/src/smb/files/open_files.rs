//! The open files of all clients: share modes, caches and pending removals.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::change_notify::{Action, filter};
use tokio::runtime::Handle;

use crate::smb::caching::cache_request::{CacheRequest, GrantedCache, LeaseId, Owner};
use crate::smb::caching::cache_rights::GrantLimits;
use crate::smb::caching::cached_listings::{CachedListings, MAX_LISTING_LEASES};
use crate::smb::caching::grants::Holder;
use crate::smb::caching::lease_breaks::Contender;
use crate::smb::files::open_entries::OpenEntry;
use crate::smb::files::open_file::{File, OpenFile};
use crate::smb::files::open_streams::OpenStreams;
use crate::smb::names::file_locations::FileLocation;
use crate::smb::names::watches::Watches;
use crate::smb::session::deferred::DeferredRequests;
use crate::smb::session::pending::PendingReply;
use crate::smb::status::Outcome;
use crate::{NodeId, Volume};

/// Maximum number of oplocks and leases of a file: every open examines all of them. Further opens get none.
const MAX_GRANTS: usize = 1024;

/// An open that is about to be added.
pub(crate) struct WantedOpen<'a> {
    pub(crate) node: NodeId,
    pub(crate) location: &'a FileLocation,
    pub(crate) id: FileId,
    /// Access that share modes concern, with what the disposition needs.
    pub(crate) access: u32,
    pub(crate) share: u32,
    pub(crate) overwrites: bool,
    pub(crate) directory: bool,
    pub(crate) cache: &'a CacheRequest,
    pub(crate) holder: Arc<Holder>,
    /// The request has not waited yet.
    pub(crate) first: bool,
}

/// An open that ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeavingOpen {
    pub(crate) id: u64,
    pub(crate) lease: Option<LeaseId>,
    /// The lease of the directory that it has named.
    pub(crate) parent: Option<LeaseId>,
    /// It removes the file.
    pub(crate) deletes: bool,
}

/// The result of adding an open.
pub(crate) enum Opening {
    Opened(Arc<File>, GrantedCache),
    /// Other clients must acknowledge a break first.
    Deferred(Arc<DeferredRequests>),
    /// Opens of clients that have lost their connections must be closed first.
    Lost(Vec<u64>),
}

#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) files: HashMap<NodeId, Arc<File>>,
    /// The streams of each node that are open.
    pub(crate) streams: OpenStreams,
    /// The file of each lease. A lease belongs to one file (MS-SMB2 3.3.5.9.8).
    leases: HashMap<LeaseId, Arc<File>>,
}

/// The table of the nodes that are open.
///
/// A node whose removal is pending stays in the table until its name is removed, so that nobody opens it meanwhile. The
/// table is locked before a file, and neither is locked while the volume is called.
#[derive(Default)]
pub(crate) struct OpenFiles {
    tables: Mutex<Tables>,
    /// Number of open nodes, so that changes over other protocols need not look for them while there are none.
    count: AtomicUsize,
    /// Runs the timers of breaks.
    runtime: OnceLock<Handle>,
    pub(crate) watches: Watches,
    pub(crate) listings: Arc<CachedListings>,
}

impl OpenFiles {
    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what runs the timers of breaks.
    pub(crate) fn run_timers_on(&self, runtime: Handle) {
        // A second call changes nothing.
        let _ = self.runtime.set(runtime);
    }

    /// Adds an open of a node if the share modes and caches of the others allow it (MS-FSA 2.1.5.1.2).
    pub(crate) fn open(&self, wanted: &WantedOpen<'_>, writes: bool) -> Outcome<Opening> {
        let mut tables = self.tables();
        let known = tables.files.get(&wanted.node).cloned();
        let file = known.clone().unwrap_or_else(|| {
            let listings = wanted.directory.then(|| Arc::clone(&self.listings));
            let lock_charge = wanted.holder.session.budget().nothing();
            let runtime = self.runtime.get().cloned();
            Arc::new(File::new(wanted.node, wanted.location, listings, runtime, lock_charge))
        });
        let cache = if wanted.directory { &wanted.cache.of_directory() } else { wanted.cache };
        let lease = cache.lease();
        // Also a directory that is granted none.
        if let Some(of_lease) = wanted.cache.lease().and_then(|id| tables.leases.get(&id))
            && !Arc::ptr_eq(of_lease, &file)
        {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let entry = OpenEntry { id: wanted.id.volatile, access: wanted.access, share: wanted.share };
        let excluded = tables.streams.keep(wanted.node, &entry);
        let mut state = file.state();
        if state.delete_pending {
            return Err(NtStatus::DELETE_PENDING);
        }
        if excluded {
            return Err(NtStatus::SHARING_VIOLATION);
        }
        let violates = state.opens.violated_by(&entry);
        if violates || !entry.is_stat() {
            let contender = Contender {
                request: cache,
                access: wanted.access,
                violates,
                overwrites: wanted.overwrites,
                first: wanted.first,
            };
            let obstacles = state.contend(&file, &contender);
            if !obstacles.lost.is_empty() {
                return Ok(Opening::Lost(obstacles.lost));
            }
            if let Some(deferred) = obstacles.deferred {
                return Ok(Opening::Deferred(deferred));
            }
        }
        if violates {
            return Err(NtStatus::SHARING_VIOLATION);
        }
        state.opens.insert(entry);
        state.locations.add(entry.id, wanted.location);
        let leases = if lease.is_some() && wanted.holder.is_congested() {
            0
        } else if wanted.directory {
            MAX_LISTING_LEASES
        } else {
            MAX_GRANTS
        };
        let limits = GrantLimits { overwritten: wanted.overwrites, writes, leases };
        let granted = state.grant(wanted.id, cache, limits, Arc::clone(&wanted.holder));
        file.note_grants(&mut state);
        drop(state);
        if known.is_none() {
            tables.streams.add(wanted.location, &file);
            tables.files.insert(wanted.node, Arc::clone(&file));
            self.count.store(tables.files.len(), Ordering::Release);
        }
        if let (Some(id), GrantedCache::Lease(_)) = (lease, granted) {
            tables.leases.insert(id, Arc::clone(&file));
        }
        Ok(Opening::Opened(file, granted))
    }

    /// All nodes that are open.
    pub(crate) fn all_open(&self) -> Vec<Arc<File>> {
        self.tables().files.values().cloned().collect()
    }

    /// True if a node is open.
    pub(crate) fn is_open(&self, node: NodeId) -> bool {
        self.tables().files.contains_key(&node)
    }

    /// The open node with this number.
    pub(crate) fn of_node(&self, node: NodeId) -> Option<Arc<File>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.tables().files.get(&node).cloned()
    }

    /// True while a client has a lease.
    pub(crate) fn has_leases(&self) -> bool {
        !self.tables().leases.is_empty()
    }

    /// The file of a lease.
    pub(crate) fn of_lease(&self, id: LeaseId) -> Option<Arc<File>> {
        self.tables().leases.get(&id).cloned()
    }

    /// Closes a file, and removes its name if that was pending and nobody else has it open. Nobody learns of a removal that
    /// fails (MS-SMB2 3.3.4.17), so that requests for it are checked before.
    pub(crate) fn close(&self, open: &OpenFile, volume: &dyn Volume) {
        self.watches.close(open);
        let leaving = LeavingOpen {
            id: open.id.volatile,
            lease: open.lease,
            parent: open.parent.lease,
            deletes: open.delete_on_close.load(Ordering::Relaxed),
        };
        let written_in = self.written_in(open);
        self.leave(&open.file, leaving, volume);
        if let Some(directory) = written_in {
            self.end_listing(directory, open.parent.lease);
        }
    }

    /// Ends an open that has no identifier any longer.
    pub(crate) fn leave(&self, file: &Arc<File>, leaving: LeavingOpen, volume: &dyn Volume) {
        let LeavingOpen { id, lease, parent, deletes } = leaving;
        let has_streams = (deletes || file.state().delete_pending) && self.tables().streams.has(file.node);
        let pending;
        let (removed, replies, released) = {
            let mut state = file.state();
            if deletes && !state.delete_pending {
                state.set_delete_pending(id, true);
                state.deleter = parent;
            }
            state.opens.remove(id);
            state.locations.remove(id);
            if deletes {
                // Clients that only keep the handle must not delay the removal.
                state.break_handles(file, Some(id));
            }
            let released = state.leave_grants(id);
            file.note_grants(&mut state);
            let replies = state.leave_locks(id, &file.locked);
            pending = state.delete_pending;
            // A client knows of a removal that it has requested, and whose last close it has sent.
            let named = parent.filter(|_| parent == state.deleter);
            let removed = (state.opens.is_empty() && pending && !has_streams)
                .then(|| (state.locations.chosen().clone(), named));
            (removed, replies, released)
        };
        answer(replies);
        if let Some((location, named)) = removed {
            self.remove(volume, file.node, &location, named);
        } else if pending {
            self.watches.end_of(file.node, NtStatus::DELETE_PENDING);
        }
        {
            let mut tables = self.tables();
            // A file whose removal waits for its streams stays.
            if !(has_streams && pending) {
                self.forget_unused(&mut tables, file.node);
            }
            if let Some(lease) = lease {
                let owner = Owner::Lease(lease);
                let ended = !file.state().grants.iter().any(|grant| grant.owner == owner);
                if ended && tables.leases.get(&lease).is_some_and(|known| Arc::ptr_eq(known, file)) {
                    tables.leases.remove(&lease);
                }
            }
        }
        if has_streams || file.base().is_some() {
            self.remove_after_streams(file, volume);
        }
        // After the removal of the name, which an open that waits must not find.
        for deferred in released {
            deferred.release();
        }
    }
}

impl OpenFiles {
    /// Forgets a node without opens.
    pub(crate) fn forget_unused(&self, tables: &mut Tables, node: NodeId) {
        if tables.files.get(&node).is_some_and(|known| known.state().opens.is_empty())
            && let Some(file) = tables.files.remove(&node)
        {
            tables.streams.remove(&file);
            self.count.store(tables.files.len(), Ordering::Release);
        }
    }

    /// Removes a name if it still belongs to the node.
    pub(crate) fn remove(
        &self,
        volume: &dyn Volume,
        node: NodeId,
        location: &FileLocation,
        named: Option<LeaseId>,
    ) {
        if let Some((base, stream)) = &location.stream {
            if volume.remove_stream(*base, stream).is_ok() {
                self.note_location(location, Action::RemovedStream, filter::STREAM_NAME, named);
            }
            return;
        }
        let found = volume.lookup(location.directory, &location.name);
        let Some(found) = found.ok().filter(|found| found.node == node) else { return };
        let (removed, kind) = if found.directory {
            (volume.remove_directory(location.directory, &location.name), filter::DIR_NAME)
        } else {
            (volume.remove(location.directory, &location.name), filter::FILE_NAME)
        };
        match removed {
            Ok(()) => self.note_location(location, Action::Removed, kind, named),
            Err(error) => tracing::debug!(%error, name = ?location.name, "SMB removal on close failed"),
        }
    }
}

/// Sends replies to requests that waited for a lock.
pub(crate) fn answer(replies: Vec<(PendingReply, NtStatus)>) {
    for (pending, status) in replies {
        pending.send_status(status);
    }
}

#[cfg(test)]
mod tests {
    use sharebench_smb::crypto::SigningAlgorithm;
    use sharebench_smb::wire::create::{SHARE_ALL, access};
    use sharebench_smb::wire::lease::{HANDLE, LeaseContext, READ};
    use sharebench_smb::wire::oplock;

    use super::*;
    use crate::smb::caching::cache_request::LeaseRequest;
    use crate::smb::files::open_entries::EXAMINED;
    use crate::smb::session::established::{Origin, Session};
    use crate::{MemoryVolume, ROOT, StateBudget};

    /// The other client opens the file by both of its names, with and without a cache.
    #[test]
    fn an_open_and_its_close_examine_no_opens_of_others() {
        let volume = MemoryVolume::new(1 << 20);
        let node = volume.create(ROOT, "first", 0o644).unwrap().node;
        let files = OpenFiles::default();
        let origin = Origin { dialect: 0x0210, signing: SigningAlgorithm::HmacSha256, cipher: None };
        let session = Session::new(1, String::new(), origin, &StateBudget::default()).ok().unwrap();
        let holder = Arc::new(Holder { session: Arc::new(session), client: None, sealed: false, smb1: None });
        let lease = |client: u8| {
            let context = LeaseContext { state: READ | HANDLE, ..LeaseContext::default() };
            CacheRequest::Lease(LeaseRequest { client: [client; 16], context, directories: false })
        };
        let open = |id, name: &str, cache: &CacheRequest| {
            let wanted = WantedOpen {
                node,
                location: &FileLocation {
                    directory: ROOT,
                    name: name.to_owned(),
                    path: name.to_owned(),
                    stream: None,
                },
                id: FileId { persistent: id, volatile: id },
                access: access::READ_DATA,
                share: SHARE_ALL,
                overwrites: false,
                directory: false,
                cache,
                holder: Arc::clone(&holder),
                first: true,
            };
            let Ok(Opening::Opened(file, _)) = files.open(&wanted, true) else {
                panic!("{id} is not opened")
            };
            file
        };
        for id in 0..10_000 {
            open(id, if id == 0 { "first" } else { "link" }, &lease(1));
        }
        let caches = [CacheRequest::Nothing, CacheRequest::Oplock(oplock::LEVEL_II), lease(2)];
        for (name, cache) in ["first", "link"].into_iter().flat_map(|name| caches.map(|cache| (name, cache)))
        {
            EXAMINED.set(0);
            let file = open(20_000, name, &cache);
            let leaving = LeavingOpen { id: 20_000, lease: cache.lease(), parent: None, deletes: false };
            files.leave(&file, leaving, &volume);
            assert_eq!(EXAMINED.get(), 0, "{name}, {cache:?}");
        }
    }
}
