//! One TCP connection with many requests in flight.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use sharebench_client_core::{Arrivals, SendQueue, connection_error, tcp_reading};
use sharebench_model::{ErrorClass, OpError, OpStep, PolicyCount, TcpReading, WireCount};
use tokio::net::TcpStream;

use crate::client::channels::credits::Credits;
use crate::client::channels::lease_breaks::{Broken, LeaseBreaks};
use crate::client::channels::message_security::MessageSecurity;
use crate::client::channels::metadata_exchange::MetadataExchange;
use crate::client::channels::metadata_exchange::RenewalExchange;
use crate::client::channels::pending_replies::{Completion, PendingReplies};
use crate::client::channels::receiver::Receiver;
use crate::client::channels::repeats::Postponed;
use crate::client::channels::requests::{InFlight, Queued, Request, Requests};
use crate::client::channels::session_counts::SessionCounts;
use crate::client::channels::slot_buffers::SlotBuffers;
use crate::client::channels::watch_exchange::WatchExchange;
use crate::wire::data::{READ_DATA_OFFSET, WRITE_DATA_OFFSET};
use crate::wire::data::{ReadRequest, WriteRequest};
use crate::wire::frame::{self, PREFIX_LEN};
use crate::wire::header::{Header, command, flags};
use crate::wire::lease::LeaseAcknowledgment;
use crate::wire::oplock::OplockBreak;
use crate::wire::simple::{Empty, FlushRequest};
use crate::wire::transform;

/// What a message can hold in addition to the payload of a slot.
const FRAME_ALLOWANCE: usize = 64 << 10;
/// Most credits to request. Servers grant at most 8192 per connection by default.
const MAX_CREDITS: u32 = 8192;

/// One TCP connection to a server, and every request on it.
///
/// The channel owns the socket, the requests that wait for credits, the requests in flight and the counters of the wire.
/// It borrows the slots' buffers, which all channels of a session share ([`Channels`]). [`Self::submit`] queues a
/// request; [`Self::poll`] sends what credits allow, receives, and returns completions in the order in which replies
/// arrive. It never spawns a task and never waits on its own: whoever polls it drives both directions, so that an idle
/// session costs nothing.
///
/// Life cycle: the handshake performs its requests one at a time ([`Self::exchange`]) and sets session id, tree id,
/// security and credit rules as it learns them. From then on data operations use one index per slot, and one more index
/// serves metadata. The first error of the connection is final: the channel keeps it ([`Self::cause`]), and its owner
/// either moves the unanswered requests to another channel ([`Self::take_unfinished`]) or fails them
/// ([`Self::fail_all`]). There is no reconnect, because a new connection would be a new session with other open files;
/// the engine decides about that.
///
/// Invariants: an index has at most one request; every submitted request completes exactly once or is taken; a message
/// id is used once and in ascending order; a credit is paid before its message enters the send queue.
///
/// [`Channels`]: crate::client::channels::session_channels::Channels
#[derive(Debug)]
pub(crate) struct Channel {
    stream: TcpStream,
    pub(crate) arrivals: Arrivals,
    send_queue: SendQueue<Vec<u8>>,
    receiver: Receiver,
    requests: Requests,
    /// Requests that wait for credits, in the order of their submission.
    waiting: VecDeque<Queued>,
    /// Breaks of leases and oplocks that are not acknowledged yet.
    pub(crate) breaks: LeaseBreaks,
    /// Requests that the server wants to see again, see [`PendingReplies`].
    to_repeat: Vec<Queued>,
    /// Those of them that are sent after a pause.
    postponed: Postponed,
    pub(crate) credits: Credits,
    pub(crate) security: MessageSecurity,
    pub(crate) exchange: MetadataExchange,
    pub(crate) watch: WatchExchange,
    /// The renewal of the session's login. While it is needed, only its own requests are sent.
    pub(crate) renewal: RenewalExchange,
    pub(crate) session_id: u64,
    pub(crate) tree_id: u32,
    /// The session's `ChannelSequence`, which each lost channel increments (MS-SMB2 2.2.1.2).
    pub(crate) sequence: u16,
    /// Header and fixed fields of the WRITE that is being sent.
    scratch: Vec<u8>,
    wire: WireCount,
    policy: PolicyCount,
    /// Reads although nothing is in flight.
    listens: bool,
    pub(crate) counts: Arc<SessionCounts>,
    lost: Option<OpError>,
}

impl Channel {
    /// Takes a connected stream; `slots` of `slot_bytes` limit what can be in flight.
    pub(crate) fn new(stream: TcpStream, slots: usize, slot_bytes: usize) -> Self {
        // Enough credits for every slot at once, and two for metadata.
        let credits_per_slot = slot_bytes.div_ceil(64 << 10).max(1);
        let credits = u32::try_from(slots * credits_per_slot + 2).unwrap_or(MAX_CREDITS).min(MAX_CREDITS);
        Self {
            stream,
            arrivals: Arrivals::default(),
            send_queue: SendQueue::default(),
            // A frame holds a slot's payload or a metadata reply, whichever is larger, and its headers. A longer
            // frame is an error, so that a peer cannot make this client allocate what it likes.
            receiver: Receiver::new(slots, slot_bytes, slot_bytes.max(FRAME_ALLOWANCE) + FRAME_ALLOWANCE),
            requests: Requests::new(slots),
            waiting: VecDeque::with_capacity(slots + 1),
            breaks: LeaseBreaks::default(),
            to_repeat: Vec::new(),
            postponed: Postponed::default(),
            credits: Credits::new(credits),
            security: MessageSecurity::default(),
            exchange: MetadataExchange::default(),
            watch: WatchExchange::default(),
            renewal: RenewalExchange::default(),
            session_id: 0,
            tree_id: 0,
            sequence: 0,
            scratch: Vec::new(),
            wire: WireCount::default(),
            policy: PolicyCount::default(),
            listens: false,
            counts: Arc::default(),
            lost: None,
        }
    }

    pub(crate) fn wire(&self) -> WireCount {
        self.wire
    }

    /// The connection's socket.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.stream
    }

    /// Requests arrival times of the kernel; false if it has none.
    pub(crate) fn time_arrivals(&mut self) -> bool {
        self.arrivals.start(&self.stream)
    }

    /// The kernel's figures of the connection.
    pub(crate) fn tcp(&self) -> Option<TcpReading> {
        tcp_reading(&self.stream)
    }

    pub(crate) fn policy_count(&self) -> PolicyCount {
        self.policy
    }

    /// Accepts replies of `bytes`, and requests the credits for them.
    pub(crate) fn prepare_large_reply(&mut self, bytes: u32) {
        self.receiver.accept_frames_of(bytes as usize + FRAME_ALLOWANCE);
        // One more: the request is sent while another one may be unanswered.
        self.credits.raise_target(bytes.div_ceil(64 << 10) + 1);
    }

    /// Requests that wait or are in flight.
    pub(crate) fn load(&self) -> usize {
        self.requests.in_flight() + self.waiting.len() + self.postponed.len()
    }

    /// True if no request waits or is in flight.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.load() == 0 && self.send_queue.is_empty()
    }

    /// Returns the memory that only requests need, unless one is in flight.
    pub(crate) fn release_buffers(&mut self) {
        if self.is_at_rest() {
            // A new queue frees the gather buffer; `clear` would keep it, and thousands of idle sessions would
            // hold it (docs/design/user-sessions.md).
            self.send_queue = SendQueue::default();
            self.receiver.release_buffers();
            self.exchange.release_buffers();
        }
    }

    pub(crate) fn is_idle(&self, index: usize) -> bool {
        self.requests.is_idle(index)
    }

    pub(crate) fn metadata_index(&self) -> usize {
        self.requests.metadata_index()
    }

    pub(crate) fn watch_index(&self) -> usize {
        self.requests.watch_index()
    }

    /// The error of a request on this connection, if the connection is lost.
    pub(crate) fn failure(&self) -> Option<OpError> {
        self.lost.as_ref().map(connection_error::already_lost)
    }

    /// The error that ended the connection.
    pub(crate) fn cause(&self) -> Option<&OpError> {
        self.lost.as_ref()
    }

    /// Marks the connection as lost.
    #[cold]
    pub(crate) fn give_up(&mut self, error: OpError) {
        self.send_queue.clear();
        // The first error is the cause; later ones are its consequences.
        self.lost.get_or_insert(error);
    }

    /// Queues a request at an idle index.
    #[inline]
    pub(crate) fn submit(&mut self, index: usize, request: Request) {
        self.resubmit(Queued { index, request, times_sent: 0, replayed: false });
    }

    /// Queues a request that may have been sent before, at an idle index.
    #[inline]
    pub(crate) fn resubmit(&mut self, queued: Queued) {
        self.requests.reserve(queued.index);
        self.waiting.push_back(queued);
    }

    /// Queues the next request of a login that renews the session, before everything that waits for the renewal.
    pub(crate) fn submit_login(&mut self) {
        let index = self.requests.login_index();
        self.requests.reserve(index);
        self.waiting.push_front(Queued { index, request: Request::LogIn, times_sent: 0, replayed: false });
    }

    /// True if no request awaits its reply, apart from one that is pending until a directory changes.
    pub(crate) fn is_drained(&self) -> bool {
        let pending = usize::from(self.watch.accepted.is_some());
        self.requests.in_flight() == pending && self.send_queue.is_empty()
    }

    /// Sends what credits allow, then receives until at least one request completes, or nothing more arrives. After an
    /// error of the connection nothing completes: the owner looks at [`Self::cause`].
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut SlotBuffers,
        completions: &mut Vec<Completion>,
    ) {
        let before = completions.len();
        while self.lost.is_none() && completions.len() == before {
            match self.send_and_receive(cx, buffers, completions) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => self.give_up(error),
            }
        }
        if !self.breaks.is_empty() && self.lost.is_none() {
            // The caller may not poll again for a long time, and another user waits.
            self.acknowledge();
            if let Err(error) = self.send_waiting(cx, buffers) {
                self.give_up(error);
            }
        }
        for completion in completions.iter().skip(before) {
            // Counted here and not in the receiver, because only a completed READ delivered its payload to the
            // caller.
            if let (Request::Read { .. }, Ok(count)) = (completion.request, &completion.result) {
                self.wire.payload_received += u64::from(*count);
            }
        }
    }

    /// True if bytes arrived, so that another round may make progress.
    fn send_and_receive(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut SlotBuffers,
        completions: &mut Vec<Completion>,
    ) -> Result<bool, OpError> {
        self.waiting.extend(self.postponed.take_due(cx));
        self.send_waiting(cx, buffers)?;
        // Nothing is awaited, so nothing is read: an idle session leaves no waker with its socket and is not
        // woken.
        if self.requests.in_flight() == 0 && !self.listens {
            self.reject_unaffordable(completions);
            return Ok(false);
        }
        let mut pending = PendingReplies {
            requests: &mut self.requests,
            buffers,
            credits: &mut self.credits,
            security: &self.security,
            metadata_reply: &mut self.exchange.reply,
            watch: &mut self.watch,
            after_loss: self.sequence != 0,
            to_repeat: &mut self.to_repeat,
            renewal: &mut self.renewal,
            breaks: &mut self.breaks,
            completions,
        };
        let received = self.receiver.poll_receive(
            self.arrivals.reader(&mut self.stream),
            cx,
            &mut pending,
            &mut self.wire.received,
        );
        for queued in self.to_repeat.drain(..) {
            self.requests.reserve(queued.index);
            self.waiting.extend(self.postponed.add(queued));
        }
        if !self.breaks.is_empty() {
            self.acknowledge();
        }
        match received {
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) => Ok(true),
            Poll::Pending => Ok(false),
        }
    }

    /// Sends what waits, as far as credits and the socket allow.
    #[inline]
    fn send_waiting(&mut self, cx: &mut Context<'_>, buffers: &mut SlotBuffers) -> Result<(), OpError> {
        // The send queue accepts a limited number of bytes, so dispatching and sending alternate.
        loop {
            self.dispatch(buffers);
            if self.send_queue.is_empty() {
                return Ok(());
            }
            let sent = &mut self.wire.sent;
            match self.send_queue.poll_send(&mut self.stream, cx, &*buffers, sent) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Err(connection_error::disconnected(error.to_string())),
                Poll::Pending => return Ok(()),
            }
        }
    }

    /// Receives while no request is in flight, for breaks of leases.
    pub(crate) fn listen(&mut self, cx: &mut Context<'_>, buffers: &mut SlotBuffers) {
        self.listens = true;
        self.poll(cx, buffers, &mut Vec::new());
        self.listens = false;
    }

    /// Queues the acknowledgment of the oldest break, one at a time (MS-SMB2 3.2.5.19.1, 3.2.5.19.2).
    #[cold]
    fn acknowledge(&mut self) {
        let index = self.requests.acknowledgment_index();
        while self.requests.is_idle(index) {
            let Some((broken, required)) = self.breaks.take() else { return };
            let acknowledgment = match broken {
                Broken::Lease(broken) => {
                    self.counts.lease_broken(required);
                    Request::Acknowledge { key: broken.key, state: broken.new }
                }
                Broken::Oplock(broken) => {
                    self.counts.oplock_broken(required);
                    Request::AcknowledgeOplock { file: broken.file, level: broken.level }
                }
            };
            if required {
                self.submit(index, acknowledgment);
            }
        }
    }

    /// Moves waiting requests into the send queue while credits last. A request that cannot be paid for blocks the
    /// later ones, so that a large one is not starved by small ones.
    fn dispatch(&mut self, buffers: &mut SlotBuffers) {
        while let Some(&queued) = self.waiting.front() {
            if self.send_queue.is_full() || (self.renewal.needed && queued.request != Request::LogIn) {
                return;
            }
            let charge = self.credits.charge(queued.request.payload());
            let Some(message_id) = self.credits.pay(charge) else { return };
            self.waiting.pop_front();
            self.send(queued, charge, message_id, buffers);
        }
    }

    #[inline]
    fn send(&mut self, queued: Queued, charge: u16, message_id: u64, buffers: &mut SlotBuffers) {
        let Queued { index, request, times_sent, replayed } = queued;
        let always_sign = match request {
            Request::Metadata { .. } => self.exchange.always_sign,
            Request::LogIn => true,
            _ => false,
        };
        let signed = self.security.signs(always_sign);
        let header = Header {
            // CreditCharge is 0 where the connection has no requests of several credits (MS-SMB2 3.2.4.1.5).
            credit_charge: if self.credits.by_size { charge } else { 0 },
            // A request has no status: dialects of 3.x put the channel sequence into its place.
            status: u32::from(self.sequence),
            command: request.command(),
            credits: self.credits.request(charge),
            flags: if signed { flags::SIGNED } else { 0 }
                | if replayed { flags::REPLAY_OPERATION } else { 0 },
            message_id,
            tree_id: if request == Request::LogIn { 0 } else { self.tree_id },
            session_id: self.session_id,
            ..Header::default()
        };
        match request {
            // Encryption works in place, and the slot's payload must stay readable: only plain payload leaves from its
            // slot.
            Request::Write { len, .. } if self.security.encryption.is_none() => {
                self.send_from_slot(index, &header, request, len as usize, buffers);
            }
            _ => self.send_gathered(index, &header, request, buffers),
        }
        // Payload and policies are counted per operation; only the number of requests includes repeated ones.
        if times_sent == 0 {
            if let Request::Write { len, .. } = request {
                self.wire.payload_sent += u64::from(len);
            }
            self.policy += request.policy_count();
        } else {
            self.counts.request_repeated();
        }
        // An acknowledgment and a renewed login belong to no operation; facts of the run count them.
        self.wire.requests += u64::from(!request.is_internal());
        let times_sent = times_sent + 1;
        self.requests.start(index, message_id, InFlight { request, times_sent, replayed, charge, signed });
    }

    /// Puts the header of a WRITE in front of its payload, so that both are sent from where they are.
    fn send_from_slot(
        &mut self,
        index: usize,
        header: &Header,
        request: Request,
        len: usize,
        buffers: &mut SlotBuffers,
    ) {
        self.scratch.clear();
        header.encode(&mut self.scratch);
        encode_data(request, &mut self.scratch);
        let message = buffers.write_message(index, len);
        message[..WRITE_DATA_OFFSET].copy_from_slice(&self.scratch);
        if header.is(flags::SIGNED) {
            self.security.sign(message);
        }
        let prefix = frame::prefix(WRITE_DATA_OFFSET + len).unwrap_or_default();
        let frame_len = buffers.frame_write(index, len, prefix);
        self.send_queue.push_slot(index, frame_len);
    }

    fn send_gathered(&mut self, index: usize, header: &Header, request: Request, buffers: &mut SlotBuffers) {
        let Self { send_queue, security, exchange, renewal, watch, .. } = self;
        send_queue.gather(|bytes, start| {
            let at = begin_message(bytes, start, header, security);
            match request {
                Request::Metadata { .. } => {
                    bytes.extend_from_slice(buffers.call(index).map_or(&exchange.body, |call| &call.body));
                }
                Request::LogIn => bytes.extend_from_slice(&renewal.body),
                Request::Watch { .. } => bytes.extend_from_slice(&watch.body),
                Request::Write { len, .. } => {
                    encode_data(request, bytes);
                    bytes.extend_from_slice(buffers.payload_of(index, len as usize).unwrap_or_default());
                }
                _ => encode_data(request, bytes),
            }
            if header.is(flags::SIGNED) {
                security.sign(&mut bytes[at..]);
            }
            if matches!(request, Request::Metadata { .. }) {
                // After signing and before encryption: the preauthentication hash covers the message as it was
                // sent in plain text.
                exchange.keep_request(&bytes[at..]);
            }
            finish_message(bytes, start, security);
        });
    }

    /// Queues the CANCEL of the pending watch (MS-SMB2 2.2.30). It costs no credit and has no reply of its own.
    pub(crate) fn cancel_watch(&mut self) {
        let Some((message_id, async_id)) = self.watch.accepted else { return };
        let signed = self.security.signs(false);
        let header = Header {
            command: command::CANCEL,
            flags: flags::ASYNC | if signed { flags::SIGNED } else { 0 },
            message_id,
            async_id,
            session_id: self.session_id,
            ..Header::default()
        };
        let Self { send_queue, security, .. } = self;
        send_queue.gather(|bytes, start| {
            let at = begin_message(bytes, start, &header, security);
            Empty::default().encode(bytes);
            if signed {
                security.sign(&mut bytes[at..]);
            }
            finish_message(bytes, start, security);
        });
        self.wire.requests += 1;
    }

    /// Rejects a request that waits for credits while nothing in flight can bring any.
    #[cold]
    fn reject_unaffordable(&mut self, completions: &mut Vec<Completion>) {
        if !self.send_queue.is_empty() {
            return;
        }
        // What waits for the renewal of the login is affordable after it.
        let waits =
            self.renewal.needed && self.waiting.front().is_none_or(|next| next.request != Request::LogIn);
        if waits {
            return;
        }
        let Some(Queued { index, request, times_sent, .. }) = self.waiting.pop_front() else { return };
        self.requests.finish(index);
        let charge = self.credits.charge(request.payload());
        let available = self.credits.available();
        let detail = format!("the request costs {charge} credits, the server grants {available}");
        let step = OpStep::Request(command::name(request.command()));
        let error = OpError::new(ErrorClass::Unsupported, step, detail);
        if !request.completes() {
            return self.give_up(error);
        }
        // As a rule 0 requests: it never reached the wire, and the wire counts must agree with the operations' counts.
        completions.push(Completion { index, request, result: Err(error), requests: times_sent });
    }

    /// Removes and returns every request without a final response, those in flight first. The renewal of a login is not among
    /// them: it begins again on another channel.
    #[cold]
    pub(crate) fn take_unfinished(&mut self) -> Vec<Queued> {
        let mut taken = Vec::new();
        for index in 0..=self.requests.metadata_index() {
            if let Some(InFlight { request, times_sent, .. }) = self.requests.finish(index) {
                taken.push(Queued { index, request, times_sent, replayed: true });
            }
        }
        taken.extend(self.waiting.drain(..));
        taken.extend(self.postponed.take());
        taken.retain(|queued| queued.request != Request::LogIn);
        taken
    }

    /// Completes every request without a final response with `error`.
    #[cold]
    pub(crate) fn fail_all(&mut self, error: &OpError, completions: &mut Vec<Completion>) {
        for Queued { index, request, times_sent, .. } in self.take_unfinished() {
            if !request.completes() {
                continue;
            }
            let result = Err(error.clone());
            completions.push(Completion { index, request, result, requests: times_sent });
        }
    }
}

/// Appends the header of a message, and before it the space for the prefix and the transform header, which come first on the wire
/// but are known last (length, nonce, tag). Returns where the message starts. The caller signs the plain message, before it is
/// encrypted; a session never does both.
fn begin_message(bytes: &mut Vec<u8>, start: usize, header: &Header, security: &MessageSecurity) -> usize {
    let transform_len = if security.encryption.is_some() { transform::LEN } else { 0 };
    let at = start + PREFIX_LEN + transform_len;
    bytes.resize(at, 0);
    header.encode(bytes);
    at
}

/// Encrypts a complete message if the session encrypts, and fills its prefix.
fn finish_message(bytes: &mut [u8], start: usize, security: &MessageSecurity) {
    if let Some(encryption) = &security.encryption {
        encryption.encrypt(&mut bytes[start + PREFIX_LEN..]);
    }
    let prefix = frame::prefix(bytes.len() - start - PREFIX_LEN).unwrap_or_default();
    bytes[start..start + PREFIX_LEN].copy_from_slice(&prefix);
}

/// Appends the body of a data operation, that of a WRITE without its payload.
#[inline]
fn encode_data(request: Request, out: &mut Vec<u8>) {
    match request {
        Request::Read { file, offset, len, flags } => {
            let padding = READ_DATA_OFFSET as u8;
            ReadRequest { padding, flags, len, offset, file: file.id, ..ReadRequest::default() }.encode(out);
        }
        Request::Write { file, offset, len, flags } => {
            let data_offset = WRITE_DATA_OFFSET as u16;
            let file = file.id;
            WriteRequest { data_offset, len, offset, file, flags, ..WriteRequest::default() }.encode(out);
        }
        Request::Flush { file } => FlushRequest { file, ..FlushRequest::default() }.encode(out),
        Request::AcknowledgeOplock { file, level } => {
            OplockBreak { level, file, ..OplockBreak::default() }.encode(out);
        }
        Request::Acknowledge { key, state } => {
            LeaseAcknowledgment { key, state, ..LeaseAcknowledgment::default() }.encode(out);
        }
        Request::LogIn | Request::Watch { .. } | Request::Metadata { .. } => {}
    }
}
