//! The state of one connection: what it has negotiated, its sessions, and its requests that wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use sharebench_smb::crypto::PreauthHash;
use sharebench_smb::wire::header::{Header, flags};
use sharebench_smb::{NtStatus, NtlmAcceptor};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

use crate::front_ends::admission::Admission;
use crate::front_ends::state_budget::{StateBudget, StateCharge};
use crate::smb::files::open_count::OpenCount;
use crate::smb::session::channel::Channel;
use crate::smb::session::deferred::{DeferredRequest, RequestRunner};
use crate::smb::session::established::Session;
use crate::smb::session::negotiated::Negotiated;
use crate::smb::session::pending::{PendingReply, PendingRequests, ReplyForm};
use crate::smb::smb1::Smb1State;
use crate::smb::state::ServerState;
use crate::smb::status::Outcome;
use crate::smb::transport::client_connections::ClientConnections;
use crate::smb::transport::credits::CreditWindow;
use crate::smb::transport::events::ConnectionEvent;
use crate::smb::transport::workers::{SmbWorkers, WorkerTask};

/// A login between its first and its last message.
pub(crate) struct Login {
    pub(crate) acceptor: NtlmAcceptor,
    pub(crate) hash: PreauthHash,
    /// The session that it adds this connection to, instead of making one.
    pub(crate) binding: Option<Arc<Session>>,
    pub(crate) _charge: StateCharge,
}

/// A session, or a login that has received its challenge.
pub(crate) enum SessionSlot {
    Login(Box<Login>),
    /// With the login that renews it, after its challenge.
    Established(Arc<Channel>, Option<Box<Login>>),
}

/// What a connection and the workers that process its frames share.
///
/// NEGOTIATE sets the parameters once. Frames of one connection may be processed at the same time on several threads; the
/// locks are held for lookups only, never during a call of the volume.
pub(crate) struct Connection {
    pub(crate) server: Arc<ServerState>,
    /// Number that no other connection has.
    pub(crate) number: u64,
    pub(crate) admission: Admission,
    pub(crate) remote: IpAddr,
    pub(crate) local: IpAddr,
    pub(crate) negotiated: OnceLock<Negotiated>,
    /// What a connection of SMB1 has instead.
    pub(crate) smb1: OnceLock<Arc<Smb1State>>,
    /// Hash over the messages of the negotiation (MS-SMB2 3.3.1.7).
    pub(crate) preauth: Mutex<PreauthHash>,
    pub(crate) credits: Mutex<CreditWindow>,
    pub(crate) opens: Arc<AtomicUsize>,
    /// The share of the client in the memory for state. Sessions, and what they open, stay charged to it without the connection.
    pub(crate) budget: StateBudget,
    /// Requests that wait, by their asynchronous id.
    pub(crate) pending_requests: Arc<PendingRequests>,
    pub(crate) events: UnboundedSender<ConnectionEvent>,
    /// Runs requests that have waited, unless there are workers.
    pub(crate) runtime: Handle,
    /// All connections of the client, once it is known.
    pub(crate) client: OnceLock<Arc<ClientConnections>>,
    workers: Option<Arc<SmbWorkers>>,
    sessions: Mutex<HashMap<u64, SessionSlot>>,
}

impl Connection {
    pub(crate) fn new(
        server: Arc<ServerState>,
        admission: Admission,
        remote: IpAddr,
        local: IpAddr,
        events: UnboundedSender<ConnectionEvent>,
        workers: Option<Arc<SmbWorkers>>,
    ) -> Self {
        Self {
            number: server.new_id(),
            budget: server.options.budget.share(),
            server,
            admission,
            remote: remote.to_canonical(),
            local: local.to_canonical(),
            negotiated: OnceLock::new(),
            smb1: OnceLock::new(),
            preauth: Mutex::default(),
            credits: Mutex::new(CreditWindow::new()),
            opens: Arc::default(),
            pending_requests: Arc::default(),
            events,
            runtime: Handle::current(),
            client: OnceLock::new(),
            workers,
            sessions: Mutex::default(),
        }
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, HashMap<u64, SessionSlot>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel of a session on this connection.
    pub(crate) fn channel(&self, id: u64) -> Outcome<Arc<Channel>> {
        match self.sessions().get(&id) {
            Some(SessionSlot::Established(channel, _)) => Ok(Arc::clone(channel)),
            _ => Err(NtStatus::USER_SESSION_DELETED),
        }
    }

    /// A reply that is sent later, under an asynchronous id, to a request of the frame at a position.
    pub(crate) fn pending_reply(
        &self,
        id: u64,
        header: Header,
        channel: Arc<Channel>,
        form: ReplyForm,
        frame: u64,
    ) -> PendingReply {
        let events = self.events.clone();
        let pending_requests = Arc::clone(&self.pending_requests);
        PendingReply { id, header, channel, form, frame, events, pending_requests }
    }

    /// Counts one more open of this many bytes.
    pub(crate) fn count_open(&self, bytes: usize) -> Outcome<OpenCount> {
        let max = self.server.max_opens.load(Ordering::Relaxed);
        OpenCount::new(&self.opens, max, &self.budget, bytes)
    }

    /// Leaves its sessions, and closes everything that a client has open in those without another connection.
    pub(crate) fn close(&self) {
        self.pending_requests.close();
        if let Some(negotiated) = self.negotiated.get() {
            self.server.remove_connection(negotiated.client_guid(), self.number);
        }
        if let Some(smb1) = self.smb1.get() {
            smb1.close(&self.server);
        }
        let slots = std::mem::take(&mut *self.sessions());
        for slot in slots.into_values() {
            if let SessionSlot::Established(channel, _) = slot
                && channel.session.remove_channel(self.number)
            {
                self.server.lose_session(&channel.session);
            }
        }
    }

    /// Closes one session. Its durable opens stay, as on Windows.
    pub(crate) fn log_off(&self, session: &Session) {
        self.sessions().remove(&session.id);
        self.server.lose_session(session);
    }

    /// The number of a message for signatures of SMB1. It is called once for each message, in the order of their arrival.
    pub(crate) fn note_arrival(&self, message: &[u8]) -> Option<u32> {
        self.smb1.get()?.signatures.note_arrival(message)
    }

    /// Answers the request that a CANCEL names, instead of what it waits for. A worker that still processes the request may
    /// make it wait later: the CANCEL is repeated then.
    pub(crate) fn cancel(&self, header: &Header) {
        // A request that has an asynchronous id waits, or has its last reply.
        if !self.cancel_pending(header) && self.workers.is_some() && !header.is(flags::ASYNC) {
            // The connection may be closed; then nobody needs the reply.
            let _ = self.events.send(ConnectionEvent::Cancel(*header));
        }
    }

    /// Answers the request that a CANCEL names, if it waits; false if it does not.
    pub(crate) fn cancel_pending(&self, header: &Header) -> bool {
        let Some((id, what)) = self.pending_requests.take(header) else { return false };
        what.cancel(id);
        true
    }
}

impl RequestRunner for Connection {
    fn resume(self: Arc<Self>, request: DeferredRequest) {
        let connection = Arc::clone(&self);
        if let Some(workers) = &self.workers {
            workers.push(WorkerTask::Resume(Box::new(request), connection));
        } else {
            self.runtime.spawn(async move { connection.answer_deferred(request) });
        }
    }
}
