//! A session of NFSv4 as the engine drives it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_client_core::{AwaitedReplies, CallsInFlight, Lent, OpenFileTable};
use sharebench_model::{
    DataOp, ErrorClass, Fact, FileRef, MetaOp, MetaReply, MetaYield, NO_CLIENT_CACHE, OpError, PolicyCount,
    Reply, Slot, TargetFacts, TcpReading, WireCount,
};
use sharebench_target::{CallReply, LocalBoxFuture, Session, SessionSpec, buffer_pool};
use tokio::net::TcpStream;

use crate::client::channel::Channel;
use crate::client::dialect::Verdict;
use crate::client::directories::Directories;
use crate::client::gss_login::log_out;
use crate::client::open_file::OpenFile;
use crate::client::options::NfsOptions;
use crate::client::replies::Completion;
use crate::client::v4::callbacks::CallbackSlot;
use crate::client::v4::delegations::HeldDelegation;
use crate::client::v4::dialect::V4;
use crate::client::v4::listing::Listing;
use crate::client::v4::locks::LockState;
use crate::client::v4::owners::Owners;
use crate::client::v4::recovery::Recovery;
use crate::client::v4::slots::{Position, SlotTable};
use crate::client::v4::sparse_read::SparseReads;
use crate::results::{FsInfo, WriteVerifier};
use crate::v4::data::{FileHandle4, StateId};

/// How long to wait for the end of the session at the server.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// An open file: its handle, the state of its open, and the owner of the open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenState {
    pub(crate) handle: FileHandle4,
    pub(crate) state: StateId,
    pub(crate) owner: u32,
    /// Its locks; none before the first one.
    pub(crate) locks: Option<LockState>,
}

/// The operation of a slot while it is in flight or waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) op: DataOp,
    /// Number of times that it was sent.
    pub(crate) sent: u32,
    /// Slot of the server's session.
    pub(crate) position: Option<Position>,
}

/// One user's session with an NFSv4 server: the NFSv4 implementation of [`Session`].
///
/// It owns the [`Channel`], the slots' buffers, and what the protocol remembers: the client id, the slots of the server's
/// session (from minor version 1 on), the open files with their states, and the handles of directories. The engine's
/// slots and those of the server's session are different things: a data operation takes a free slot of the server's
/// session when it is sent, and waits for one in `waiting` if the server has granted fewer than the queue depth.
///
/// Each data operation is one COMPOUND of SEQUENCE, PUTFH and READ, WRITE or COMMIT; with `compound=on`, a whole small file
/// is one COMPOUND as well. If the server postpones it
/// (`NFS4ERR_DELAY`), or its connection is lost, it is sent again, and its reply counts each time. From minor version 1 on
/// a repeated call has the slot and the number of the first attempt, so that the server performs it only once. The
/// session caches no data and no attributes, and it wants no layouts, and delegations only for [`MetaOp::OpenDelegated`], so
/// that every operation is measured at the server.
///
/// The state is [`Lent`], as in [`NfsSession`](crate::client::session::NfsSession): each of several operations in flight has a
/// session value of its own.
#[derive(Debug)]
pub(crate) struct Nfs4Session {
    pub(crate) state: Lent<Nfs4State>,
    /// Index of the calls of its operations.
    pub(crate) index: usize,
    /// Calls of the operation in progress.
    pub(crate) requests: u32,
    calls: CallsInFlight,
}

impl Deref for Nfs4Session {
    type Target = Nfs4State;

    #[inline]
    fn deref(&self) -> &Nfs4State {
        &self.state
    }
}

impl DerefMut for Nfs4Session {
    #[inline]
    fn deref_mut(&mut self) -> &mut Nfs4State {
        &mut self.state
    }
}

/// What all operations of a session share.
#[derive(Debug)]
pub(crate) struct Nfs4State {
    pub(crate) channel: Channel<V4>,
    pub(crate) files: OpenFileTable<OpenFile<OpenState>>,
    pub(crate) directories: Directories<FileHandle4>,
    pub(crate) limits: FsInfo,
    /// One buffer per slot; empty while the session is idle.
    pub(crate) buffers: Vec<Box<[u8]>>,
    pub(crate) slot_bytes: usize,
    pub(crate) completions: Vec<Completion>,
    /// Replies to operations that were rejected before they were sent, and those that arrived while calls were polled.
    pub(crate) ready: Vec<Reply>,
    /// The verdicts of metadata calls, by index.
    pub(crate) awaited: AwaitedReplies<Result<Verdict, OpError>>,
    pub(crate) pending: Vec<Pending>,
    /// Operations that wait for a slot of the server's session.
    pub(crate) waiting: VecDeque<usize>,
    pub(crate) minor: u32,
    pub(crate) client_id: u64,
    /// None in minor version 0, and before the session exists.
    pub(crate) slots: Option<SlotTable>,
    /// Slots of the metadata calls, by index.
    pub(crate) call_positions: Vec<Option<Position>>,
    pub(crate) owners: Owners,
    pub(crate) callback_slot: CallbackSlot,
    /// The delegation of a test that is about them.
    pub(crate) delegation: Option<HeldDelegation>,
    pub(crate) recovery: Recovery,
    pub(crate) facts: TargetFacts,
    pub(crate) options: NfsOptions,
    pub(crate) address: SocketAddr,
    /// The server's last write verifier, which identifies its boot.
    pub(crate) verifier: Option<WriteVerifier>,
    pub(crate) policy: PolicyCount,
    pub(crate) listing: Option<Listing>,
    /// How often the server had forgotten the client while nothing was open.
    pub(crate) replaced: u32,
    /// True while the client becomes known to the server. A server that forgets it meanwhile would be asked without end,
    /// so a failure then is final.
    pub(crate) is_establishing: bool,
    /// How files with holes are read.
    pub(crate) sparse_reads: SparseReads,
}

impl Nfs4Session {
    /// A session without client id, for the calls that establish it.
    pub(crate) fn new(
        channel: Channel<V4>,
        minor: u32,
        spec: &SessionSpec,
        options: &NfsOptions,
        address: SocketAddr,
    ) -> Self {
        let slots = spec.slots as usize;
        let idle = Pending { op: DataOp::Flush { file: FileRef(0) }, sent: 0, position: None };
        let unknown = FileHandle4::default();
        let index = channel.metadata_index();
        let state = Nfs4State {
            channel,
            files: OpenFileTable::default(),
            directories: Directories::new(unknown),
            limits: FsInfo::default(),
            buffers: vec![Box::default(); slots],
            slot_bytes: spec.slot_bytes as usize,
            completions: Vec::with_capacity(slots + 2),
            ready: Vec::new(),
            awaited: AwaitedReplies::new(index + 1),
            pending: vec![idle; slots],
            waiting: VecDeque::with_capacity(slots),
            minor,
            client_id: 0,
            slots: None,
            call_positions: vec![None; index + 1],
            owners: Owners::default(),
            callback_slot: CallbackSlot::default(),
            delegation: None,
            recovery: Recovery::new(spec.connect_timeout),
            facts: TargetFacts::new(),
            options: options.clone(),
            address,
            verifier: None,
            policy: PolicyCount::default(),
            listing: None,
            replaced: 0,
            is_establishing: true,
            sparse_reads: SparseReads::default(),
        };
        Self { state: Lent::new(state), index, requests: 0, calls: CallsInFlight::default() }
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

    /// Reads a whole file into the buffer of `slot`, and counts the calls.
    async fn read_whole_counted(&mut self, slot: Slot, path: &str, len: u32) -> Reply {
        self.requests = 0;
        self.directories.begin_operation();
        let mut result = self.read_whole(slot, path, len).await;
        if result.as_ref().is_err_and(|error| error.class == ErrorClass::Stale) && self.may_be_stale() {
            // As with every operation on names: a kept directory handle was stale.
            result = self.read_whole(slot, path, len).await;
        }
        Reply { slot, result, requests: self.requests }
    }

    /// Reads a whole file as one of several operations in flight.
    async fn read_whole_one(mut self, slot: Slot, path: String, len: u32) -> MetaReply {
        self.state.enter();
        let Reply { result, requests, .. } = self.read_whole_counted(slot, &path, len).await;
        self.state.leave();
        MetaReply { result: result.map(|bytes| MetaYield::Bytes(bytes.into())), requests }
    }

    /// A session value for an operation that begins in a slot.
    ///
    /// # Errors
    /// The session is lost, or the slot has an operation in flight.
    fn begin_in(&mut self, slot: Slot) -> Result<Self, OpError> {
        if let Some(error) = self.channel.failure() {
            return Err(error);
        }
        let index = slot.0 as usize;
        let is_idle = self.channel.is_idle(index) && !self.recovery.is_delayed(index);
        if index >= self.buffers.len() || !is_idle || !self.calls.is_idle(slot) {
            return Err(OpError::slot_not_idle());
        }
        Ok(Self { state: self.state.borrower(), index, requests: 0, calls: CallsInFlight::default() })
    }
}

impl Nfs4State {
    /// True from minor version 1 on, once the session exists.
    pub(crate) fn is_sequenced(&self) -> bool {
        self.slots.is_some()
    }
}

impl Session for Nfs4Session {
    fn facts(&self) -> TargetFacts {
        let mut facts = self.facts.clone();
        facts.state(Fact::ClientCache, NO_CLIENT_CACHE);
        if let Some(verifier) = self.verifier {
            facts.state(Fact::WriteVerifier, format!("{:016x}", u64::from_be_bytes(verifier)));
        }
        if self.channel.losses() > 0 {
            facts.state(Fact::ConnectionsLost, self.channel.losses().to_string());
        }
        if self.replaced > 0 {
            facts.state(Fact::ClientsReplaced, self.replaced.to_string());
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

    fn poll_keepalive(&mut self, cx: &mut Context<'_>) {
        self.keep_alive(cx);
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
        loop {
            // The result is ignored: rejected operations make the session ready even if the channel is pending.
            let progress = state.drive(cx, replies, false);
            // What was queued meanwhile is sent at once, unless the caller will poll again anyway.
            if replies.len() > before || !progress {
                break;
            }
        }
        if replies.len() > before { Poll::Ready(()) } else { Poll::Pending }
    }

    fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(async move { self.perform_counted(&op).await })
    }

    fn submit_call(&mut self, slot: Slot, op: MetaOp) -> Result<(), OpError> {
        let one = self.begin_in(slot)?;
        if !op.can_overlap() {
            return Err(OpError::cannot_overlap());
        }
        self.calls.begin(slot, Box::pin(one.perform_one(op)));
        Ok(())
    }

    fn poll_calls(&mut self, cx: &mut Context<'_>, replies: &mut Vec<CallReply>) -> Poll<()> {
        let before = replies.len();
        let continues = |state: &Nfs4State, index: usize| {
            !state.awaited.is_awaited(index) || state.channel.is_orphan(index)
        };
        loop {
            self.calls.poll(&mut self.state, continues, cx, replies);
            if replies.len() > before {
                return Poll::Ready(());
            }
            let progress = self.state.drive_calls(cx);
            if !progress && !self.calls.any(|index| self.state.channel.is_orphan(index)) {
                return Poll::Pending;
            }
        }
    }

    fn reads_whole_files(&self) -> bool {
        self.options.compound
    }

    /// SEQUENCE, PUTFH of the directory, OPEN, READ and CLOSE as one COMPOUND.
    fn read_file<'a>(&'a mut self, path: &'a str, len: u32) -> LocalBoxFuture<'a, Reply> {
        Box::pin(async move { self.read_whole_counted(Slot(0), path, len).await })
    }

    fn submit_read_file(&mut self, slot: Slot, path: String, len: u32) -> Result<(), OpError> {
        let one = self.begin_in(slot)?;
        self.calls.begin(slot, Box::pin(one.read_whole_one(slot, path, len)));
        Ok(())
    }

    /// A COMPOUND of SEQUENCE alone, or NULL in minor version 0 (RFC 7530, 15.1).
    fn empty_request(&mut self) -> LocalBoxFuture<'_, Option<Result<(), OpError>>> {
        Box::pin(async move { Some(self.empty().await) })
    }

    fn wire(&self) -> WireCount {
        self.channel.wire()
    }

    fn policy_count(&self) -> PolicyCount {
        self.policy
    }

    fn tcp(&self) -> Option<TcpReading> {
        (!self.options.route.far.is_simulated()).then(|| self.channel.tcp()).flatten()
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

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        let mut session = self;
        Box::pin(async move {
            let closing = async {
                session.end().await;
                let state = &mut *session.state;
                log_out(&mut state.channel, &mut state.buffers).await;
            };
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
        })
    }
}
