//! The protocol of one connection: the protection of a frame, its requests, and their replies.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use sharebench_smb::NtStatus;
use sharebench_smb::crypto::PreauthHash;
use sharebench_smb::wire::frame::PREFIX_LEN;
use sharebench_smb::wire::header::{Header, command, flags};
use sharebench_smb::wire::simple::{Empty, ErrorResponse};
use sharebench_smb::wire::transform::{self, TransformHeader};
use sharebench_smb::wire::{FileId, HEADER_LEN, smb1};
use tokio::sync::mpsc::UnboundedSender;

use crate::admission::Admission;
use crate::smb::buffers::Replies;
use crate::smb::credits::CreditWindow;
use crate::smb::locks::{PendingReply, WaitingRequests};
use crate::smb::login::Login;
use crate::smb::negotiate::Negotiated;
use crate::smb::open_files::OpenFile;
use crate::smb::serving::{Broken, finish_frame};
use crate::smb::session::{Opened, Session, Tree};
use crate::smb::state::ServerState;
use crate::smb::status::Outcome;
use crate::smb::workers::Delivery;

/// Bytes that one credit pays for (MS-SMB2 3.1.5.2).
const CREDIT_BYTES: u32 = 64 << 10;
/// Requests of a compound are rejected once its replies have this many bytes, because each of them may request as much as
/// a single message.
const MAX_COMPOUND_REPLY_BYTES: usize = 2 << 20;
/// Position of `NextCommand` in a header.
const NEXT: std::ops::Range<usize> = 20..24;

/// A session, or a login that has received its challenge.
pub(super) enum SessionSlot {
    Login(Box<Login>),
    Established(Arc<Session>),
}

/// What a connection and the workers that process its frames share.
///
/// NEGOTIATE sets the parameters once. Frames of one connection may be processed at the same time on several threads; the
/// locks are held for lookups only, never during a call of the volume.
pub(super) struct Connection {
    pub(super) server: Arc<ServerState>,
    pub(super) admission: Admission,
    pub(super) remote: IpAddr,
    pub(super) local: IpAddr,
    pub(super) negotiated: OnceLock<Negotiated>,
    /// Hash over the messages of the negotiation (MS-SMB2 3.3.1.7).
    pub(super) preauth: Mutex<PreauthHash>,
    pub(super) credits: Mutex<CreditWindow>,
    pub(super) opens: Arc<AtomicUsize>,
    /// Requests that wait for a lock, by their asynchronous id.
    pub(super) waiting: Arc<WaitingRequests>,
    pub(super) late: UnboundedSender<Delivery>,
    sessions: Mutex<HashMap<u64, SessionSlot>>,
}

/// What the requests of a compound have in common (MS-SMB2 3.3.5.2.7.2).
#[derive(Debug, Default)]
struct Chain {
    session_id: u64,
    tree_id: u32,
    /// The file of the request before, or why there is none.
    file: Option<Outcome<FileId>>,
    /// Position of the first reply.
    start: usize,
}

/// A request of a session.
pub(super) struct Call<'a> {
    pub(super) connection: &'a Connection,
    pub(super) message: &'a [u8],
    pub(super) header: Header,
    pub(super) session: &'a Arc<Session>,
    pub(super) tree_id: u32,
    /// The frame was encrypted.
    pub(super) sealed: bool,
    /// The request is not a part of a compound, so that its reply may be sent later.
    pub(super) single: bool,
    /// The file of the request, for the next one of its compound.
    pub(super) file: Option<FileId>,
    previous: Option<Outcome<FileId>>,
}

/// How a request was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// With this status, and the encoded body.
    Now(NtStatus),
    /// The reply follows, or there is none.
    Later,
    /// The connection must be closed.
    Never,
}

/// An answer without fields.
pub(super) fn empty(body: &mut Vec<u8>) -> Answer {
    Empty::default().encode(body);
    Answer::Now(NtStatus::SUCCESS)
}

/// A successful answer, whose body is encoded.
pub(super) const DONE: Outcome<Answer> = Ok(Answer::Now(NtStatus::SUCCESS));

impl Call<'_> {
    /// What the request refers to as its file.
    pub(super) fn opened(&mut self, file: FileId) -> Outcome<Opened> {
        let file = self.file_id(file)?;
        self.session.opened(file, self.tree_id)
    }

    /// The identifier of the file, which may be that of the request before.
    pub(super) fn file_id(&mut self, file: FileId) -> Outcome<FileId> {
        let file = match self.previous {
            Some(previous) if file == FileId::PREVIOUS => previous?,
            _ => file,
        };
        self.file = Some(file);
        Ok(file)
    }

    /// An open file or directory.
    pub(super) fn file(&mut self, file: FileId) -> Outcome<Arc<OpenFile>> {
        self.opened(file)?.file()
    }

    /// The share that the request is for.
    pub(super) fn tree(&self) -> Outcome<Tree> {
        self.session.tree(self.tree_id)
    }

    /// Checks that the request has paid for this many bytes (MS-SMB2 3.3.5.2.5).
    pub(super) fn check_charge(&self, bytes: u32) -> Outcome<()> {
        let multi_credit = self.connection.negotiated.get().is_some_and(Negotiated::multi_credit);
        let needed = bytes.saturating_sub(1) / CREDIT_BYTES + 1;
        let paid = if multi_credit { u32::from(self.header.credit_charge.max(1)) } else { 1 };
        if needed > paid { Err(NtStatus::INVALID_PARAMETER) } else { Ok(()) }
    }
}

impl Connection {
    pub(super) fn new(
        server: Arc<ServerState>,
        admission: Admission,
        (remote, local): (IpAddr, IpAddr),
        late: UnboundedSender<Delivery>,
    ) -> Self {
        Self {
            server,
            admission,
            remote: remote.to_canonical(),
            local: local.to_canonical(),
            negotiated: OnceLock::new(),
            preauth: Mutex::default(),
            credits: Mutex::new(CreditWindow::new()),
            opens: Arc::default(),
            waiting: Arc::default(),
            late,
            sessions: Mutex::default(),
        }
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, HashMap<u64, SessionSlot>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, id: u64) -> Outcome<Arc<Session>> {
        match self.sessions().get(&id) {
            Some(SessionSlot::Established(session)) => Ok(Arc::clone(session)),
            _ => Err(NtStatus::USER_SESSION_DELETED),
        }
    }

    /// Closes everything that the client has open.
    pub(super) fn close(&self) {
        let slots = std::mem::take(&mut *self.sessions());
        for slot in slots.into_values() {
            if let SessionSlot::Established(session) = slot {
                self.server.close_session(&session);
            }
        }
    }

    /// Closes one session.
    pub(super) fn log_off(&self, session: &Session) {
        self.sessions().remove(&session.id);
        self.server.close_session(session);
    }

    /// Appends the replies to the requests of a frame, which is decrypted in place.
    pub(super) fn answer(&self, frame: &mut [u8], out: &mut Replies) -> Result<(), Broken> {
        self.admission.note_request();
        let start = out.len();
        let (messages, sealing) = match frame.first_chunk() {
            Some(&transform::PROTOCOL_ID) => {
                let session = self.unseal(frame)?;
                (frame.get_mut(transform::LEN..).unwrap_or_default(), Some(session))
            }
            Some(&smb1::PROTOCOL_ID) => return self.answer_smb1(frame, out),
            _ => (frame, None),
        };
        out.put_zeros(PREFIX_LEN + if sealing.is_some() { transform::LEN } else { 0 });
        let first = out.len();
        self.answer_all(messages, sealing.as_ref(), out)?;
        if out.len() == first {
            out.truncate(start);
            return Ok(());
        }
        if let Some(session) = sealing {
            session.seal(out.tail(start + PREFIX_LEN));
        }
        finish_frame(out.tail(start));
        Ok(())
    }

    /// Decrypts a frame in place and returns the session whose keys it was encrypted with.
    fn unseal(&self, frame: &mut [u8]) -> Result<Arc<Session>, Broken> {
        let header = TransformHeader::decode(frame).map_err(|_| Broken)?;
        let session = self.session(header.session_id).map_err(|_| Broken)?;
        let (head, messages) = frame.split_first_chunk_mut::<{ transform::LEN }>().ok_or(Broken)?;
        let sealing = session.sealing.as_ref().ok_or(Broken)?;
        if header.original_len as usize != messages.len() || header.flags != 1 {
            return Err(Broken);
        }
        sealing.to_server.open(head, messages).map_err(|_| Broken)?;
        Ok(session)
    }

    fn answer_all(
        &self,
        messages: &mut [u8],
        sealing: Option<&Arc<Session>>,
        out: &mut Replies,
    ) -> Result<(), Broken> {
        let mut chain = Chain { start: out.len(), ..Chain::default() };
        let mut rest = messages;
        let mut first = true;
        loop {
            let header = Header::decode(rest).map_err(|_| Broken)?;
            if header.is(flags::RESPONSE) {
                return Err(Broken);
            }
            let next = header.next as usize;
            if next != 0 && (!next.is_multiple_of(8) || next < HEADER_LEN || next >= rest.len()) {
                return Err(Broken);
            }
            let (message, following) = if next == 0 { (rest, &mut [][..]) } else { rest.split_at_mut(next) };
            self.answer_one(message, header, (first, sealing), &mut chain, out)?;
            if next == 0 {
                return Ok(());
            }
            first = false;
            rest = following;
        }
    }

    /// Answers one request of a frame.
    fn answer_one(
        &self,
        message: &mut [u8],
        mut header: Header,
        (first, sealing): (bool, Option<&Arc<Session>>),
        chain: &mut Chain,
        out: &mut Replies,
    ) -> Result<(), Broken> {
        let related = header.is(flags::RELATED) && !first;
        if related {
            header.session_id = chain.session_id;
            header.tree_id = chain.tree_id;
        } else {
            chain.file = None;
        }
        if header.command == command::CANCEL {
            // It repeats the id of the request that it concerns (MS-SMB2 3.2.4.24).
            self.cancel(&header);
            return Ok(());
        }
        {
            let mut credits = self.credits.lock().unwrap_or_else(PoisonError::into_inner);
            let charge = if header.credit_charge == 0 || !self.charges() { 1 } else { header.credit_charge };
            if !credits.use_ids(header.message_id, charge) {
                return Err(Broken);
            }
            header.credits = credits.grant(header.credits);
        }
        let at = out.len();
        out.put_zeros(HEADER_LEN);
        let mut reply = Reply { header, signer: None };
        let mut body = std::mem::take(&mut out.scratch);
        body.clear();
        let answered = match header.command {
            command::NEGOTIATE => self.negotiate(message, &mut body),
            command::SESSION_SETUP => self.log_in(message, &header, &mut reply, &mut body),
            _ => self.answer_call(
                message,
                (first, related, sealing),
                chain,
                &mut reply,
                (&mut body, &mut *out),
            ),
        };
        let answered = match answered {
            Ok(Answer::Never) => return Err(Broken),
            Ok(Answer::Later) => {
                out.scratch = body;
                out.truncate(at);
                return Ok(());
            }
            Ok(Answer::Now(status)) => status,
            Err(status) => {
                out.truncate(at + HEADER_LEN);
                body.clear();
                body.resize(HEADER_LEN, 0);
                ErrorResponse::encode(&mut body);
                status
            }
        };
        if !body.is_empty() {
            out.put(body.get(HEADER_LEN..).unwrap_or_default());
        }
        out.scratch = body;
        chain.session_id = reply.header.session_id;
        chain.tree_id = reply.header.tree_id;
        reply.finish(answered, (at, related), out, header.next != 0);
        match header.command {
            command::NEGOTIATE | command::SESSION_SETUP => {
                self.hash_reply(&reply, answered, (message, &*out.tail(at)));
            }
            _ => {}
        }
        if let Some(session) = &reply.signer
            && sealing.is_none()
        {
            session.sign(out.tail(at));
        }
        Ok(())
    }

    /// True if requests may cost several credits.
    fn charges(&self) -> bool {
        self.negotiated.get().is_some_and(Negotiated::multi_credit)
    }

    /// Answers a request that belongs to a session.
    fn answer_call(
        &self,
        message: &mut [u8],
        (first, related, sealing): (bool, bool, Option<&Arc<Session>>),
        chain: &mut Chain,
        reply: &mut Reply,
        (body, out): (&mut Vec<u8>, &mut Replies),
    ) -> Outcome<Answer> {
        let header = reply.header;
        if self.negotiated.get().is_none() {
            return Ok(Answer::Never);
        }
        if header.command == command::ECHO && header.session_id == 0 && sealing.is_none() {
            body.resize(HEADER_LEN, 0);
            return Ok(empty(body));
        }
        let session = self.session(header.session_id)?;
        if sealing.is_some_and(|sealing| sealing.id != session.id) {
            return Ok(Answer::Never);
        }
        if sealing.is_none() {
            let signed = header.is(flags::SIGNED);
            // Signed as well if it rejects the request, so that the client knows that the server did.
            if signed || session.requires_signing || session.requires_sealing {
                reply.signer = Some(Arc::clone(&session));
            }
            let protected = match &session.signing {
                Some(key) if signed => key.verify(message),
                Some(_) => !session.requires_signing,
                None => true,
            };
            if !protected || session.requires_sealing {
                return Err(NtStatus::ACCESS_DENIED);
            }
        }
        if session.is_closed() {
            return Err(NtStatus::USER_SESSION_DELETED);
        }
        if out.len() - chain.start > MAX_COMPOUND_REPLY_BYTES {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        let mut call = Call {
            connection: self,
            message,
            header,
            session: &session,
            tree_id: header.tree_id,
            sealed: sealing.is_some(),
            single: first && header.next == 0,
            file: None,
            previous: if related { chain.file } else { None },
        };
        if header.command == command::READ {
            return call.read(body, out).inspect(|_| chain.file = call.file.map(Ok));
        }
        body.resize(HEADER_LEN, 0);
        let answered = call.dispatch(body);
        reply.header.tree_id = call.tree_id;
        chain.file = match (call.file, &answered) {
            (Some(file), _) => Some(Ok(file)),
            (None, Err(status)) => Some(Err(*status)),
            (None, Ok(_)) => chain.file,
        };
        answered
    }

    /// Answers requests that wait, instead of what they wait for.
    fn cancel(&self, header: &Header) {
        let found = {
            let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let mut all = waiting.iter();
            let same = |id: u64, message_id: u64| {
                if header.is(flags::ASYNC) { id == header.async_id } else { message_id == header.message_id }
            };
            all.find(|(id, (message_id, _))| same(**id, *message_id))
                .map(|(id, (_, open))| (*id, Arc::clone(open)))
        };
        if let Some((id, open)) = found
            && let Some(pending) = open.file.cancel(id)
        {
            pending.send(NtStatus::CANCELLED);
        }
    }
}

/// What is known of a reply before its body.
pub(super) struct Reply {
    /// The header of the request, with the session, the tree and the granted credits that the reply has.
    pub(super) header: Header,
    /// The session that signs it.
    pub(super) signer: Option<Arc<Session>>,
}

impl Reply {
    /// Completes a reply: padding before the next one, and its header.
    fn finish(&self, status: NtStatus, (at, related): (usize, bool), out: &mut Replies, has_next: bool) {
        let len = out.len() - at;
        if has_next {
            out.put_zeros(len.next_multiple_of(8) - len);
        }
        let header = Header {
            status: status.0,
            flags: flags::RESPONSE | if related { flags::RELATED } else { 0 },
            next: 0,
            signature: [0; 16],
            ..self.header
        };
        let mut encoded = std::mem::take(&mut out.scratch);
        encoded.clear();
        header.encode(&mut encoded);
        let next = if has_next { out.len() - at } else { 0 };
        let message = out.tail(at);
        message[..HEADER_LEN].copy_from_slice(&encoded);
        message[NEXT].copy_from_slice(&(next as u32).to_le_bytes());
        out.scratch = encoded;
    }
}

impl Call<'_> {
    fn dispatch(&mut self, body: &mut Vec<u8>) -> Outcome<Answer> {
        match self.header.command {
            command::LOGOFF => {
                self.connection.log_off(self.session);
                Ok(empty(body))
            }
            command::TREE_CONNECT => self.connect_tree(body),
            command::ECHO => Ok(empty(body)),
            command => {
                self.tree()?;
                match command {
                    command::TREE_DISCONNECT => self.disconnect_tree(body),
                    command::CREATE => self.create(body),
                    command::CLOSE => self.close(body),
                    command::FLUSH => self.flush(body),
                    command::WRITE => self.write(body),
                    command::LOCK => self.lock(body),
                    command::IOCTL => self.control(body),
                    command::QUERY_DIRECTORY => self.query_directory(body),
                    command::QUERY_INFO => self.query_info(body),
                    command::SET_INFO => self.set_info(body),
                    command::CHANGE_NOTIFY => Err(NtStatus::NOT_SUPPORTED),
                    // No break waits for an acknowledgment (MS-SMB2 3.3.5.22.2).
                    command::OPLOCK_BREAK => Err(NtStatus::UNSUCCESSFUL),
                    _ => Err(NtStatus::INVALID_PARAMETER),
                }
            }
        }
    }

    /// A reply that is sent later, to this request.
    pub(super) fn pending(&self) -> PendingReply {
        PendingReply {
            id: self.connection.server.new_id(),
            header: self.header,
            session: Arc::clone(self.session),
            sealed: self.sealed,
            late: self.connection.late.clone(),
            waiting: Arc::clone(&self.connection.waiting),
        }
    }
}
