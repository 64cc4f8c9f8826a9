//! A session of NFSv4 as the engine drives it.

use std::collections::VecDeque;
use std::future::Future;
use std::net::SocketAddr;
use std::task::Context;
use std::time::Duration;

use sharebench_client_core::{
    Caller, Connection, Protocol, ReplyQueues, SlotPayloads, TransferLimit, TransferLimits,
};
use sharebench_model::{
    DataOp, Fact, FileRef, NO_CLIENT_CACHE, OpError, PolicyCount, Reply, Slot, TargetFacts, TcpReading,
    WireCount,
};
use sharebench_target::SessionSpec;
use tokio::net::TcpStream;

use crate::client::caller::NfsCaller;
use crate::client::directories::Directories;
use crate::client::directory_walk::Listing;
use crate::client::open_files::OpenFiles;
use crate::client::options::NfsOptions;
use crate::client::rpc::channel::Channel;
use crate::client::rpc::dialect::Verdict;
use crate::client::rpc::gss_login::log_out;
use crate::client::rpc::replies::Completion;
use crate::client::v4::callbacks::CallbackSlot;
use crate::client::v4::dialect::V4;
use crate::client::v4::owners::Owners;
use crate::client::v4::recovery::Recovery;
use crate::client::v4::slots::{Position, SlotTable};
use crate::client::v4::states::{HeldDelegation, OpenState, SparseReads};
use crate::results::FsInfo;
use crate::v4::data::FileHandle4;

/// How long to wait for the end of the session at the server.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The operation of a slot while it is in flight or waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) op: DataOp,
    /// Number of times that it was sent.
    pub(crate) sent: u32,
    /// Slot of the server's session.
    pub(crate) position: Option<Position>,
}

/// The operations of a session with an NFSv4 server.
pub(crate) type Nfs4Session = NfsCaller<Nfs4State>;

/// The connections of a session, and what the protocol remembers: the client id, the slots of the server's session (from minor
/// version 1 on), the open files with their states, and the handles of directories.
///
/// The engine's slots and those of the server's session are different things: a data operation takes a free slot of the
/// server's session when it is sent, and waits for one in `waiting` if the server has granted fewer than the queue depth.
///
/// Each data operation is one COMPOUND of SEQUENCE, PUTFH and READ, WRITE or COMMIT; with `compound=on`, a whole small file
/// is one COMPOUND as well. If the server postpones it
/// (`NFS4ERR_DELAY`), or its connection is lost, it is sent again, and its reply counts each time. From minor version 1 on
/// a repeated call has the slot and the number of the first attempt, so that the server performs it only once. The
/// session wants no layouts, and delegations only for [`SessionOp::OpenDelegated`], so that every operation is measured at the
/// server.
#[derive(Debug)]
pub(crate) struct Nfs4State {
    pub(crate) channel: Channel<V4>,
    pub(crate) files: OpenFiles<OpenState>,
    pub(crate) directories: Directories<FileHandle4>,
    pub(crate) limits: FsInfo,
    pub(crate) payloads: SlotPayloads,
    pub(crate) completions: Vec<Completion>,
    pub(crate) replies: ReplyQueues<Result<Verdict, OpError>>,
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
    pub(crate) listing: Option<Listing<FileHandle4>>,
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
            files: OpenFiles::default(),
            directories: Directories::new(unknown),
            limits: FsInfo::default(),
            payloads: SlotPayloads::new(slots, spec.slot_bytes as usize),
            completions: Vec::with_capacity(slots + 2),
            replies: ReplyQueues::new(index + 1),
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
            listing: None,
            replaced: 0,
            is_establishing: true,
            sparse_reads: SparseReads::default(),
        };
        Self(Caller::new(state, index))
    }
}

impl Nfs4State {
    /// True from minor version 1 on, once the session exists.
    pub(crate) fn is_sequenced(&self) -> bool {
        self.slots.is_some()
    }
}

impl Connection for Nfs4State {
    type Arrived = Result<Verdict, OpError>;
    type Payloads = SlotPayloads;

    fn facts(&self) -> TargetFacts {
        let mut facts = self.facts.clone();
        facts.state(Fact::ClientCache, NO_CLIENT_CACHE);
        self.files.add_fact(&mut facts);
        if self.channel.losses() > 0 {
            facts.state(Fact::ConnectionsLost, self.channel.losses().to_string());
        }
        if self.replaced > 0 {
            facts.state(Fact::ClientsReplaced, self.replaced.to_string());
        }
        facts
    }

    #[inline]
    fn failure(&self) -> Option<OpError> {
        self.channel.failure()
    }

    #[inline]
    fn is_idle(&self, slot: usize) -> bool {
        slot < self.payloads.count() && self.channel.is_idle(slot) && !self.recovery.is_delayed(slot)
    }

    #[inline]
    fn limits(&self) -> TransferLimits {
        TransferLimits {
            read: TransferLimit { name: "maxread", max: self.limits.read_max },
            write: TransferLimit { name: "maxwrite", max: self.limits.write_max },
        }
    }

    #[inline]
    fn payloads(&mut self) -> &mut SlotPayloads {
        &mut self.payloads
    }

    fn release_buffers(&mut self) {
        if self.channel.release_buffers() {
            self.payloads.release();
        }
    }

    #[inline]
    fn start(&mut self, slot: usize, op: DataOp) -> Result<(), OpError> {
        self.begin(slot, op)
    }

    fn drive(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> bool {
        self.take_turn(cx, replies, false)
    }

    fn keep_alive(&mut self, cx: &mut Context<'_>) {
        self.renew_while_idle(cx);
    }

    #[inline]
    fn replies(&self) -> &ReplyQueues<Self::Arrived> {
        &self.replies
    }

    #[inline]
    fn replies_mut(&mut self) -> &mut ReplyQueues<Self::Arrived> {
        &mut self.replies
    }

    #[inline]
    fn must_resend(&self, index: usize) -> bool {
        self.channel.is_orphan(index)
    }

    fn wire(&self) -> WireCount {
        self.channel.wire()
    }

    fn policy_count(&self) -> PolicyCount {
        self.files.policy_count()
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
}

impl Protocol for Nfs4Session {
    type Connection = Nfs4State;

    fn begin(&mut self) {
        self.requests = 0;
        self.directories.begin_operation();
    }

    /// Of several operations in flight the session does not know which of them has used a kept handle.
    fn forget_handles(&mut self) -> bool {
        self.directories.invalidate() || self.is_one_of_several()
    }

    fn reads_whole_files(&self) -> bool {
        self.options.compound
    }

    /// SEQUENCE, PUTFH of the directory, OPEN, READ and CLOSE as one COMPOUND.
    fn read_whole(&mut self, slot: Slot, path: &str, len: u32) -> impl Future<Output = Result<u32, OpError>> {
        self.read_whole_file(slot, path, len)
    }

    /// A COMPOUND of SEQUENCE alone, or NULL in minor version 0 (RFC 7530, 15.1).
    async fn empty_request(&mut self) -> Result<(), OpError> {
        self.empty().await
    }

    async fn close(mut self) {
        let closing = async {
            self.end().await;
            let state = &mut **self;
            log_out(&mut state.channel, state.payloads.slots()).await;
        };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
    }
}
