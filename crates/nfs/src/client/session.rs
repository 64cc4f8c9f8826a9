//! A mounted export over one connection, as the engine drives it.

use std::ops::{Deref, DerefMut};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use sharebench_client_core::{AwaitedReplies, CallsInFlight, Lent, OpenFileTable, submit_error};
use sharebench_model::{
    DataOp, ErrorClass, Fact, FileRef, MetaOp, MetaReply, NO_CLIENT_CACHE, OpError, OpStep, PolicyCount,
    Reply, Slot, Stability, TargetFacts, TcpReading, WireCount,
};
use sharebench_target::{CallReply, LocalBoxFuture, Session, SessionSpec, buffer_pool};
use tokio::net::TcpStream;

use crate::client::calls::ExpectedReply;
use crate::client::channel::Channel;
use crate::client::dialect::V3;
use crate::client::directories::Directories;
use crate::client::gss_login::log_out;
use crate::client::listing::Listing;
use crate::client::mounting::Mount;
use crate::client::open_file::OpenFile;
use crate::client::replies::{Completion, ReplyContent};
use crate::protocol::{FileHandle, Procedure, StableHow};
use crate::results::{FsInfo, WriteVerifier};
use crate::status::NfsStatus;
use crate::xdr::{Reader, Writer};

/// Delays between repetitions of a call that the server answers with `NFS3ERR_JUKEBOX`: the first one, then doubled.
// Short at first, because a grace period may be nearly over, and at most a second, so that the end of
// it is noticed soon.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long to wait for the end of the security contexts.
const DESTROY_TIMEOUT: Duration = Duration::from_secs(1);

/// One user's mounted connection to an export: the NFS implementation of [`Session`].
///
/// It owns the [`Channel`], the slots' buffers and what the protocol remembers between calls: the open files with their
/// write verifiers, the handles of directories, and the server's limits. Mounting creates it, looks up the URL's
/// directory through it, and completes it with the limits and facts. The engine then submits data operations, one per
/// slot, and polls for their replies; operations on names and attributes run one at a time through [`Session::call`].
/// Closing it unmounts.
///
/// Each data operation is one READ, WRITE or COMMIT of exactly the length that the engine requested. An operation that
/// cannot be sent (a record above the server's limit, a slot in use) is rejected with a reply that counts 0 requests. The
/// session caches no data and no attributes, so that every operation is measured at the server; only handles of
/// directories are kept, as every client does.
///
/// The state is [`Lent`]: an operation on names is an `async fn` of this type, which works the same way for the one operation of
/// [`Session::call`] and for each of several in flight ([`Session::submit_call`]), which has a session value of its own.
#[derive(Debug)]
pub(crate) struct NfsSession {
    state: Lent<NfsState>,
    /// Index of the calls of its operations.
    index: usize,
    /// Calls of the operation in progress.
    requests: u32,
    calls: CallsInFlight,
}

impl Deref for NfsSession {
    type Target = NfsState;

    #[inline]
    fn deref(&self) -> &NfsState {
        &self.state
    }
}

impl DerefMut for NfsSession {
    #[inline]
    fn deref_mut(&mut self) -> &mut NfsState {
        &mut self.state
    }
}

/// What all operations of a session share.
#[derive(Debug)]
pub(crate) struct NfsState {
    pub(crate) channel: Channel<V3>,
    pub(crate) files: OpenFileTable<OpenFile<FileHandle>>,
    pub(crate) directories: Directories<FileHandle>,
    pub(crate) limits: FsInfo,
    /// One buffer per slot; empty while the session is idle.
    buffers: Vec<Box<[u8]>>,
    slot_bytes: usize,
    completions: Vec<Completion>,
    /// The operation in flight of each slot, to be sent again if one of several connections is lost.
    operations: Vec<DataOp>,
    /// How many times each of them was sent.
    sent: Vec<u32>,
    /// Replies to operations that were rejected before they were sent, and those that arrived while calls were polled.
    ready: Vec<Reply>,
    awaited: AwaitedReplies<Result<(), OpError>>,
    pub(crate) facts: TargetFacts,
    pub(crate) mount: Mount,
    /// The server's last write verifier, which identifies its boot.
    verifier: Option<WriteVerifier>,
    policy: PolicyCount,
    /// The listing in progress.
    pub(crate) listing: Option<Listing>,
    /// The server has rejected READDIRPLUS, which is optional (RFC 1813, 3.3.17).
    pub(crate) lacks_readdirplus: bool,
}

impl NfsSession {
    pub(crate) fn new(
        channel: Channel<V3>,
        root: FileHandle,
        limits: FsInfo,
        spec: &SessionSpec,
        facts: TargetFacts,
        mount: Mount,
    ) -> Self {
        let index = channel.metadata_index();
        let state = NfsState {
            channel,
            files: OpenFileTable::default(),
            directories: Directories::new(root),
            limits,
            completions: Vec::with_capacity(spec.slots as usize + 1),
            operations: vec![DataOp::Flush { file: FileRef(0) }; spec.slots as usize],
            sent: vec![0; spec.slots as usize],
            ready: Vec::new(),
            awaited: AwaitedReplies::new(index + 1),
            buffers: vec![Box::default(); spec.slots as usize],
            slot_bytes: spec.slot_bytes as usize,
            facts,
            mount,
            verifier: None,
            policy: PolicyCount::default(),
            listing: None,
            lacks_readdirplus: false,
        };
        Self { state: Lent::new(state), index, requests: 0, calls: CallsInFlight::default() }
    }

    /// Result of the last metadata call, status first.
    pub(crate) fn metadata_result(&self) -> Reader<'_> {
        Reader::new(self.channel.metadata_result(self.index))
    }

    /// Performs one call and returns its result, status first. It repeats a call that the server answers with
    /// `NFS3ERR_JUKEBOX`, as servers do in their grace period, for as long as the caller waits.
    pub(crate) async fn request(
        &mut self,
        procedure: Procedure,
        arguments: impl Fn(&mut Writer),
    ) -> Result<Reader<'_>, OpError> {
        let mut delay = MIN_RETRY_DELAY;
        loop {
            self.request_once(procedure, &arguments).await?;
            // The server did nothing, so that repeating the call does nothing twice (RFC 1813, 2.6).
            let jukebox = NfsStatus::Jukebox.code().to_be_bytes();
            if self.channel.metadata_result(self.index).first_chunk() != Some(&jukebox) {
                break;
            }
            self.state.pause(tokio::time::sleep(delay)).await;
            delay = (delay * 2).min(MAX_RETRY_DELAY);
        }
        Ok(self.metadata_result())
    }

    async fn request_once(
        &mut self,
        procedure: Procedure,
        // Not generic: one copy for all procedures.
        arguments: &dyn Fn(&mut Writer),
    ) -> Result<(), OpError> {
        let at_step = |error: OpError| OpError { step: OpStep::Request(procedure.name()), ..error };
        if let Some(error) = self.channel.failure() {
            return Err(at_step(error));
        }
        let index = self.index;
        if !self.channel.is_idle(index) {
            let error = submit_error::abandoned_request(procedure.name());
            self.channel.give_up(error.clone());
            return Err(error);
        }
        self.channel.call(index, ExpectedReply::Metadata, procedure as u32, &[], arguments);
        self.awaited.expect(index);
        let mut sent = 1;
        let drives = !self.state.is_borrower();
        let result = self
            .state
            .wait(|state, cx| {
                loop {
                    if state.channel.is_orphan(index) {
                        state.channel.call_again(index, procedure as u32, &[], arguments);
                        sent += 1;
                    }
                    if let Some(result) = state.awaited.take(index) {
                        return Poll::Ready(result);
                    }
                    // A connection that was lost meanwhile leaves the call to be sent again.
                    if !drives || !(state.receive_calls(cx) || state.channel.is_orphan(index)) {
                        return Poll::Pending;
                    }
                }
            })
            .await;
        self.requests += sent + self.channel.take_resent(index);
        result.map_err(at_step)
    }

    /// Performs an operation, and counts its calls.
    async fn perform_counted(&mut self, op: &MetaOp) -> MetaReply {
        self.requests = 0;
        self.directories.begin_operation();
        let mut result = self.perform(op).await;
        // A kept directory handle may be stale. The server did nothing, so repeating the operation is safe.
        if matches!(&result, Err(error) if error.class == ErrorClass::Stale) && self.may_be_stale() {
            result = self.perform(op).await;
        }
        MetaReply { result, requests: self.requests }
    }

    /// Forgets the handles of directories; true if the operation may have used one. Of several operations in flight the session
    /// does not know which of them did.
    fn may_be_stale(&mut self) -> bool {
        self.directories.invalidate() || self.state.is_borrower()
    }

    /// Performs one of several operations in flight.
    async fn perform_one(mut self, op: MetaOp) -> MetaReply {
        self.state.enter();
        let reply = self.perform_counted(&op).await;
        self.state.leave();
        reply
    }
}

impl NfsState {
    fn check_record(
        &mut self,
        slot: Slot,
        len: u32,
        request: &'static str,
        limit: &str,
        max: u32,
    ) -> Result<(), OpError> {
        if len > max {
            return Err(submit_error::record_above_limit(request, len, limit, max));
        }
        match self.buffers.get_mut(slot.0 as usize) {
            Some(buffer) if len as usize <= self.slot_bytes => {
                buffer_pool::ensure(buffer, self.slot_bytes);
                Ok(())
            }
            _ => Err(submit_error::record_above_slot(request, len)),
        }
    }

    fn try_submit(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        if let Some(error) = self.channel.failure() {
            return Err(error);
        }
        let index = slot.0 as usize;
        if index >= self.buffers.len() || !self.channel.is_idle(index) {
            return Err(OpError::slot_not_idle());
        }
        self.check_operation(slot, op)?;
        self.operations[index] = op;
        self.sent[index] = 1;
        self.send(index, op, false)
    }

    fn check_operation(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        match op {
            DataOp::Read { len, .. } => self.check_record(slot, len, "READ", "rtmax", self.limits.read_max),
            DataOp::Write { len, .. } => {
                self.check_record(slot, len, "WRITE", "wtmax", self.limits.write_max)
            }
            DataOp::Flush { .. } => Ok(()),
        }
    }

    /// Encodes and queues the call of an operation; `again` if it is in flight and its connection is lost.
    #[inline]
    fn send(&mut self, index: usize, op: DataOp, again: bool) -> Result<(), OpError> {
        match op {
            DataOp::Read { file, offset, len } => {
                let handle = self.files.get(file)?.handle;
                let expected = ExpectedReply::Read { len };
                self.queue(index, expected, Procedure::Read, 0, again, |writer| {
                    put_range(writer, &handle, offset, len);
                });
            }
            DataOp::Write { file, offset, len, stability } => {
                let open = self.files.get(file)?;
                let handle = open.handle;
                let stability = open.stability(stability);
                // Counted by what each request carries, not by the plan, so that the check
                // `write-through` compares what was sent.
                self.policy.through += u64::from(stability == Stability::Durable);
                let expected = ExpectedReply::Write { file: file.0, len, stability };
                self.queue(index, expected, Procedure::Write, len, again, |writer| {
                    put_range(writer, &handle, offset, len);
                    writer.u32(stable_how(stability) as u32);
                    writer.u32(len);
                });
            }
            DataOp::Flush { file } => {
                let handle = self.files.get(file)?.handle;
                let expected = ExpectedReply::Flush { file: file.0 };
                // Offset 0 and count 0 commit the whole file (RFC 1813, 3.3.21).
                self.queue(index, expected, Procedure::Commit, 0, again, |writer| {
                    put_range(writer, &handle, 0, 0);
                });
            }
        }
        Ok(())
    }

    #[inline]
    fn queue(
        &mut self,
        index: usize,
        expected: ExpectedReply,
        procedure: Procedure,
        payload: u32,
        again: bool,
        arguments: impl Fn(&mut Writer),
    ) {
        let payload =
            self.buffers.get(index).and_then(|buffer| buffer.get(..payload as usize)).unwrap_or_default();
        if again {
            self.channel.call_again(index, procedure as u32, payload, &arguments);
        } else {
            self.channel.call(index, expected, procedure as u32, payload, arguments);
        }
    }

    /// Sends the operations of a lost connection on another one. True if there was one.
    fn send_orphans(&mut self) -> bool {
        let mut found = false;
        while let Some(index) = self.channel.take_orphan() {
            found = true;
            let Some(op) = self.operations.get(index).copied() else { continue };
            self.sent[index] += 1;
            if let Err(error) = self.send(index, op, true) {
                // The file was closed while its operation was in flight.
                self.channel.give_up(error);
            }
        }
        found
    }

    /// Sends what waits, and receives: replies to data operations are appended, others are delivered to the operations that await
    /// them. True if anything arrived.
    fn receive(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> bool {
        // The list belongs to the session, so that a call allocates nothing for its completion.
        let mut completions = std::mem::take(&mut self.completions);
        // The completions show whether there was one.
        let _ = self.channel.poll(cx, &mut self.buffers, &mut completions);
        while self.send_orphans() {
            let _ = self.channel.poll(cx, &mut self.buffers, &mut completions);
        }
        let arrived = !completions.is_empty();
        for Completion { index, expected, result, .. } in completions.drain(..) {
            if expected == ExpectedReply::Metadata {
                // Without effect if its caller has dropped its future.
                self.awaited.deliver(index, result.map(drop));
            } else {
                let result = self.check_reply(expected, result);
                // 1, even if the connection broke before its reply, unless the call was sent again on another one.
                let requests = self.sent[index] + self.channel.take_resent(index);
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

    #[inline]
    fn check_reply(
        &mut self,
        expected: ExpectedReply,
        result: Result<ReplyContent, OpError>,
    ) -> Result<u32, OpError> {
        let content = match (expected, result) {
            (_, Ok(content)) => content,
            (ExpectedReply::Flush { file }, Err(error)) => {
                return self.files.get(FileRef(file))?.without_commit(error);
            }
            (_, Err(error)) => return Err(error),
        };
        match (expected, content) {
            (_, ReplyContent::Read(count)) => Ok(count),
            (ExpectedReply::Write { file, len, stability }, ReplyContent::Written(written)) => {
                self.verifier = Some(written.verifier);
                if written.count != len {
                    return Err(submit_error::short_write(written.count, len));
                }
                if written.committed < stable_how(stability) {
                    let committed = written.committed.name();
                    let detail =
                        format!("FILE_SYNC was requested, the server answers {committed}: no write-through");
                    return Err(OpError::new(ErrorClass::Protocol, OpStep::Request("WRITE"), detail));
                }
                // Servers may write more durably than requested; the count shows what was measured.
                self.policy.stable += u64::from(written.committed == StableHow::FileSync);
                if written.committed == StableHow::Unstable
                    && let Ok(open) = self.files.get_mut(FileRef(file))
                {
                    open.record_write(written.verifier);
                }
                Ok(len)
            }
            (ExpectedReply::Flush { file }, ReplyContent::Committed(verifier)) => {
                self.verifier = Some(verifier);
                self.files.get_mut(FileRef(file))?.record_commit(verifier).map(|()| 0)
            }
            _ => Err(OpError::new(ErrorClass::Protocol, OpStep::Reply, "the result of another procedure")),
        }
    }
}

const fn stable_how(stability: Stability) -> StableHow {
    match stability {
        Stability::Unstable => StableHow::Unstable,
        Stability::Durable => StableHow::FileSync,
    }
}

/// Appends handle, offset and count, with which READ, WRITE and COMMIT begin.
#[inline]
fn put_range(writer: &mut Writer, handle: &FileHandle, offset: u64, count: u32) {
    handle.put(writer);
    writer.u64(offset);
    writer.u32(count);
}

impl Session for NfsSession {
    fn facts(&self) -> TargetFacts {
        let mut facts = self.facts.clone();
        facts.state(Fact::ClientCache, NO_CLIENT_CACHE);
        if let Some(verifier) = self.verifier {
            facts.state(Fact::WriteVerifier, format!("{:016x}", u64::from_be_bytes(verifier)));
        }
        if let Some(counts) = self.channel.datagrams() {
            facts.state(Fact::Retransmissions, counts.retransmissions.to_string());
            facts.state(Fact::DuplicateReplies, counts.duplicates.to_string());
        }
        if self.channel.losses() > 0 {
            facts.state(Fact::ConnectionsLost, self.channel.losses().to_string());
        }
        facts
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        let state = &mut *self.state;
        let buffer = &mut state.buffers[slot.0 as usize];
        buffer_pool::ensure(buffer, state.slot_bytes);
        buffer
    }

    fn release_buffers(&mut self) {
        if self.channel.release_buffers() {
            self.buffers.iter_mut().for_each(buffer_pool::give_back);
        }
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        match op {
            DataOp::Read { len, .. } => len.min(self.limits.read_max),
            DataOp::Write { len, .. } => len.min(self.limits.write_max),
            DataOp::Flush { .. } => 0,
        }
    }

    #[inline]
    fn submit(&mut self, slot: Slot, op: DataOp) {
        let state = &mut *self.state;
        if let Err(error) = state.try_submit(slot, op) {
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

    fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(async move { self.perform_counted(&op).await })
    }

    fn submit_call(&mut self, slot: Slot, op: MetaOp) -> Result<(), OpError> {
        if let Some(error) = self.channel.failure() {
            return Err(error);
        }
        let index = slot.0 as usize;
        if index >= self.buffers.len() || !self.channel.is_idle(index) || !self.calls.is_idle(slot) {
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
        let continues = |state: &NfsState, index: usize| {
            !state.awaited.is_awaited(index) || state.channel.is_orphan(index)
        };
        loop {
            self.calls.poll(&mut self.state, continues, cx, replies);
            if replies.len() > before {
                return Poll::Ready(());
            }
            let arrived = self.state.receive_calls(cx);
            if !arrived && !self.calls.any(|index| self.state.channel.is_orphan(index)) {
                return Poll::Pending;
            }
        }
    }

    /// NULL (RFC 1813, 3.3.0).
    fn empty_request(&mut self) -> LocalBoxFuture<'_, Option<Result<(), OpError>>> {
        Box::pin(async move { Some(self.request_once(Procedure::Null, &|_: &mut Writer| {}).await) })
    }

    fn wire(&self) -> WireCount {
        self.channel.wire()
    }

    fn policy_count(&self) -> PolicyCount {
        self.policy
    }

    fn tcp(&self) -> Option<TcpReading> {
        (!self.mount.options.route.far.is_simulated()).then(|| self.channel.tcp()).flatten()
    }

    fn socket(&self) -> Option<&TcpStream> {
        self.channel.socket()
    }

    fn time_arrivals(&mut self) -> bool {
        self.channel.time_arrivals()
    }

    fn last_arrival_ns(&self) -> Option<u64> {
        self.channel.last_arrival_ns()
    }

    fn modified<'a>(&'a mut self, path: &'a str) -> LocalBoxFuture<'a, Option<SystemTime>> {
        Box::pin(async move {
            let (_, attributes) = self.find(path).await.ok()?;
            let time = attributes.modified;
            SystemTime::UNIX_EPOCH
                .checked_add(Duration::new(u64::from(time.seconds), time.nanos.min(999_999_999)))
        })
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async move {
            let NfsState { mut channel, mut buffers, mount, .. } = self.state.into_inner();
            let _ = tokio::time::timeout(DESTROY_TIMEOUT, log_out(&mut channel, &mut buffers)).await;
            // The connection is closed first: UMNT goes to the mount service over a connection of its own.
            drop(channel);
            mount.unmount().await;
        })
    }
}
