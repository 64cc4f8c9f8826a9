//! The state that all connections of a server share.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sharebench_nfs::protocol::Procedure;
use sharebench_nfs::rpcsec::GssServer;

use crate::front_ends::admission::{AdmissionLimits, Admissions};
use crate::front_ends::refusal_log::RefusalLog;
use crate::nfs::handle::HandleKey;
use crate::nfs::options::{NfsServerOptions, PROTOCOL};
use crate::nfs::transport::reply_cache::ReplyCache;
use crate::nfs::v4::{LeaseClock, StableStore, V4Server};
use crate::volume::change_reports::VolumeObserver;
use crate::volume::view::VolumeView;
use crate::{NodeId, Volume};

/// Number of locks for directories, which make the attributes before and after a change exact.
const DIRECTORY_LOCKS: usize = 64;
/// Number of exclusive creations that are kept, so that a retransmitted one succeeds.
const MAX_EXCLUSIVES: usize = 1024;

/// Numbers of operations of NFSv4 that are counted: up to CLONE.
pub(super) const OPERATIONS: usize = 72;

/// Counts of a server since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NfsServerCounts {
    /// Connections accepted.
    pub connections: u64,
    /// Calls answered, by the number of their NFS procedure.
    pub calls: [u64; Procedure::ALL.len()],
    /// Operations of COMPOUND calls performed, by their number in NFSv4.
    pub operations: [u64; OPERATIONS],
    /// Bytes of file data read.
    pub bytes_read: u64,
    /// Bytes of file data written.
    pub bytes_written: u64,
    /// Calls that arrived over UDP, repeated ones included.
    pub datagrams: u64,
    /// Repeated calls over UDP that were not performed again.
    pub repeated_calls: u64,
    /// Receive buffers that connections have now. Idle connections have none.
    pub buffers: u64,
}

impl Default for NfsServerCounts {
    fn default() -> Self {
        Counters::default().counts(0)
    }
}

/// The atomic counters of [`NfsServerCounts`].
#[derive(Debug)]
pub(super) struct Counters {
    pub(super) calls: [AtomicU64; Procedure::ALL.len()],
    pub(super) operations: [AtomicU64; OPERATIONS],
    pub(super) bytes_read: AtomicU64,
    pub(super) bytes_written: AtomicU64,
    pub(super) datagrams: AtomicU64,
    pub(super) repeated_calls: AtomicU64,
    /// Every connection has a reference, to count its buffer.
    pub(super) buffers: Arc<AtomicU64>,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            calls: std::array::from_fn(|_| AtomicU64::new(0)),
            operations: std::array::from_fn(|_| AtomicU64::new(0)),
            bytes_read: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            datagrams: AtomicU64::new(0),
            repeated_calls: AtomicU64::new(0),
            buffers: Arc::default(),
        }
    }
}

impl Counters {
    pub(super) fn counts(&self, connections: u64) -> NfsServerCounts {
        NfsServerCounts {
            connections,
            calls: std::array::from_fn(|number| self.calls[number].load(Ordering::Relaxed)),
            operations: std::array::from_fn(|number| self.operations[number].load(Ordering::Relaxed)),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            bytes_written: self.bytes_written.load(Ordering::Relaxed),
            datagrams: self.datagrams.load(Ordering::Relaxed),
            repeated_calls: self.repeated_calls.load(Ordering::Relaxed),
            buffers: self.buffers.load(Ordering::Relaxed),
        }
    }
}

/// A file that an exclusive CREATE created, and its verifier (RFC 1813, 3.3.8).
pub(super) type Exclusive = (NodeId, [u8; 8]);

/// Volume, options and secrets of a server instance, shared by all connections.
///
/// NFSv3 itself has no sessions and no open files; what NFSv4 knows of its clients is in [`V4Server`]. The locks of
/// directories exist because `wcc_data` must describe exactly one change; reads and writes of files take none of them.
pub(super) struct ServerState {
    /// The volume of NFSv3, which reports changes to NFSv4.
    pub(super) volume: Arc<dyn Volume>,
    pub(super) v4: V4Server,
    pub(super) options: NfsServerOptions,
    pub(super) handles: HandleKey,
    /// With keys, every call of NFS needs a security context.
    pub(super) gss: Option<GssServer>,
    /// Write verifier, which differs between server starts because unstable writes may be lost (RFC 1813, 3.3.7).
    pub(super) write_verifier: [u8; 8],
    pub(super) counters: Counters,
    pub(super) admissions: Arc<Admissions>,
    /// Replies to calls over UDP.
    pub(super) replies: ReplyCache,
    exclusives: Mutex<VecDeque<Exclusive>>,
    directories: [Mutex<()>; DIRECTORY_LOCKS],
}

impl ServerState {
    /// A server of `volume`. The state file has been read.
    pub(super) fn new(
        volume: &Arc<dyn Volume>,
        options: NfsServerOptions,
        clock: LeaseClock,
        stable: Option<(StableStore, BTreeSet<Box<[u8]>>)>,
    ) -> Self {
        let limits = AdmissionLimits {
            connections: options.max_connections,
            establish: options.first_call_timeout,
            idle: options.idle_timeout,
        };
        let limit = format!("{} connections, twice --max-clients", options.max_connections);
        let refusals = RefusalLog::new(PROTOCOL, limit, options.log.clone());
        let admissions = Admissions::new(limits, Arc::new(refusals));
        let secret = stable.as_ref().map(|(store, _)| store.secret());
        let handles = secret.map_or_else(HandleKey::new, |secret| HandleKey::kept(secret, volume));
        let v4 = V4Server::new(Arc::clone(volume), &options, &handles, clock, stable);
        let reporting = VolumeView::new(volume, true, vec![options.changes.clone()]);
        Self {
            volume: Arc::new(reporting),
            v4,
            gss: options.keys.clone().map(GssServer::new),
            options,
            handles,
            write_verifier: RandomState::new().hash_one("verifier").to_be_bytes(),
            counters: Counters::default(),
            admissions,
            replies: ReplyCache::default(),
            exclusives: Mutex::default(),
            directories: std::array::from_fn(|_| Mutex::new(())),
        }
    }

    /// Locks a directory against changes of its names through this server.
    pub(super) fn lock(&self, directory: NodeId) -> MutexGuard<'_, ()> {
        let index = directory.0 as usize % DIRECTORY_LOCKS;
        self.directories[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks two directories, in an order that cannot deadlock.
    pub(super) fn lock_both(
        &self,
        one: NodeId,
        two: NodeId,
    ) -> (MutexGuard<'_, ()>, Option<MutexGuard<'_, ()>>) {
        let one = one.0 as usize % DIRECTORY_LOCKS;
        let two = two.0 as usize % DIRECTORY_LOCKS;
        // Always the lower index first, so that two renames in opposite directions cannot wait for each other.
        let first = self.lock(NodeId(one.min(two) as u64));
        let second = (one != two).then(|| self.lock(NodeId(one.max(two) as u64)));
        (first, second)
    }

    fn exclusives(&self) -> MutexGuard<'_, VecDeque<Exclusive>> {
        self.exclusives.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn record_exclusive(&self, exclusive: Exclusive) {
        let mut exclusives = self.exclusives();
        if exclusives.len() >= MAX_EXCLUSIVES {
            exclusives.pop_front();
        }
        exclusives.push_back(exclusive);
    }

    pub(super) fn knows_exclusive(&self, exclusive: Exclusive) -> bool {
        self.exclusives().contains(&exclusive)
    }
}

impl VolumeObserver for ServerState {
    fn node_changed(&self, node: NodeId) {
        self.v4.changed_elsewhere(&self.handles, node);
    }

    /// Directories are not delegated.
    fn names_changed(&self, _directory: NodeId) {}
}
