//! The requests of a frame and their replies: protection, compounds and credits (MS-SMB2 3.3.5.2).

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::frame::PREFIX_LEN;
use sharebench_smb::wire::header::{Header, command, flags};
use sharebench_smb::wire::simple::ErrorResponse;
use sharebench_smb::wire::transform::{self, TransformHeader};
use sharebench_smb::wire::{HEADER_LEN, smb1};

use crate::smb::session::call::{Call, CallResponse, empty};
use crate::smb::session::channel::Channel;
use crate::smb::session::connection::Connection;
use crate::smb::session::deferred::{Chain, DeferredRequest, DeferredRequests};
use crate::smb::session::established::Session;
use crate::smb::session::negotiated::Negotiated;
use crate::smb::session::pending::{PendingReply, ReplyForm};
use crate::smb::status::Outcome;
use crate::smb::transport::events::ConnectionEvent;
use crate::smb::transport::frames::Broken;
use crate::smb::transport::jobs::Arrival;
use crate::smb::transport::replies::Replies;

/// Requests of a compound are rejected once its replies have this many bytes, because each of them may request as much as
/// a single message.
const MAX_COMPOUND_REPLY_BYTES: usize = 2 << 20;
/// Position of `NextCommand` and of the signature in a header.
const NEXT: std::ops::Range<usize> = 20..24;
const SIGNATURE: std::ops::Range<usize> = 48..64;

/// A frame that is being answered.
struct Frame<'a> {
    /// Its position among those that workers process.
    position: u64,
    /// The session whose keys encrypted it.
    sealing: Option<&'a Arc<Session>>,
    /// Position of the first reply.
    start: usize,
    chain: Chain,
    /// The next request is the first one.
    first: bool,
    /// The next request, if it has waited.
    resumed: Option<Resumed>,
    /// Position of the last reply, and who signs it.
    last: Option<(usize, Option<Arc<Channel>>)>,
}

/// A request that has waited.
struct Resumed {
    header: Header,
    /// Its asynchronous id.
    id: u64,
    related: bool,
    chain: Chain,
}

/// What is known of a reply before its body.
pub(crate) struct Reply {
    /// The header of the request, with the session, the tree and the granted credits that the reply has.
    pub(crate) header: Header,
    /// The channel that signs it.
    pub(crate) signer: Option<Arc<Channel>>,
    /// Asynchronous id of a request that has waited.
    asynchronous: Option<u64>,
}

/// A request of a frame after its admission.
struct Admitted {
    header: Header,
    related: bool,
    resumed: Option<u64>,
    has_next: bool,
}

/// The first of the requests of a frame that wait.
struct Deferral {
    deferred: Arc<DeferredRequests>,
    request: DeferredRequest,
    /// It has not waited before.
    first: bool,
}

impl Deferral {
    /// Keeps the requests until they are released.
    fn defer(self) {
        self.deferred.defer(self.request, self.first);
    }
}

/// The result of one request of a frame.
enum RequestStep {
    Answered,
    Deferred(Arc<DeferredRequests>, Reply, bool),
}

impl Connection {
    /// Appends the replies to the requests of a frame, which is decrypted in place.
    pub(crate) fn answer(
        self: &Arc<Self>,
        bytes: &mut [u8],
        arrival: Arrival,
        out: &mut Replies,
    ) -> Result<(), Broken> {
        self.admission.note_request();
        if self.smb1.get().is_some() {
            return self.answer_smb1(bytes, arrival.signature_number, false, out);
        }
        match bytes.first_chunk() {
            Some(&transform::PROTOCOL_ID) => {
                let session = self.unseal(bytes)?;
                let messages = bytes.get_mut(transform::LEN..).unwrap_or_default();
                let deferral = self.answer_messages(messages, Some(&session), arrival.position, None, out)?;
                deferral.into_iter().for_each(Deferral::defer);
            }
            Some(&smb1::PROTOCOL_ID) => self.negotiate_from_smb1(bytes, out)?,
            _ => {
                let deferral = self.answer_messages(bytes, None, arrival.position, None, out)?;
                deferral.into_iter().for_each(Deferral::defer);
            }
        }
        Ok(())
    }

    /// Answers a request that has waited, and those after it in its compound.
    pub(crate) fn answer_deferred(self: &Arc<Self>, mut request: DeferredRequest) {
        let mut out = Replies::default();
        let position = request.pending.frame;
        if let ReplyForm::Smb1(reply) = &request.pending.form {
            let number = reply.number();
            let mut message = std::mem::take(&mut request.messages);
            if self.answer_smb1(&mut message, number, true, &mut out).is_ok() && out.len() > 0 {
                // The connection may be closed; then nobody needs the reply.
                let _ = self.events.send(ConnectionEvent::PendingReply(position, out.to_vec()));
            }
            return;
        }
        let mut messages = std::mem::take(&mut request.messages);
        let PendingReply { header, id, .. } = &request.pending;
        let resumed = Resumed { header: *header, id: *id, related: request.related, chain: request.chain };
        let sealing = request.sealing.as_ref();
        let Ok(deferral) = self.answer_messages(&mut messages, sealing, position, Some(resumed), &mut out)
        else {
            return;
        };
        if out.len() > 0 {
            // The connection may be closed; then nobody needs the reply.
            let _ = self.events.send(ConnectionEvent::PendingReply(position, out.to_vec()));
        }
        // Not before: another worker may answer the rest at once.
        deferral.into_iter().for_each(Deferral::defer);
    }

    /// Appends the replies to the requests of a frame, up to the first one that waits. The caller parks that once the replies
    /// before it precede its own.
    fn answer_messages(
        self: &Arc<Self>,
        messages: &mut [u8],
        sealing: Option<&Arc<Session>>,
        position: u64,
        resumed: Option<Resumed>,
        out: &mut Replies,
    ) -> Result<Option<Deferral>, Broken> {
        let start = out.len();
        out.put_zeros(PREFIX_LEN + if sealing.is_some() { transform::LEN } else { 0 });
        let first = out.len();
        let mut frame = Frame {
            position,
            sealing,
            start: first,
            chain: resumed.as_ref().map(|resumed| resumed.chain).unwrap_or_default(),
            first: true,
            resumed,
            last: None,
        };
        let deferral = self.answer_all(messages, &mut frame, out)?;
        if out.len() == first {
            out.truncate(start);
            return Ok(deferral);
        }
        if let Some(session) = sealing {
            session.seal(out.tail(start + PREFIX_LEN));
        }
        out.finish_frame(start);
        Ok(deferral)
    }

    /// Decrypts a frame in place and returns the session whose keys it was encrypted with.
    fn unseal(&self, frame: &mut [u8]) -> Result<Arc<Session>, Broken> {
        let header = TransformHeader::decode(frame).map_err(|_| Broken)?;
        let channel = self.channel(header.session_id).map_err(|_| Broken)?;
        let (head, messages) = frame.split_first_chunk_mut::<{ transform::LEN }>().ok_or(Broken)?;
        let sealing = channel.session.sealing.as_ref().ok_or(Broken)?;
        if header.original_len as usize != messages.len() || header.flags != 1 {
            return Err(Broken);
        }
        sealing.to_server.open(head, messages).map_err(|_| Broken)?;
        Ok(Arc::clone(&channel.session))
    }

    fn answer_all(
        self: &Arc<Self>,
        messages: &mut [u8],
        frame: &mut Frame<'_>,
        out: &mut Replies,
    ) -> Result<Option<Deferral>, Broken> {
        let mut at = 0;
        loop {
            let rest = messages.get_mut(at..).unwrap_or_default();
            let header = Header::decode(rest).map_err(|_| Broken)?;
            if header.is(flags::RESPONSE) {
                return Err(Broken);
            }
            let next = header.next as usize;
            if next != 0 && (!next.is_multiple_of(8) || next < HEADER_LEN || next >= rest.len()) {
                return Err(Broken);
            }
            let len = if next == 0 { rest.len() } else { next };
            let message = rest.get_mut(..len).unwrap_or_default();
            match self.answer_one(message, header, frame, out)? {
                RequestStep::Answered => {}
                RequestStep::Deferred(deferred, reply, related) => {
                    let rest = messages.get(at..).unwrap_or_default();
                    return Ok(self.deferral(rest, deferred, &reply, related, frame));
                }
            }
            if next == 0 {
                return Ok(None);
            }
            frame.first = false;
            at += next;
        }
    }

    /// Answers one request of a frame.
    fn answer_one(
        self: &Arc<Self>,
        message: &mut [u8],
        header: Header,
        frame: &mut Frame<'_>,
        out: &mut Replies,
    ) -> Result<RequestStep, Broken> {
        let Some(request) = self.admit(header, frame)? else { return Ok(RequestStep::Answered) };
        let at = out.len();
        out.put_zeros(HEADER_LEN);
        let mut reply = Reply { header: request.header, signer: None, asynchronous: request.resumed };
        let mut body = std::mem::take(&mut out.scratch);
        body.clear();
        let answered = match reply.header.command {
            command::NEGOTIATE => self.negotiate(message, &mut body),
            command::SESSION_SETUP => self.log_in(message, &mut reply, &mut body),
            _ => self.answer_call(message, &request, frame, &mut reply, &mut body, &mut *out),
        };
        let status = match answered {
            Ok(CallResponse::Complete(status)) => status,
            Err(status) => {
                out.truncate(at + HEADER_LEN);
                body.clear();
                body.resize(HEADER_LEN, 0);
                ErrorResponse::encode(&mut body);
                status
            }
            Ok(CallResponse::Disconnect) => return Err(Broken),
            Ok(CallResponse::Pending) => {
                out.scratch = body;
                out.truncate(at);
                frame.unlink_last(out);
                return Ok(RequestStep::Answered);
            }
            Ok(CallResponse::Deferred(deferred)) => {
                out.scratch = body;
                out.truncate(at);
                frame.unlink_last(out);
                return Ok(RequestStep::Deferred(deferred, reply, request.related));
            }
        };
        if !body.is_empty() {
            out.put(body.get(HEADER_LEN..).unwrap_or_default());
        }
        out.scratch = body;
        frame.chain.session_id = reply.header.session_id;
        frame.chain.tree_id = reply.header.tree_id;
        reply.finish(status, at, request.related, out, request.has_next, frame.first);
        let signer = reply.signer.take().filter(|_| frame.sealing.is_none());
        if let Some(channel) = &signer {
            channel.sign(out.tail(at));
        }
        if matches!(reply.header.command, command::NEGOTIATE | command::SESSION_SETUP) {
            self.hash_reply(&reply, status, message, out.tail(at));
        }
        frame.last = Some((at, signer));
        Ok(RequestStep::Answered)
    }

    /// Uses the message id of a request and grants its credits. A CANCEL has no reply.
    fn admit(&self, mut header: Header, frame: &mut Frame<'_>) -> Result<Option<Admitted>, Broken> {
        let has_next = header.next != 0;
        if let Some(Resumed { header: known, id, related, .. }) = frame.resumed.take() {
            let header = Header { credits: 0, ..known };
            return Ok(Some(Admitted { header, related, resumed: Some(id), has_next }));
        }
        let related = header.is(flags::RELATED);
        if !related {
            frame.chain.file = None;
            frame.chain.unusable = false;
        } else if frame.first {
            frame.chain.unusable = true;
        } else {
            header.session_id = frame.chain.session_id;
            header.tree_id = frame.chain.tree_id;
        }
        if header.command == command::CANCEL {
            // It repeats the id of the request that it concerns (MS-SMB2 3.2.4.24).
            self.cancel(&header);
            return Ok(None);
        }
        let mut credits = self.credits.lock().unwrap_or_else(PoisonError::into_inner);
        let charge = if header.credit_charge == 0 || !self.charges() { 1 } else { header.credit_charge };
        if !credits.use_ids(header.message_id, charge) {
            return Err(Broken);
        }
        header.credits = credits.grant(header.credits);
        Ok(Some(Admitted { header, related, resumed: None, has_next }))
    }

    /// True if requests may cost several credits.
    fn charges(&self) -> bool {
        self.negotiated.get().is_some_and(Negotiated::multi_credit)
    }

    /// Answers a request that belongs to a session.
    fn answer_call(
        self: &Arc<Self>,
        message: &mut [u8],
        request: &Admitted,
        frame: &mut Frame<'_>,
        reply: &mut Reply,
        body: &mut Vec<u8>,
        out: &mut Replies,
    ) -> Outcome<CallResponse> {
        let header = reply.header;
        if self.negotiated.get().is_none() {
            return Ok(CallResponse::Disconnect);
        }
        if frame.chain.unusable {
            // It follows no request, or one without a session (MS-SMB2 3.3.5.2.7.2).
            return Err(NtStatus::INVALID_PARAMETER);
        }
        if header.command == command::ECHO && header.session_id == 0 && frame.sealing.is_none() {
            body.resize(HEADER_LEN, 0);
            return Ok(empty(body));
        }
        let channel = self.channel(header.session_id).inspect_err(|_| {
            frame.chain.unusable = true;
            self.sign_rejection(reply);
        })?;
        let session = &channel.session;
        match frame.sealing {
            Some(sealing) if sealing.id != session.id => return Ok(CallResponse::Disconnect),
            Some(_) => {}
            None => protect(message, &channel, request.resumed.is_some(), reply)?,
        }
        if session.is_closed() {
            return Err(NtStatus::USER_SESSION_DELETED);
        }
        let opens = matches!(header.command, command::CREATE | command::TREE_CONNECT);
        if opens && session.anonymous.load(Ordering::Relaxed) {
            return Err(NtStatus::ACCESS_DENIED);
        }
        // A request that has waited was accepted before.
        if request.resumed.is_none() && session.expiry.rejects(header.command, || self.server.now()) {
            return Err(NtStatus::NETWORK_SESSION_EXPIRED);
        }
        if out.len() - frame.start > MAX_COMPOUND_REPLY_BYTES {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        let mut call = Call {
            connection: self,
            message,
            header,
            channel: &channel,
            session,
            tree_id: header.tree_id,
            sealed: frame.sealing.is_some(),
            frame: frame.position,
            last: !request.has_next,
            resumed: request.resumed.is_some(),
            file: None,
            previous: if request.related { frame.chain.file } else { None },
        };
        if header.command == command::READ {
            let signed = reply.signer.is_some();
            return call.read(signed, body, out).inspect(|_| frame.chain.file = call.file.map(Ok));
        }
        body.resize(HEADER_LEN, 0);
        let answered = call.dispatch(body);
        reply.header.tree_id = call.tree_id;
        match (call.file, &answered) {
            // It is answered again, or has no file.
            (_, Ok(CallResponse::Deferred(_))) | (None, Ok(_)) => {}
            (Some(file), _) => frame.chain.file = Some(Ok(file)),
            (None, Err(status)) => frame.chain.file = Some(Err(*status)),
        }
        answered
    }

    /// Makes the session sign the rejection of a request over a connection that does not belong to it, so that its client
    /// believes it.
    fn sign_rejection(&self, reply: &mut Reply) {
        if reply.header.is(flags::SIGNED)
            && let Some(session) = self.server.session(reply.header.session_id)
        {
            reply.signer = Some(Channel::of_session(&session));
        }
    }

    /// A request that is deferred, and those after it; none if its session has ended.
    fn deferral(
        self: &Arc<Self>,
        messages: &[u8],
        deferred: Arc<DeferredRequests>,
        reply: &Reply,
        related: bool,
        frame: &Frame<'_>,
    ) -> Option<Deferral> {
        let channel = self.channel(reply.header.session_id).ok()?;
        let id = reply.asynchronous.unwrap_or_else(|| self.server.new_id());
        let form = ReplyForm::Smb2 { sealed: frame.sealing.is_some() };
        let pending = self.pending_reply(id, reply.header, channel, form, frame.position);
        let connection: Arc<Self> = Arc::clone(self);
        let request = DeferredRequest {
            connection,
            messages: messages.to_vec(),
            chain: frame.chain,
            related,
            sealing: frame.sealing.cloned(),
            pending,
        };
        Some(Deferral { deferred, request, first: reply.asynchronous.is_none() })
    }
}

/// Verifies the signature of a message that was not encrypted, and decides whether its reply is signed.
fn protect(message: &mut [u8], channel: &Arc<Channel>, resumed: bool, reply: &mut Reply) -> Outcome<()> {
    let session = &channel.session;
    let signed = reply.header.is(flags::SIGNED);
    // Signed as well if it rejects the request, so that the client knows that the server did.
    if signed || session.requires_signing || session.requires_sealing {
        reply.signer = Some(Arc::clone(channel));
    }
    let protected = match channel.can_sign() {
        // The signature of a request that has waited was verified when it arrived.
        true if signed => resumed || channel.verify(message),
        true => !session.requires_signing,
        false => true,
    };
    if protected && !session.requires_sealing { Ok(()) } else { Err(NtStatus::ACCESS_DENIED) }
}

impl Frame<'_> {
    /// Makes the last reply the end of its frame, because the next one is sent later.
    fn unlink_last(&self, out: &mut Replies) {
        let Some((at, signer)) = &self.last else { return };
        let message = out.tail(*at);
        if let Some(next) = message.get_mut(NEXT) {
            next.fill(0);
        }
        if let Some(channel) = signer {
            if let Some(signature) = message.get_mut(SIGNATURE) {
                signature.fill(0);
            }
            channel.sign(message);
        }
    }
}

impl Reply {
    /// Completes a reply: padding before the next one, and its header. The last one of a compound is padded too, as by Samba.
    fn finish(
        &self,
        status: NtStatus,
        at: usize,
        related: bool,
        out: &mut Replies,
        has_next: bool,
        is_first: bool,
    ) {
        let len = out.len() - at;
        if has_next || !is_first {
            out.put_zeros(len.next_multiple_of(8) - len);
        }
        let related = if related { flags::RELATED } else { 0 };
        let asynchronous = if self.asynchronous.is_some() { flags::ASYNC } else { 0 };
        let header = Header {
            status: status.0,
            flags: flags::RESPONSE | related | asynchronous,
            async_id: self.asynchronous.unwrap_or(0),
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
