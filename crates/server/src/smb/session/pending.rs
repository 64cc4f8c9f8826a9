//! Pending requests: those that wait, and the replies that are sent to them later (MS-SMB2 3.3.4.2).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::frame::PREFIX_LEN;
use sharebench_smb::wire::header::{Header, flags};
use sharebench_smb::wire::simple::{Empty, ErrorResponse};
use sharebench_smb::wire::transform;
use tokio::sync::mpsc::UnboundedSender;

use crate::front_ends::state_budget::{ENTRY_BYTES, StateCharge};
use crate::smb::files::open_file::OpenFile;
use crate::smb::session::channel::Channel;
use crate::smb::session::deferred::DeferredRequests;
use crate::smb::smb1::Smb1Reply;
use crate::smb::status::Outcome;
use crate::smb::transport::events::ConnectionEvent;
use crate::smb::transport::frames::finish_frame;

/// Maximum number of requests of a connection that wait.
const MAX_PENDING: usize = 512;
/// Maximum number of bytes of the requests of a connection that are kept to be answered again.
const MAX_PENDING_BYTES: usize = 4 << 20;

/// What a request waits for.
pub(crate) enum PendingCause {
    /// A byte range of a file.
    Lock(Arc<OpenFile>),
    /// Changes in a directory.
    Changes(Arc<OpenFile>),
    /// The acknowledgment of breaks, for which the server holds it back.
    Deferred(Arc<DeferredRequests>),
}

impl PendingCause {
    /// Answers the request with `STATUS_CANCELLED`.
    pub(crate) fn cancel(&self, id: u64) {
        match self {
            Self::Lock(open) => {
                if let Some(ended) = open.file.cancel(id) {
                    ended.pending.put(NtStatus::CANCELLED, 0, None);
                }
            }
            Self::Changes(open) => {
                if let Some(pending) = open.watch.get().and_then(|watch| watch.withdraw(id)) {
                    pending.put(NtStatus::CANCELLED, 0, None);
                }
            }
            Self::Deferred(deferred) => {
                if let Some(request) = deferred.withdraw(id) {
                    request.pending.put(NtStatus::CANCELLED, 0, None);
                }
            }
        }
    }
}

#[derive(Default)]
struct Table {
    closed: bool,
    requests: HashMap<u64, PendingRequest>,
    /// Bytes of all of them.
    bytes: usize,
}

struct PendingRequest {
    message_id: u64,
    bytes: usize,
    cause: PendingCause,
    _charge: StateCharge,
}

impl Table {
    fn remove(&mut self, id: u64) -> Option<PendingCause> {
        let removed = self.requests.remove(&id)?;
        self.bytes -= removed.bytes;
        Some(removed.cause)
    }
}

/// The requests of a connection that wait, by their asynchronous id, with their message id.
#[derive(Default)]
pub(crate) struct PendingRequests(Mutex<Table>);

impl PendingRequests {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request, of which this many bytes are kept, up to limits and the budget of the server.
    pub(crate) fn add(&self, pending: &PendingReply, bytes: usize, cause: PendingCause) -> Outcome<()> {
        let mut table = self.table();
        let total = table.bytes + bytes;
        if table.closed || table.requests.len() >= MAX_PENDING || total > MAX_PENDING_BYTES {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        let state = size_of::<PendingRequest>() + size_of::<PendingReply>() + 4 * ENTRY_BYTES + bytes;
        let charge = pending.channel.session.budget().charge(state);
        let charge = charge.ok_or(NtStatus::INSUFFICIENT_RESOURCES)?;
        table.bytes = total;
        let message_id = pending.header.message_id;
        table.requests.insert(pending.id, PendingRequest { message_id, bytes, cause, _charge: charge });
        Ok(())
    }

    /// Removes a request; false if it was not there.
    pub(crate) fn remove(&self, id: u64) -> bool {
        self.table().remove(id).is_some()
    }

    /// Removes the request that a CANCEL refers to, by its asynchronous id or its message id (MS-SMB2 3.3.5.16).
    pub(crate) fn take(&self, header: &Header) -> Option<(u64, PendingCause)> {
        let mut table = self.table();
        let same = |id: u64, message_id: u64| {
            if header.is(flags::ASYNC) { id == header.async_id } else { message_id == header.message_id }
        };
        let mut all = table.requests.iter();
        let id = all.find(|(id, request)| same(**id, request.message_id)).map(|(id, _)| *id)?;
        table.remove(id).map(|cause| (id, cause))
    }

    /// Removes all requests of a connection that has ended, and accepts no more.
    pub(crate) fn close(&self) {
        let requests = {
            let mut table = self.table();
            table.closed = true;
            table.bytes = 0;
            std::mem::take(&mut table.requests)
        };
        for (id, request) in requests {
            request.cause.cancel(id);
        }
    }
}

/// The protocol of a reply.
pub(crate) enum ReplyForm {
    /// SMB2; true if the request was encrypted.
    Smb2 { sealed: bool },
    /// SMB1. Of the SMB2 header, only the message id matters, by which a request is cancelled.
    Smb1(Smb1Reply),
}

/// A reply that is sent once a request need not wait any longer.
pub(crate) struct PendingReply {
    /// Asynchronous id.
    pub(crate) id: u64,
    /// Header of the request, with the granted credits.
    pub(crate) header: Header,
    pub(crate) channel: Arc<Channel>,
    pub(crate) form: ReplyForm,
    /// Position of the frame whose request this is.
    pub(crate) frame: u64,
    pub(crate) events: UnboundedSender<ConnectionEvent>,
    pub(crate) pending_requests: Arc<PendingRequests>,
}

impl PendingReply {
    /// Sends the last reply: a body without its header, or an error.
    pub(crate) fn send(self, status: NtStatus, body: Option<&[u8]>) {
        self.pending_requests.remove(self.id);
        self.put(status, 0, body);
    }

    /// Sends the last reply, which has no fields besides its status.
    pub(crate) fn send_status(self, status: NtStatus) {
        let mut body = Vec::new();
        Empty::default().encode(&mut body);
        let body = (status == NtStatus::SUCCESS).then_some(&body[..]);
        self.send(status, body);
    }

    /// Sends the interim reply, which grants the credits.
    pub(crate) fn send_interim(&self) {
        if matches!(self.form, ReplyForm::Smb1(_)) {
            // SMB1 has none.
            return;
        }
        self.put(NtStatus::PENDING, self.header.credits, None);
    }

    fn put(&self, status: NtStatus, credits: u16, body: Option<&[u8]>) {
        let sealed = match &self.form {
            ReplyForm::Smb2 { sealed } => *sealed,
            ReplyForm::Smb1(reply) => {
                let _ = self.events.send(ConnectionEvent::PendingReply(self.frame, reply.frame(status)));
                return;
            }
        };
        let head = PREFIX_LEN + if sealed { transform::LEN } else { 0 };
        let mut frame = vec![0; head];
        let header = Header {
            status: status.0,
            credits,
            flags: flags::RESPONSE | flags::ASYNC,
            async_id: self.id,
            next: 0,
            signature: [0; 16],
            ..self.header
        };
        header.encode(&mut frame);
        match body {
            Some(body) => frame.extend_from_slice(body),
            None => ErrorResponse::encode(&mut frame),
        }
        if sealed {
            self.channel.session.seal(&mut frame[PREFIX_LEN..]);
        } else if self.header.is(flags::SIGNED) {
            self.channel.sign(&mut frame[PREFIX_LEN..]);
        }
        finish_frame(&mut frame);
        // The connection may be closed; then nobody needs the reply.
        let _ = self.events.send(ConnectionEvent::PendingReply(self.frame, frame));
    }
}
