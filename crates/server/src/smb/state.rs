//! The state that all connections of a server share.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use sharebench_smb::wire::FileId;
use tokio::sync::mpsc::UnboundedSender;

use crate::front_ends::admission::{AdmissionLimits, Admissions};
use crate::front_ends::login_throttle::LoginThrottle;
use crate::front_ends::refusal_log::RefusalLog;
use crate::smb::files::lost_opens::LostOpens;
use crate::smb::files::open_files::OpenFiles;
use crate::smb::options::{PROTOCOL, SmbServerOptions};
use crate::smb::session::established::Session;
use crate::smb::session::expiry::NEVER;
use crate::smb::transport::client_connections::ClientConnections;
use crate::smb::transport::events::ConnectionEvent;
use crate::volume::change_reports::VolumeObserver;
use crate::{NodeId, Volume};

/// Volume, options, open files and sessions of a server.
pub(super) struct ServerState {
    pub(super) volume: Arc<dyn Volume>,
    pub(super) options: SmbServerOptions,
    /// Identity of this instance of the server.
    pub(super) guid: [u8; 16],
    pub(super) admissions: Arc<Admissions>,
    pub(super) throttle: LoginThrottle,
    pub(super) files: OpenFiles,
    pub(super) lost: LostOpens,
    /// Maximum number of open files per connection.
    pub(super) max_opens: AtomicUsize,
    /// Requests after which a session expires, for tests; [`NEVER`] otherwise.
    pub(super) requests_per_login: AtomicU64,
    /// The sessions of all connections, so that a client that has lost its connection can close the session of it.
    sessions: Mutex<HashMap<u64, Weak<Session>>>,
    /// The connections of each client.
    clients: Mutex<HashMap<[u8; 16], Arc<ClientConnections>>>,
    next_id: AtomicU64,
    next_session: AtomicU32,
    start: Instant,
}

impl ServerState {
    pub(super) fn new(volume: Arc<dyn Volume>, options: SmbServerOptions) -> Self {
        let limits = AdmissionLimits {
            connections: options.max_connections,
            establish: options.login_timeout,
            idle: options.idle_timeout,
        };
        let limit = format!("{} clients, --max-clients", options.max_connections);
        let refusals = RefusalLog::new(PROTOCOL, limit, options.log.clone());
        let random = RandomState::new();
        let mut guid = [0; 16];
        guid[..8].copy_from_slice(&random.hash_one("low").to_le_bytes());
        guid[8..].copy_from_slice(&random.hash_one("high").to_le_bytes());
        Self {
            volume,
            guid,
            admissions: Admissions::new(limits, Arc::new(refusals)),
            throttle: LoginThrottle::default(),
            files: OpenFiles::default(),
            lost: LostOpens::default(),
            max_opens: AtomicUsize::new(options.max_opens),
            requests_per_login: AtomicU64::new(NEVER),
            sessions: Mutex::default(),
            clients: Mutex::default(),
            // Identifiers of two instances differ, so that a client cannot use one after a restart of the server.
            next_id: AtomicU64::new(random.hash_one("id") >> 16 | 1),
            next_session: AtomicU32::new((random.hash_one("session") >> 34) as u32 | 1),
            start: Instant::now(),
            options,
        }
    }

    /// Time since the start of the server.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// A number that no other session, open file or waiting request has.
    pub(super) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The identifier of a new session. It has 32 bits, because some clients truncate it.
    pub(super) fn new_session_id(&self) -> u64 {
        loop {
            let id = u64::from(self.next_session.fetch_add(1, Ordering::Relaxed));
            if id != 0 && !self.sessions().contains_key(&id) {
                return id;
            }
        }
    }

    /// The identifier of a new open file.
    pub(super) fn new_file_id(&self) -> FileId {
        let id = self.new_id();
        FileId { persistent: id, volatile: id }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<u64, Weak<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a session, and returns the one of the same account that it replaces (MS-SMB2 3.3.5.5.3).
    pub(super) fn add_session(&self, session: &Arc<Session>, previous: u64) -> Option<Arc<Session>> {
        let mut sessions = self.sessions();
        sessions.insert(session.id, Arc::downgrade(session));
        let replaced = sessions.get(&previous).filter(|_| previous != session.id).and_then(Weak::upgrade)?;
        (replaced.account == session.account && !session.account.is_empty()).then_some(replaced)
    }

    /// Adds a connection of a client.
    pub(super) fn add_connection(
        &self,
        client: [u8; 16],
        number: u64,
        events: &UnboundedSender<ConnectionEvent>,
    ) -> Arc<ClientConnections> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = clients.entry(client).or_default();
        connections.add(number, events.clone(), usize::MAX);
        Arc::clone(connections)
    }

    /// Removes a connection of a client.
    pub(super) fn remove_connection(&self, client: [u8; 16], number: u64) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.get(&client).is_some_and(|connections| connections.remove(number)) {
            clients.remove(&client);
        }
    }

    /// The session with this identifier, of any connection.
    pub(super) fn session(&self, id: u64) -> Option<Arc<Session>> {
        self.sessions().get(&id).and_then(Weak::upgrade)
    }

    /// Closes a session that has lost its connections. Durable opens stay.
    pub(super) fn lose_session(self: &Arc<Self>, session: &Session) {
        self.sessions().remove(&session.id);
        for open in session.close() {
            self.lose_open(session, &open);
        }
    }
}

impl VolumeObserver for ServerState {
    fn node_changed(&self, node: NodeId) {
        if let Some(file) = self.files.of_node(node) {
            file.end_read_caches(|_| false);
        }
        self.files.end_listings_of(node, self.volume.as_ref());
    }

    fn names_changed(&self, directory: NodeId) {
        self.files.watches.note_external(directory);
        self.files.end_listing(directory, None);
    }
}
