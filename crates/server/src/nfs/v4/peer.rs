//! One TCP connection as NFSv4 sees it: the sessions that it serves, and the way back to the client.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sharebench_nfs::v4::session::SessionId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::nfs::v4::state::session::Session;

/// A connection of a client.
///
/// The server sends callbacks through it. Each session has one callback in flight, so that their number is bounded by
/// that of the sessions.
#[derive(Debug)]
pub(in crate::nfs) struct Peer {
    callbacks: UnboundedSender<Vec<u8>>,
    /// Sessions whose calls it carries, the last one first.
    sessions: Mutex<Vec<Arc<Session>>>,
    closed: AtomicBool,
}

/// Where a connection receives the callbacks that it has to send, as complete records.
pub(in crate::nfs) type Callbacks = UnboundedReceiver<Vec<u8>>;

/// Sessions that a connection remembers; more are looked up at each call.
const MAX_SESSIONS: usize = 16;

impl Peer {
    /// A new connection.
    pub(in crate::nfs) fn new() -> (Arc<Self>, Callbacks) {
        let (callbacks, outgoing) = unbounded_channel();
        let peer = Self { callbacks, sessions: Mutex::default(), closed: AtomicBool::new(false) };
        (Arc::new(peer), outgoing)
    }

    fn sessions(&self) -> MutexGuard<'_, Vec<Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session that the connection serves.
    #[inline]
    pub(super) fn session(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.sessions().iter().find(|session| session.id == *id && !session.is_dead()).cloned()
    }

    /// Notes that the connection serves a session.
    pub(super) fn remember(&self, session: &Arc<Session>) {
        let mut sessions = self.sessions();
        sessions.retain(|known| !known.is_dead() && known.id != session.id);
        sessions.truncate(MAX_SESSIONS - 1);
        sessions.insert(0, Arc::clone(session));
    }

    /// Forgets a session that was destroyed.
    pub(super) fn forget(&self, id: &SessionId) {
        self.sessions().retain(|session| session.id != *id);
    }

    /// The session whose callback has this number.
    pub(super) fn session_of_callback(&self, xid: u32) -> Option<Arc<Session>> {
        self.sessions().iter().find(|session| session.awaits(xid)).cloned()
    }

    /// Sends a record; false if the connection is closed.
    pub(super) fn send(&self, record: Vec<u8>) -> bool {
        !self.closed.load(Ordering::Relaxed) && self.callbacks.send(record).is_ok()
    }

    /// True after [`Self::close`].
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Ends the use of the connection.
    pub(in crate::nfs) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        let sessions = std::mem::take(&mut *self.sessions());
        for session in sessions {
            session.connection_closed();
        }
    }
}
