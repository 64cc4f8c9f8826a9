//! A directory of a share over the connections of one session, as the engine drives it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use sharebench_client_core::{AwaitedReplies, CallsInFlight, Lent, OpenFileTable};
use sharebench_model::{
    DataOp, Fact, FileRef, MetaOp, MetaReply, NO_CLIENT_CACHE, OpError, PolicyCount, Reply, Slot,
    TargetFacts, TcpReading, WireCount,
};
use sharebench_relay::Far;
use sharebench_target::{CallReply, LocalBoxFuture, Session};
use tokio::net::TcpStream;

use crate::client::binding::ChannelGrant;
use crate::client::channels::Channels;
use crate::client::handshake::log_off;
use crate::client::leases::LeaseChoice;
use crate::client::listing::Listing;
use crate::client::negotiated::{DIRECTORY_LEASING, LEASING, Negotiated};
use crate::client::open_file::OpenFile;
use crate::client::pending_replies::Completion;
use crate::client::policy::{read_flags, write_flags};
use crate::client::ranges::Copies;
use crate::client::requests::Request;
use crate::client::session_counts::SessionCounts;
use crate::client::share_paths::SharePaths;
use crate::wire::header::command;
use crate::wire::simple::Empty;

/// How long to wait for the response to a log-off.
pub(crate) const LOG_OFF_TIMEOUT: Duration = Duration::from_secs(2);

/// One user's logged-in connection to a share: the SMB implementation of [`Session`].
///
/// It owns the [`Channels`] and what the protocol remembers between requests: the open files, the directory of the URL
/// below the share, and what was negotiated. The handshake creates it after the directory was found to exist. The
/// engine then submits data operations, one per slot, and polls for their replies; operations on names and attributes
/// run one at a time through [`Session::call`]. Closing it logs off, which also closes every file on the server.
///
/// Each data operation is one request of exactly the length that the engine requested. An operation that cannot be sent
/// (a record above the server's limit, a slot in use) is rejected with a reply that counts 0 requests. The session caches
/// no data and no attributes, also with a lease, so that every operation is measured at the server.
///
/// The state is [`Lent`]: an operation on names is an `async fn` of this type, which works the same way for the one operation of
/// [`Session::call`] and for each of several in flight ([`Session::submit_call`]), which has a session value of its own.
#[derive(Debug)]
pub(crate) struct SmbSession {
    pub(crate) state: Lent<SmbState>,
    /// Slot of an operation that is one of several in flight.
    pub(crate) index: usize,
    /// Requests of that operation.
    pub(crate) requests: u32,
    calls: CallsInFlight,
}

impl Deref for SmbSession {
    type Target = SmbState;

    #[inline]
    fn deref(&self) -> &SmbState {
        &self.state
    }
}

impl DerefMut for SmbSession {
    #[inline]
    fn deref_mut(&mut self) -> &mut SmbState {
        &mut self.state
    }
}

/// What became of a metadata request of a slot, and how many requests it took.
type Arrived = (Result<u32, OpError>, u32);

/// What all operations of a session share.
#[derive(Debug)]
pub(crate) struct SmbState {
    pub(crate) channels: Channels,
    pub(crate) files: OpenFileTable<OpenFile>,
    pub(crate) paths: SharePaths,
    pub(crate) negotiated: Negotiated,
    /// Keeps the relays of a simulated distance.
    far: Far,
    /// The number of channels that the URL states, if it does, and what became of it.
    pub(crate) channel_grant: Option<(u32, ChannelGrant)>,
    /// What opens request to cache.
    pub(crate) lease: LeaseChoice,
    /// Opens of files request durable handles.
    pub(crate) durable: bool,
    pub(crate) counts: Arc<SessionCounts>,
    completions: Vec<Completion>,
    /// Replies to operations that were rejected before they were sent, and those that arrived while calls were polled.
    ready: Vec<Reply>,
    pub(crate) awaited: AwaitedReplies<Arrived>,
    /// The listing in progress.
    pub(crate) listing: Option<Listing>,
    /// The directory for which a report of changes is requested.
    pub(crate) watched: Option<FileRef>,
    /// The open file whose lease a break is awaited of.
    pub(crate) leased: Option<FileRef>,
    /// What is known of copies on the server.
    pub(crate) copies: Copies,
}

impl SmbSession {
    pub(crate) fn new(channels: Channels, paths: SharePaths, negotiated: Negotiated, far: Far) -> Self {
        let completions = Vec::with_capacity(channels.buffers.count() + 1);
        let awaited = AwaitedReplies::new(channels.buffers.count());
        let state = SmbState {
            channels,
            files: OpenFileTable::default(),
            paths,
            negotiated,
            far,
            channel_grant: None,
            lease: LeaseChoice::None,
            durable: false,
            counts: Arc::default(),
            completions,
            ready: Vec::new(),
            awaited,
            listing: None,
            watched: None,
            leased: None,
            copies: Copies::default(),
        };
        Self { state: Lent::new(state), index: 0, requests: 0, calls: CallsInFlight::default() }
    }

    /// Performs one of several operations in flight.
    async fn perform_one(mut self, op: MetaOp) -> MetaReply {
        self.state.enter();
        let result = self.perform(&op).await;
        self.state.leave();
        MetaReply { result, requests: self.requests }
    }
}

impl SmbState {
    /// Sends what waits, and receives: replies to data operations are appended, others are delivered to the operations that await
    /// them. True if anything arrived.
    fn receive(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> bool {
        // The list belongs to the session, so that polling does not allocate; it is taken because the channels
        // are borrowed mutably at the same time.
        let mut completions = std::mem::take(&mut self.completions);
        // The completions show whether there was one.
        let _ = self.channels.poll(cx, &mut completions);
        let arrived = !completions.is_empty();
        for Completion { index, request, result, requests } in completions.drain(..) {
            if matches!(request, Request::Metadata { .. }) {
                // Without effect if its caller has dropped its future: its reply belongs to nobody.
                self.awaited.deliver(index, (result, requests));
            } else {
                replies.push(Reply { slot: Slot(index as u32), result, requests });
            }
        }
        self.completions = completions;
        arrived
    }

    /// As [`Self::receive`], while calls are polled: replies to data operations are kept for [`Session::poll_replies`].
    fn receive_calls(&mut self, cx: &mut Context<'_>) -> bool {
        let mut ready = std::mem::take(&mut self.ready);
        let arrived = self.receive(cx, &mut ready);
        self.ready = ready;
        arrived
    }

    fn try_submit(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        if let Some(error) = self.channels.failure() {
            return Err(error);
        }
        let index = slot.0 as usize;
        if index >= self.channels.buffers.count() || !self.channels.is_idle(index) {
            return Err(OpError::slot_not_idle());
        }
        let request = match op {
            DataOp::Read { file, offset, len } => {
                let limit = ("MaxReadSize", self.negotiated.max_read);
                self.channels.buffers.check_record(slot, len, "READ", limit)?;
                let file = *self.files.get(file)?;
                let flags = read_flags(file.policy, self.negotiated.dialect);
                Request::Read { file, offset, len, flags }
            }
            DataOp::Write { file, offset, len, stability } => {
                let limit = ("MaxWriteSize", self.negotiated.max_write);
                self.channels.buffers.check_record(slot, len, "WRITE", limit)?;
                let file = *self.files.get(file)?;
                let flags = write_flags(file.policy, stability, self.negotiated.dialect)?;
                Request::Write { file, offset, len, flags }
            }
            DataOp::Flush { file } => Request::Flush { file: self.files.get(file)?.id },
        };
        self.channels.submit(index, request);
        Ok(())
    }
}

/// Facts of what the URL requests beyond the usual.
impl SmbSession {
    fn add_lease_facts(&self, facts: &mut TargetFacts) {
        if self.durable {
            facts.state(Fact::DurableHandles, "requested");
        }
        if self.lease == LeaseChoice::None {
            return;
        }
        facts.state(Fact::LeaseRequested, self.lease.name());
        let missing = match self.lease {
            _ if self.negotiated.dialect < self.lease.oldest_dialect() => true,
            LeaseChoice::Directory => self.negotiated.capabilities & DIRECTORY_LEASING == 0,
            _ => self.negotiated.capabilities & LEASING == 0,
        };
        if missing {
            let name = self.lease.name();
            facts.state(Fact::NotGranted, format!("leases (lease={name}); the server announces none"));
        }
    }

    fn add_channel_facts(&self, facts: &mut TargetFacts) {
        let Some((requested, grant)) = &self.channel_grant else { return };
        let granted: u32 = grant.addresses.iter().map(|(_, count)| count).sum();
        facts.state(Fact::ConnectionsRequested, requested.to_string());
        facts.state(Fact::Connections, granted.to_string());
        let addresses = grant.addresses.iter().map(|(address, count)| format!("{address} ({count})"));
        facts.state(Fact::ConnectionAddresses, addresses.collect::<Vec<_>>().join(", "));
        if let Some(missing) = &grant.missing {
            let detail = format!("{requested} channels (channels={requested}); {granted} in use: {missing}");
            facts.state(Fact::NotGranted, detail);
        }
    }
}

impl Session for SmbSession {
    fn facts(&self) -> TargetFacts {
        let mut facts = self.negotiated.facts();
        facts.state(Fact::ClientCache, NO_CLIENT_CACHE);
        self.add_lease_facts(&mut facts);
        facts.state(Fact::Credits, self.channels.credits().to_string());
        self.add_channel_facts(&mut facts);
        self.far.add_fact(&mut facts);
        facts
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.channels.buffers.payload(slot.0 as usize)
    }

    fn release_buffers(&mut self) {
        self.channels.release_buffers();
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        match op {
            DataOp::Read { len, .. } => len.min(self.negotiated.max_read),
            DataOp::Write { len, .. } => len.min(self.negotiated.max_write),
            DataOp::Flush { .. } => 0,
        }
    }

    #[inline]
    fn submit(&mut self, slot: Slot, op: DataOp) {
        let state = &mut *self.state;
        if let Err(error) = state.try_submit(slot, op) {
            // `submit` returns nothing, so that accepted and rejected operations take the same way back: a
            // reply.
            state.ready.push(Reply { slot, result: Err(error), requests: 0 });
        }
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let before = replies.len();
        let state = &mut *self.state;
        replies.append(&mut state.ready);
        let arrived = state.receive(cx, replies);
        if replies.len() > before {
            return Poll::Ready(());
        }
        if arrived {
            // Nothing waits for the socket after a turn with a completion.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    fn submit_call(&mut self, slot: Slot, op: MetaOp) -> Result<(), OpError> {
        if let Some(error) = self.channels.failure() {
            return Err(error);
        }
        let index = slot.0 as usize;
        let exists = index < self.channels.buffers.count();
        if !exists || !self.channels.is_idle(index) || !self.calls.is_idle(slot) {
            return Err(OpError::slot_not_idle());
        }
        if !op.can_overlap() {
            return Err(OpError::cannot_overlap());
        }
        let one = Self { state: self.state.borrower(), index, requests: 0, calls: CallsInFlight::default() };
        self.calls.begin(slot, Box::pin(one.perform_one(op)));
        Ok(())
    }

    fn poll_calls(&mut self, cx: &mut Context<'_>, replies: &mut Vec<CallReply>) -> Poll<()> {
        let before = replies.len();
        let continues = |state: &SmbState, index: usize| !state.awaited.is_awaited(index);
        loop {
            self.calls.poll(&mut self.state, continues, cx, replies);
            if replies.len() > before {
                return Poll::Ready(());
            }
            if !self.state.receive_calls(cx) {
                return Poll::Pending;
            }
        }
    }

    /// Acknowledges breaks of leases: another user waits for it.
    fn poll_keepalive(&mut self, cx: &mut Context<'_>) {
        if self.lease != LeaseChoice::None || self.leased.is_some() {
            self.channels.listen(cx);
        }
    }

    fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(async move {
            let before = self.channels.wire().requests;
            let result = self.perform(&op).await;
            MetaReply { result, requests: (self.channels.wire().requests - before) as u32 }
        })
    }

    /// ECHO (MS-SMB2 2.2.28).
    fn empty_request(&mut self) -> LocalBoxFuture<'_, Option<Result<(), OpError>>> {
        Box::pin(async move {
            let echo = Empty::default();
            Some(self.request(command::ECHO, |body| echo.encode(body)).await.map(drop))
        })
    }

    fn wire(&self) -> WireCount {
        self.channels.wire()
    }

    fn policy_count(&self) -> PolicyCount {
        self.channels.policy_count()
    }

    fn tcp(&self) -> Option<TcpReading> {
        (!self.far.is_simulated()).then(|| self.channels.tcp()).flatten()
    }

    fn socket(&self) -> Option<&TcpStream> {
        self.channels.socket()
    }

    fn time_arrivals(&mut self) -> bool {
        self.channels.time_arrivals()
    }

    fn last_arrival_ns(&self) -> Option<u64> {
        self.channels.last_arrival_ns()
    }

    fn request_caching<'a>(&'a mut self, path: &'a str) -> LocalBoxFuture<'a, Option<Result<bool, OpError>>> {
        Box::pin(async move { Some(self.is_caching_granted(path).await) })
    }

    fn modified<'a>(&'a mut self, path: &'a str) -> LocalBoxFuture<'a, Option<SystemTime>> {
        Box::pin(async move { self.last_write(path).await.ok().flatten() })
    }

    fn snapshots(&mut self) -> LocalBoxFuture<'_, Option<u32>> {
        Box::pin(async move { self.number_of_snapshots().await.ok().flatten() })
    }

    fn close(mut self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async move {
            // A log-off closes every open file of the session (MS-SMB2 3.3.5.6).
            let _ = tokio::time::timeout(LOG_OFF_TIMEOUT, log_off(&mut self.channels)).await;
        })
    }
}
