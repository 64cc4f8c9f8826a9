//! A mounted export over one connection, as the engine drives it.

use std::task::Context;
use std::time::{Duration, SystemTime};

use sharebench_client_core::{
    Caller, Connection, Protocol, ReplyQueues, SlotPayloads, TransferLimit, TransferLimits, submit_error,
};
use sharebench_model::{
    DataOp, Fact, FileRef, NO_CLIENT_CACHE, OpError, OpStep, PolicyCount, Reply, Slot, TargetFacts,
    TcpReading, WireCount,
};
use sharebench_target::SessionSpec;
use tokio::net::TcpStream;

use crate::client::caller::NfsCaller;
use crate::client::directories::Directories;
use crate::client::directory_walk::Listing;
use crate::client::open_files::{OpenFiles, stable_how};
use crate::client::rpc::calls::ExpectedReply;
use crate::client::rpc::channel::Channel;
use crate::client::rpc::gss_login::log_out;
use crate::client::rpc::replies::Completion;
use crate::client::v3::dialect::V3;
use crate::client::v3::mount::Mount;
use crate::protocol::{FileHandle, Procedure};
use crate::results::FsInfo;
use crate::status::NfsStatus;
use crate::xdr::{Reader, Writer};

/// Delays between repetitions of a call that the server answers with `NFS3ERR_JUKEBOX`: the first one, then doubled.
// Short at first, because a grace period may be nearly over, and at most a second, so that the end of
// it is noticed soon.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long to wait for the end of the security contexts.
const DESTROY_TIMEOUT: Duration = Duration::from_secs(1);

/// The operations of a mounted export. Mounting creates it, looks up the URL's directory through it, and completes it with the
/// limits and facts. Closing it unmounts.
pub(crate) type NfsSession = NfsCaller<NfsState>;

/// The connection of a mounted export, and what the protocol remembers between calls: the open files with their write
/// verifiers, the handles of directories, and the server's limits. Each data operation is one READ, WRITE or COMMIT.
#[derive(Debug)]
pub(crate) struct NfsState {
    pub(crate) channel: Channel<V3>,
    pub(crate) files: OpenFiles<FileHandle>,
    pub(crate) directories: Directories<FileHandle>,
    pub(crate) limits: FsInfo,
    payloads: SlotPayloads,
    completions: Vec<Completion>,
    /// The operation in flight of each slot, to be sent again if one of several connections is lost.
    operations: Vec<DataOp>,
    /// How many times each of them was sent.
    sent: Vec<u32>,
    replies: ReplyQueues<Result<(), OpError>>,
    pub(crate) facts: TargetFacts,
    pub(crate) mount: Mount,
    /// The listing in progress.
    pub(crate) listing: Option<Listing<FileHandle>>,
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
        let slots = spec.slots as usize;
        let state = NfsState {
            channel,
            files: OpenFiles::default(),
            directories: Directories::new(root),
            limits,
            payloads: SlotPayloads::new(slots, spec.slot_bytes as usize),
            completions: Vec::with_capacity(slots + 1),
            operations: vec![DataOp::Flush { file: FileRef(0) }; slots],
            sent: vec![0; slots],
            replies: ReplyQueues::new(index + 1),
            facts,
            mount,
            listing: None,
            lacks_readdirplus: false,
        };
        Self(Caller::new(state, index))
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
            self.pause(tokio::time::sleep(delay)).await;
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
        let mut sent = 1;
        let result = self
            .reply(|state| {
                state.channel.call_again(index, procedure as u32, &[], arguments);
                sent += 1;
            })
            .await;
        self.requests += sent + self.channel.take_resent(index);
        result.map_err(at_step)
    }
}

impl NfsState {
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
                self.files.count_write(stability);
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
        let payload = self.payloads.prefix(index, payload as usize).unwrap_or_default();
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
}

/// Appends handle, offset and count, with which READ, WRITE and COMMIT begin.
#[inline]
fn put_range(writer: &mut Writer, handle: &FileHandle, offset: u64, count: u32) {
    handle.put(writer);
    writer.u64(offset);
    writer.u32(count);
}

impl Connection for NfsState {
    type Arrived = Result<(), OpError>;
    type Payloads = SlotPayloads;

    fn facts(&self) -> TargetFacts {
        let mut facts = self.facts.clone();
        facts.state(Fact::ClientCache, NO_CLIENT_CACHE);
        self.files.add_fact(&mut facts);
        if let Some(counts) = self.channel.datagrams() {
            facts.state(Fact::Retransmissions, counts.retransmissions.to_string());
            facts.state(Fact::DuplicateReplies, counts.duplicates.to_string());
        }
        if self.channel.losses() > 0 {
            facts.state(Fact::ConnectionsLost, self.channel.losses().to_string());
        }
        facts
    }

    #[inline]
    fn failure(&self) -> Option<OpError> {
        self.channel.failure()
    }

    #[inline]
    fn is_idle(&self, slot: usize) -> bool {
        slot < self.payloads.count() && self.channel.is_idle(slot)
    }

    #[inline]
    fn limits(&self) -> TransferLimits {
        TransferLimits {
            read: TransferLimit { name: "rtmax", max: self.limits.read_max },
            write: TransferLimit { name: "wtmax", max: self.limits.write_max },
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
        self.operations[slot] = op;
        self.sent[slot] = 1;
        self.send(slot, op, false)
    }

    fn drive(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> bool {
        // The list belongs to the session, so that a call allocates nothing for its completion.
        let mut completions = std::mem::take(&mut self.completions);
        // The completions show whether there was one.
        let _ = self.channel.poll(cx, self.payloads.slots(), &mut completions);
        while self.send_orphans() {
            let _ = self.channel.poll(cx, self.payloads.slots(), &mut completions);
        }
        let arrived = !completions.is_empty();
        for Completion { index, expected, result, .. } in completions.drain(..) {
            if expected == ExpectedReply::Metadata {
                // Without effect if its caller has dropped its future.
                self.replies.calls.deliver(index, result.map(drop));
            } else {
                let result = self.files.check_reply(expected, result);
                // 1, even if the connection broke before its reply, unless the call was sent again on another one.
                let requests = self.sent[index] + self.channel.take_resent(index);
                replies.push(Reply { slot: Slot(index as u32), result, requests });
            }
        }
        self.completions = completions;
        arrived
    }

    fn keep_alive(&mut self, _cx: &mut Context<'_>) {}

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
}

impl Protocol for NfsSession {
    type Connection = NfsState;

    fn begin(&mut self) {
        self.requests = 0;
        self.directories.begin_operation();
    }

    /// Of several operations in flight the session does not know which of them has used a kept handle.
    fn forget_handles(&mut self) -> bool {
        self.directories.invalidate() || self.is_one_of_several()
    }

    /// NULL (RFC 1813, 3.3.0).
    async fn empty_request(&mut self) -> Result<(), OpError> {
        self.request_once(Procedure::Null, &|_: &mut Writer| {}).await
    }

    async fn modified(&mut self, path: &str) -> Option<SystemTime> {
        let (_, attributes) = self.find(path).await.ok()?;
        let time = attributes.modified;
        SystemTime::UNIX_EPOCH
            .checked_add(Duration::new(u64::from(time.seconds), time.nanos.min(999_999_999)))
    }

    async fn close(self) {
        let NfsState { mut channel, mut payloads, mount, .. } = self.0.into_connection();
        let _ = tokio::time::timeout(DESTROY_TIMEOUT, log_out(&mut channel, payloads.slots())).await;
        // The connection is closed first: UMNT goes to the mount service over a connection of its own.
        drop(channel);
        mount.unmount().await;
    }
}
