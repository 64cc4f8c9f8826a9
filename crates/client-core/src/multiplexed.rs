//! A session with many requests in flight: what the sessions of SMB 2/3, NFS 3 and NFS 4 have in common.

use std::future::{Future, ready};
use std::ops::{Deref, DerefMut};
use std::task::{Context, Poll};
use std::time::SystemTime;

use sharebench_model::units::ByteSize;
use sharebench_model::{
    DataOp, ErrorClass, MetaOp, MetaReply, MetaYield, OpError, PolicyCount, Reply, SessionOp, Slot,
    TargetFacts, TcpReading, WireCount,
};
use sharebench_target::{
    Adapter, CallReply, Extensions, Idle, LocalBoxFuture, OverlappingCalls, Probe, Readings, Session,
    SessionSpec, UrlPart, WholeFiles, perform,
};
use tokio::net::TcpStream;

use crate::calls_in_flight::{AwaitedReplies, CallsInFlight};
use crate::dial::DialError;
use crate::shared_state::SharedState;
use crate::slot_payloads::{SlotPayload, TransferLimit};

/// The server's limits for transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferLimits {
    /// Limit of a READ.
    pub read: TransferLimit,
    /// Limit of a WRITE.
    pub write: TransferLimit,
}

impl TransferLimits {
    /// Compares the records of a new session with the limits, because records are never split.
    ///
    /// # Errors
    /// A record is larger than what one request can carry.
    pub fn check(self, spec: &SessionSpec) -> Result<(), DialError> {
        for TransferLimit { name, max } in [self.read, self.write] {
            if spec.slot_bytes > max {
                let [record, max] = [spec.slot_bytes, max].map(|bytes| ByteSize(bytes.into()));
                let detail = format!("record size {record} exceeds the server's {name} {max}");
                return Err(DialError::new(UrlPart::Share, ErrorClass::Unsupported, detail));
            }
        }
        Ok(())
    }
}

/// Replies that have arrived, and those that are awaited.
#[derive(Debug)]
pub struct ReplyQueues<T> {
    /// Replies to data operations that were rejected before they were sent, and those that arrived while calls were polled.
    pub data: Vec<Reply>,
    /// Replies to the requests of operations on names, by the index of the request.
    pub calls: AwaitedReplies<T>,
}

impl<T> ReplyQueues<T> {
    /// Queues for requests at indexes below `indexes`.
    pub fn new(indexes: usize) -> Self {
        Self { data: Vec::new(), calls: AwaitedReplies::new(indexes) }
    }
}

/// The connections of a session and all that its operations share: the part of a protocol that never waits.
///
/// A slot has one request in flight. An operation on names has a request index: that of its slot if it is one of several in
/// flight, or one that is reserved for the only one.
pub trait Connection: 'static {
    /// What became of the request of an operation on names.
    type Arrived;
    /// The buffers of the slots.
    type Payloads: SlotPayload;

    /// Negotiated parameters ([`Session::facts`]).
    fn facts(&self) -> TargetFacts;

    /// The error of every further request, if the session is lost.
    fn failure(&self) -> Option<OpError>;

    /// True if the slot exists, and none of its requests waits or is in flight.
    fn is_idle(&self, slot: usize) -> bool;

    /// The server's limits for transfers.
    fn limits(&self) -> TransferLimits;

    /// The buffers of the slots.
    fn payloads(&mut self) -> &mut Self::Payloads;

    /// Returns the memory that only requests need, unless one is in flight.
    fn release_buffers(&mut self);

    /// Encodes and queues an operation on data, which fits into its idle slot and into the limits.
    fn start(&mut self, slot: usize, op: DataOp) -> Result<(), OpError>;

    /// Sends what waits, and receives. Replies to data operations are appended; what arrives for operations on names is delivered
    /// to [`ReplyQueues::calls`]. True if anything has changed, so that another turn may achieve more.
    fn drive(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> bool;

    /// Answers the server while nothing is in flight ([`Idle::poll_keepalive`]).
    fn keep_alive(&mut self, cx: &mut Context<'_>);

    /// Replies that have arrived, and those that are awaited.
    fn replies(&self) -> &ReplyQueues<Self::Arrived>;

    /// As [`Self::replies`], to be changed.
    fn replies_mut(&mut self) -> &mut ReplyQueues<Self::Arrived>;

    /// True if the request of an operation on names has lost its connection, and there is another one.
    fn must_resend(&self, _index: usize) -> bool {
        false
    }

    /// Counts of the wire since the session was opened.
    fn wire(&self) -> WireCount;

    /// Requests that carried a policy since the session was opened.
    fn policy_count(&self) -> PolicyCount;

    /// The kernel's figures of the connections ([`Readings::tcp`]).
    fn tcp(&self) -> Option<TcpReading>;

    /// The socket of the first connection.
    fn socket(&self) -> Option<&TcpStream>;

    /// Requests arrival times of the kernel; false if it has none.
    fn time_arrivals(&mut self) -> bool;

    /// When the last data of any connection arrived, nanoseconds since 1970.
    fn last_arrival_ns(&self) -> Option<u64>;
}

/// As [`Connection::drive`], for operations on names: replies to data operations are kept for [`Session::poll_replies`].
fn drive_calls<C: Connection>(connection: &mut C, cx: &mut Context<'_>) -> bool {
    let mut data = std::mem::take(&mut connection.replies_mut().data);
    let before = data.len();
    let progress = connection.drive(cx, &mut data);
    let arrived = data.len() > before;
    connection.replies_mut().data = data;
    progress || arrived
}

/// One operation on names, and its access to the connection.
///
/// The connection is [`SharedState`]: an operation is an `async fn` that works the same way for the only one
/// ([`Session::perform_call`]) and for each of several in flight ([`OverlappingCalls::submit_call`]), which has a caller value of its own.
#[derive(Debug)]
pub struct Caller<C> {
    state: SharedState<C>,
    /// Index of its requests.
    pub index: usize,
    /// Requests that it has sent.
    pub requests: u32,
}

impl<C> Deref for Caller<C> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        &self.state
    }
}

impl<C> DerefMut for Caller<C> {
    #[inline]
    fn deref_mut(&mut self) -> &mut C {
        &mut self.state
    }
}

impl<C: Connection> Caller<C> {
    /// The owner of a connection, whose requests have this index.
    pub fn new(connection: C, index: usize) -> Self {
        Self { state: SharedState::new(connection), index, requests: 0 }
    }

    /// The connection itself, which ends the life of its owner.
    ///
    /// # Panics
    /// Panics if this is the caller of one of several operations.
    pub fn into_connection(self) -> C {
        self.state.into_inner()
    }

    /// True if this operation is one of several in flight, so that somebody else drives the connection.
    pub fn is_one_of_several(&self) -> bool {
        self.state.is_borrower()
    }

    /// The caller of an operation in a slot.
    fn in_slot(&self, slot: Slot) -> Self {
        Self { state: self.state.borrower(), index: slot.0 as usize, requests: 0 }
    }

    /// Waits until `poll` is ready. It is polled with the connection, which others have in between.
    pub async fn wait<T>(&mut self, poll: impl FnMut(&mut C, &mut Context<'_>) -> Poll<T>) -> T {
        self.state.wait(poll).await
    }

    /// Waits for something that does not need the connection.
    pub async fn pause<T>(&mut self, waiting: impl Future<Output = T>) -> T {
        self.state.pause(waiting).await
    }

    /// As [`Self::wait`], and drives the connection unless somebody else does. `poll` is ready, or true if the connection may have
    /// something for it at once.
    pub async fn drive_until<T>(&mut self, mut poll: impl FnMut(&mut C) -> Poll<T>) -> T {
        let drives = !self.is_one_of_several();
        let index = self.index;
        self.state
            .wait(|connection, cx| {
                loop {
                    if let Poll::Ready(done) = poll(connection) {
                        return Poll::Ready(done);
                    }
                    // A connection that was lost meanwhile leaves the request to be sent again.
                    if !drives || !(drive_calls(connection, cx) || connection.must_resend(index)) {
                        return Poll::Pending;
                    }
                }
            })
            .await
    }

    /// Waits for the reply to the request that was queued at the caller's index. `resend` queues it again if its connection is lost.
    pub async fn reply(&mut self, mut resend: impl FnMut(&mut C)) -> C::Arrived {
        let index = self.index;
        self.replies_mut().calls.expect(index);
        self.drive_until(|connection| {
            if connection.must_resend(index) {
                resend(connection);
            }
            connection.replies_mut().calls.take(index).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// The operations of a protocol, each one request after another: a [`Caller`] with the protocol's methods.
pub trait Protocol:
    DerefMut<Target = Caller<Self::Connection>> + From<Caller<Self::Connection>> + Adapter + 'static
{
    /// The protocol's connections.
    type Connection: Connection;

    /// Prepares an operation, such as its count of requests.
    fn begin(&mut self);

    /// Number of requests since [`Self::begin`].
    fn requests(&self) -> u32 {
        self.deref().requests
    }

    /// Forgets the handles that the session keeps between operations; true if the last operation may have used one.
    fn forget_handles(&mut self) -> bool {
        false
    }

    /// True if one request opens, reads and closes a file ([`Self::read_whole`]).
    fn reads_whole_files(&self) -> bool {
        false
    }

    /// Opens a file, reads up to `len` bytes from its beginning into the buffer of a slot, and closes it, by one request.
    fn read_whole(
        &mut self,
        _slot: Slot,
        _path: &str,
        _len: u32,
    ) -> impl Future<Output = Result<u32, OpError>> {
        ready(Err(OpError::unsupported("this session opens, reads and closes by separate requests")))
    }

    /// The request without an effect ([`Probe::empty_request`]).
    fn empty_request(&mut self) -> impl Future<Output = Result<(), OpError>>;

    /// Requests the right to cache a file ([`Probe::request_caching`]).
    fn request_caching(&mut self, _path: &str) -> impl Future<Output = Option<Result<bool, OpError>>> {
        ready(None)
    }

    /// When a file was last changed ([`Probe::modified`]).
    fn modified(&mut self, _path: &str) -> impl Future<Output = Option<SystemTime>> {
        ready(None)
    }

    /// Number of snapshots of the directory ([`Probe::snapshots`]).
    fn snapshots(&mut self) -> impl Future<Output = Option<u32>> {
        ready(None)
    }

    /// Ends the session at the server, within the protocol's own limit of time.
    fn close(self) -> impl Future<Output = ()>;
}

/// The session of a protocol with many requests in flight.
///
/// It owns the connection through the caller of its only operation, and the operations in flight of its slots. Each data
/// operation is one request of exactly the length that the engine requested; one that cannot be sent (a record above the
/// server's limit, a slot in use) is rejected with a reply that counts 0 requests. It caches nothing: what the protocol keeps
/// between requests (open files, handles of directories) is part of its [`Connection`].
#[derive(Debug)]
pub struct Multiplexed<P> {
    caller: P,
    calls: CallsInFlight,
}

impl<P> Multiplexed<P> {
    /// The session of the owner of a connection.
    pub fn new(caller: P) -> Self {
        Self { caller, calls: CallsInFlight::default() }
    }
}

impl<P> Deref for Multiplexed<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.caller
    }
}

impl<P> DerefMut for Multiplexed<P> {
    fn deref_mut(&mut self) -> &mut P {
        &mut self.caller
    }
}

impl<P: Protocol> Multiplexed<P> {
    fn connection(&self) -> &P::Connection {
        &self.caller
    }

    #[inline]
    fn connection_mut(&mut self) -> &mut P::Connection {
        &mut self.caller
    }

    #[inline]
    fn try_submit(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        let connection = self.connection_mut();
        if let Some(error) = connection.failure() {
            return Err(error);
        }
        let index = slot.0 as usize;
        if !connection.is_idle(index) {
            return Err(OpError::slot_not_idle());
        }
        let TransferLimits { read, write } = connection.limits();
        match op {
            DataOp::Read { len, .. } => connection.payloads().check_record(index, "READ", len, read)?,
            DataOp::Write { len, .. } => connection.payloads().check_record(index, "WRITE", len, write)?,
            DataOp::Flush { .. } => {}
        }
        connection.start(index, op)
    }

    /// Begins an operation in a slot, as one of several.
    fn begin_in<F>(&mut self, slot: Slot, operation: impl FnOnce(P) -> F) -> Result<(), OpError>
    where
        F: Future<Output = MetaReply> + 'static,
    {
        if let Some(error) = self.connection().failure() {
            return Err(error);
        }
        if !self.connection().is_idle(slot.0 as usize) || !self.calls.is_idle(slot) {
            return Err(OpError::slot_not_idle());
        }
        self.calls.begin(slot, Box::pin(operation(P::from(self.caller.in_slot(slot)))));
        Ok(())
    }
}

/// Performs an operation, and counts its requests.
async fn perform_counted<P: Protocol>(caller: &mut P, op: SessionOp) -> MetaReply {
    caller.begin();
    let mut result = perform(caller, &op).await;
    // A kept handle of a directory was stale. The server did nothing, so repeating the operation is safe.
    if is_stale(&result) && caller.forget_handles() {
        result = perform(caller, &op).await;
    }
    MetaReply { result, requests: caller.requests() }
}

/// As [`perform_counted`], for a whole file.
async fn read_whole<P: Protocol>(caller: &mut P, slot: Slot, path: &str, len: u32) -> Reply {
    caller.begin();
    let mut result = caller.read_whole(slot, path, len).await;
    if is_stale(&result) && caller.forget_handles() {
        result = caller.read_whole(slot, path, len).await;
    }
    Reply { slot, result, requests: caller.requests() }
}

fn is_stale<T>(result: &Result<T, OpError>) -> bool {
    result.as_ref().is_err_and(|error| error.class == ErrorClass::Stale)
}

impl<P: Protocol> Session for Multiplexed<P> {
    fn facts(&self) -> TargetFacts {
        self.connection().facts()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.connection_mut().payloads().payload(slot.0 as usize)
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        let TransferLimits { read, write } = self.connection().limits();
        match op {
            DataOp::Read { len, .. } => len.min(read.max),
            DataOp::Write { len, .. } => len.min(write.max),
            DataOp::Flush { .. } => 0,
        }
    }

    #[inline]
    fn submit(&mut self, slot: Slot, op: DataOp) {
        if let Err(error) = self.try_submit(slot, op) {
            // `submit` returns nothing, so that accepted and rejected operations take the same way back: a reply.
            self.connection_mut().replies_mut().data.push(Reply { slot, result: Err(error), requests: 0 });
        }
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let before = replies.len();
        let connection = self.connection_mut();
        replies.append(&mut connection.replies_mut().data);
        let mut progress = false;
        // What was queued meanwhile is sent at once, unless the caller will poll again anyway.
        while connection.drive(cx, replies) && replies.len() == before {
            progress = true;
        }
        if replies.len() > before {
            return Poll::Ready(());
        }
        if progress {
            // Something may have arrived for an operation on names, which the caller polls next.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(perform_counted(&mut self.caller, op))
    }

    fn wire(&self) -> WireCount {
        self.connection().wire()
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn readings(&self) -> Option<&dyn Readings> {
        Some(self)
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(self.caller.close())
    }
}

impl<P: Protocol> Extensions for Multiplexed<P> {
    fn idle(&mut self) -> Option<&mut dyn Idle> {
        Some(self)
    }

    fn calls(&mut self) -> Option<&mut dyn OverlappingCalls> {
        Some(self)
    }

    fn whole_files(&mut self) -> Option<&mut dyn WholeFiles> {
        if self.caller.reads_whole_files() { Some(self) } else { None }
    }

    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(self)
    }
}

impl<P: Protocol> Idle for Multiplexed<P> {
    fn release_buffers(&mut self) {
        self.connection_mut().release_buffers();
    }

    fn poll_keepalive(&mut self, cx: &mut Context<'_>) {
        self.connection_mut().keep_alive(cx);
    }
}

impl<P: Protocol> OverlappingCalls for Multiplexed<P> {
    fn submit_call(&mut self, slot: Slot, op: MetaOp) -> Result<(), OpError> {
        if !op.can_overlap() {
            return Err(OpError::cannot_overlap());
        }
        self.begin_in(slot, |mut caller| async move {
            caller.state.enter();
            let reply = perform_counted(&mut caller, SessionOp::Basic(op)).await;
            caller.state.leave();
            reply
        })
    }

    fn poll_calls(&mut self, cx: &mut Context<'_>, replies: &mut Vec<CallReply>) -> Poll<()> {
        let before = replies.len();
        let continues = |connection: &P::Connection, index: usize| {
            !connection.replies().calls.is_awaited(index) || connection.must_resend(index)
        };
        let Self { caller, calls } = self;
        loop {
            calls.poll(&mut caller.state, continues, cx, replies);
            if replies.len() > before {
                return Poll::Ready(());
            }
            let connection = &mut *caller.state;
            let progress = drive_calls(connection, cx);
            if !progress && !calls.any(|index| connection.must_resend(index)) {
                return Poll::Pending;
            }
        }
    }
}

impl<P: Protocol> WholeFiles for Multiplexed<P> {
    fn read_file<'a>(&'a mut self, path: &'a str, len: u32) -> LocalBoxFuture<'a, Reply> {
        Box::pin(read_whole(&mut self.caller, Slot(0), path, len))
    }

    fn submit_read_file(&mut self, slot: Slot, path: String, len: u32) -> Result<(), OpError> {
        self.begin_in(slot, move |mut caller| async move {
            caller.state.enter();
            let Reply { result, requests, .. } = read_whole(&mut caller, slot, &path, len).await;
            caller.state.leave();
            MetaReply { result: result.map(|bytes| MetaYield::Bytes(bytes.into())), requests }
        })
    }
}

impl<P: Protocol> Readings for Multiplexed<P> {
    fn policy_count(&self) -> PolicyCount {
        self.connection().policy_count()
    }

    fn tcp(&self) -> Option<TcpReading> {
        self.connection().tcp()
    }

    fn socket(&self) -> Option<&TcpStream> {
        self.connection().socket()
    }

    fn last_arrival_ns(&self) -> Option<u64> {
        self.connection().last_arrival_ns()
    }
}

impl<P: Protocol> Probe for Multiplexed<P> {
    fn empty_request(&mut self) -> LocalBoxFuture<'_, Option<Result<(), OpError>>> {
        Box::pin(async move { Some(self.caller.empty_request().await) })
    }

    fn time_arrivals(&mut self) -> bool {
        self.connection_mut().time_arrivals()
    }

    fn request_caching<'a>(&'a mut self, path: &'a str) -> LocalBoxFuture<'a, Option<Result<bool, OpError>>> {
        Box::pin(self.caller.request_caching(path))
    }

    fn modified<'a>(&'a mut self, path: &'a str) -> LocalBoxFuture<'a, Option<SystemTime>> {
        Box::pin(self.caller.modified(path))
    }

    fn snapshots(&mut self) -> LocalBoxFuture<'_, Option<u32>> {
        Box::pin(self.caller.snapshots())
    }
}
