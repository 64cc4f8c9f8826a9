//! A directory of a share over the connections of one session, as the engine drives it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::task::Context;
use std::time::{Duration, SystemTime};

use sharebench_client_core::{
    Caller, Connection, OpenFileTable, Protocol, ReplyQueues, TransferLimit, TransferLimits,
};
use sharebench_model::{
    DataOp, Fact, FileRef, NO_CLIENT_CACHE, OpError, PolicyCount, Reply, Slot, TargetFacts, TcpReading,
    WireCount,
};
use sharebench_relay::Far;
use tokio::net::TcpStream;

use crate::client::channels::pending_replies::Completion;
use crate::client::channels::requests::Request;
use crate::client::channels::session_channels::ChannelGrant;
use crate::client::channels::session_channels::Channels;
use crate::client::channels::session_counts::SessionCounts;
use crate::client::channels::slot_buffers::SlotBuffers;
use crate::client::exchange::Exchange;
use crate::client::names::policy::{read_flags, write_flags};
use crate::client::names::share_paths::SharePaths;
use crate::client::negotiated::{DIRECTORY_LEASING, LEASING, Negotiated};
use crate::client::open_file::{Copies, Listing, OpenFile};
use crate::client::rights::lease_choice::LeaseChoice;
use crate::wire::header::command;
use crate::wire::simple::Empty;

/// How long to wait for the response to a log-off.
pub(crate) const LOG_OFF_TIMEOUT: Duration = Duration::from_secs(2);

/// The operations of a session on a share, each one request after another. As a whole it is the session of one user
/// ([`Multiplexed`](sharebench_client_core::Multiplexed)). The handshake creates it after the directory was found to exist.
/// Closing it logs off, which also closes every file on the server.
#[derive(Debug)]
pub(crate) struct SmbSession(Caller<SmbState>);

impl Deref for SmbSession {
    type Target = Caller<SmbState>;

    #[inline]
    fn deref(&self) -> &Caller<SmbState> {
        &self.0
    }
}

impl DerefMut for SmbSession {
    #[inline]
    fn deref_mut(&mut self) -> &mut Caller<SmbState> {
        &mut self.0
    }
}

impl From<Caller<SmbState>> for SmbSession {
    fn from(caller: Caller<SmbState>) -> Self {
        Self(caller)
    }
}

/// What became of a metadata request of a slot, and how many requests it took.
type Arrived = (Result<u32, OpError>, u32);

/// The [`Channels`] of a session, and what the protocol remembers between requests: the open files, the directory of the URL
/// below the share, and what was negotiated. It caches no data and no attributes, also with a lease, so that every operation is
/// measured at the server.
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
    replies: ReplyQueues<Arrived>,
    /// Requests of the session before the operation in progress, if that is the only one.
    requests_before: u64,
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
        let replies = ReplyQueues::new(channels.buffers.count());
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
            replies,
            requests_before: 0,
            listing: None,
            watched: None,
            leased: None,
            copies: Copies::default(),
        };
        Self(Caller::new(state, 0))
    }

    /// The connections, which ends the session.
    pub(crate) fn into_channels(self) -> Channels {
        self.0.into_connection().channels
    }
}

/// Facts of what the URL requests beyond the usual.
impl SmbState {
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

impl Connection for SmbState {
    type Arrived = Arrived;
    type Payloads = SlotBuffers;

    fn facts(&self) -> TargetFacts {
        let mut facts = self.negotiated.facts();
        facts.state(Fact::ClientCache, NO_CLIENT_CACHE);
        self.add_lease_facts(&mut facts);
        facts.state(Fact::Credits, self.channels.credits().to_string());
        self.add_channel_facts(&mut facts);
        self.far.add_fact(&mut facts);
        facts
    }

    #[inline]
    fn failure(&self) -> Option<OpError> {
        self.channels.failure()
    }

    #[inline]
    fn is_idle(&self, slot: usize) -> bool {
        slot < self.channels.buffers.count() && self.channels.is_idle(slot)
    }

    #[inline]
    fn limits(&self) -> TransferLimits {
        TransferLimits {
            read: TransferLimit { name: "MaxReadSize", max: self.negotiated.max_read },
            write: TransferLimit { name: "MaxWriteSize", max: self.negotiated.max_write },
        }
    }

    #[inline]
    fn payloads(&mut self) -> &mut SlotBuffers {
        &mut self.channels.buffers
    }

    fn release_buffers(&mut self) {
        self.channels.release_buffers();
    }

    #[inline]
    fn start(&mut self, slot: usize, op: DataOp) -> Result<(), OpError> {
        let request = match op {
            DataOp::Read { file, offset, len } => {
                let file = *self.files.get(file)?;
                let flags = read_flags(file.policy, self.negotiated.dialect);
                Request::Read { file, offset, len, flags }
            }
            DataOp::Write { file, offset, len, stability } => {
                let file = *self.files.get(file)?;
                let flags = write_flags(file.policy, stability, self.negotiated.dialect)?;
                Request::Write { file, offset, len, flags }
            }
            DataOp::Flush { file } => Request::Flush { file: self.files.get(file)?.id },
        };
        self.channels.submit(slot, request);
        Ok(())
    }

    fn drive(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> bool {
        // The list belongs to the session, so that polling does not allocate; it is taken because the channels
        // are borrowed mutably at the same time.
        let mut completions = std::mem::take(&mut self.completions);
        // The completions show whether there was one.
        let _ = self.channels.poll(cx, &mut completions);
        let arrived = !completions.is_empty();
        for Completion { index, request, result, requests } in completions.drain(..) {
            if matches!(request, Request::Metadata { .. }) {
                // Without effect if its caller has dropped its future: its reply belongs to nobody.
                self.replies.calls.deliver(index, (result, requests));
            } else {
                replies.push(Reply { slot: Slot(index as u32), result, requests });
            }
        }
        self.completions = completions;
        arrived
    }

    /// Acknowledges breaks of leases: another user waits for it.
    fn keep_alive(&mut self, cx: &mut Context<'_>) {
        if self.lease != LeaseChoice::None || self.leased.is_some() {
            self.channels.listen(cx);
        }
    }

    #[inline]
    fn replies(&self) -> &ReplyQueues<Arrived> {
        &self.replies
    }

    #[inline]
    fn replies_mut(&mut self) -> &mut ReplyQueues<Arrived> {
        &mut self.replies
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
}

impl Protocol for SmbSession {
    type Connection = SmbState;

    fn begin(&mut self) {
        self.requests_before = self.wire().requests;
    }

    /// The only operation counts all requests of the session, such as acknowledgments.
    fn requests(&self) -> u32 {
        if self.is_one_of_several() {
            self.0.requests
        } else {
            (self.wire().requests - self.requests_before) as u32
        }
    }

    /// ECHO (MS-SMB2 2.2.28).
    async fn empty_request(&mut self) -> Result<(), OpError> {
        let echo = Empty::default();
        self.request(command::ECHO, |body| echo.encode(body)).await.map(drop)
    }

    async fn request_caching(&mut self, path: &str) -> Option<Result<bool, OpError>> {
        Some(self.is_caching_granted(path).await)
    }

    async fn modified(&mut self, path: &str) -> Option<SystemTime> {
        self.last_write(path).await.ok().flatten()
    }

    async fn snapshots(&mut self) -> Option<u32> {
        self.number_of_snapshots().await.ok().flatten()
    }

    async fn close(mut self) {
        // A log-off closes every open file of the session (MS-SMB2 3.3.5.6).
        let _ = tokio::time::timeout(LOG_OFF_TIMEOUT, self.channels.log_off()).await;
    }
}
