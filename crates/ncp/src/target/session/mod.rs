//! A session on a volume over one or several connections, as the engine drives it.

pub(crate) mod cache;
pub(crate) mod cache_table;
pub(crate) mod connection;
mod connection_cache;
pub(crate) mod files;
mod listing;
mod locks;
mod names;
mod ranges;

use std::sync::Arc;
use std::task::{Context, Poll};

use sharebench_client_core::OpenFileTable;
use sharebench_model::{
    DataOp, ErrorClass, MetaReply, OpError, OpStep, PolicyCount, Reply, SessionOp, Slot, Stability,
    TargetFacts, WireCount,
};
use sharebench_target::{Extensions, Idle, LocalBoxFuture, Probe, Readings, Session, buffer_pool, perform};

use crate::client::{Client, Direction, Semaphore};
use crate::target::losses::{LossCounts, LossTotals};
use crate::target::options::NcpOptions;
use crate::target::session::cache::CacheSize;
use crate::target::session::cache_table::CacheTable;
use crate::target::session::connection::Connection;
use crate::target::session::files::OpenFile;
use crate::target::session::listing::Listing;
use crate::target::short_names::ShortNames;
use crate::target::transport::SocketTransport;
use crate::wire::name_space::space;
use crate::wire::server_info::GetDateAndTime;

/// The session of one job or user: slot `n` uses connection `n`.
///
/// It owns the connections, the open files (with one handle per connection), their caches and one buffer per slot.
/// [`crate::target::setup::open_session`] creates it; closing or dropping it adds its losses to those of the target. A record
/// is one request; with `split=on` or a window of bursts that adapts it may be several, which the session counts.
#[derive(Debug)]
pub(crate) struct NcpSession {
    pub(crate) connections: Vec<Connection>,
    pub(crate) files: OpenFileTable<OpenFile>,
    pub(crate) volume: String,
    /// Components of the target's directory; the first is the volume.
    pub(crate) base: Vec<String>,
    /// Name space of all paths.
    pub(crate) space: u8,
    pub(crate) facts: TargetFacts,
    /// Converts names of the engine, where the name space is DOS.
    pub(crate) short_names: Option<Arc<ShortNames>>,
    /// Empty while the session is idle.
    buffers: Vec<Box<[u8]>>,
    slot_bytes: usize,
    /// Whether larger records are split into several requests.
    splits: bool,
    /// Replies of operations that were rejected before a request was sent.
    refused: Vec<Reply>,
    /// Size of the requester's caches, if there are any.
    pub(crate) cache: Option<CacheSize>,
    pub(crate) caches: CacheTable,
    /// Whether files that may have been written are committed on close.
    pub(crate) commits: bool,
    policy: PolicyCount,
    /// The listing in progress.
    listing: Option<Listing>,
    /// The open semaphore, which belongs to the first connection.
    pub(crate) semaphore: Option<Semaphore>,
    /// Losses of all sessions of the target.
    totals: Arc<LossTotals>,
}

impl NcpSession {
    pub(crate) fn new(
        connections: Vec<Connection>,
        base: Vec<String>,
        space: u8,
        facts: TargetFacts,
        slot_bytes: usize,
        options: &NcpOptions,
    ) -> Self {
        let volume = base.first().cloned().unwrap_or_default();
        let bytes = connections.first().map_or(0, |connection| connection.inner().buffer());
        Self {
            files: OpenFileTable::default(),
            volume,
            base,
            space,
            facts,
            short_names: (space == space::DOS).then(|| Arc::clone(&options.short_names)),
            buffers: vec![Box::default(); connections.len()],
            connections,
            slot_bytes,
            splits: options.splits,
            refused: Vec::new(),
            cache: options.cache.map(|buffers| CacheSize { buffers, bytes }),
            caches: CacheTable::default(),
            commits: options.commits,
            policy: PolicyCount::default(),
            listing: None,
            semaphore: None,
            totals: Arc::clone(&options.totals),
        }
    }

    fn try_submit(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        let index = slot.0 as usize;
        let (request, direction, file, offset, len) = match op {
            DataOp::Read { file, offset, len } => ("read", Direction::Read, file, offset, len),
            DataOp::Write { file, offset, len, .. } => ("write", Direction::Write, file, offset, len),
            DataOp::Flush { file } => ("commit", Direction::Write, file, 0, 0),
        };
        let unfit =
            |detail: String| Err(OpError::new(ErrorClass::Unsupported, OpStep::Request(request), detail));
        let open = self.files.get(file)?;
        let Some(connection) = self.connections.get_mut(index) else {
            return Err(OpError::slot_not_idle());
        };
        let max_transfer = connection.inner().max_transfer(direction, offset, len as usize);
        if len as usize > max_transfer && !self.splits {
            return unfit(format!(
                "record of {len} bytes exceeds one request of {max_transfer} bytes; split=on uses several"
            ));
        }
        // In NCP a write of 0 bytes sets the size of the file to the offset (docs/protocols/ncp.md 3.2).
        if let DataOp::Write { len: 0, .. } = op {
            return unfit("a write of 0 bytes would set the file size".into());
        }
        if let DataOp::Write { stability: Stability::Durable, .. } = op
            && !open.through
        {
            let detail = "NCP has write-through per open file, not per write: open with sync=write-through";
            return unfit(detail.into());
        }
        let (Some(handle), Some(buffer)) = (open.handles.get(index), self.buffers.get_mut(index)) else {
            return Err(OpError::slot_not_idle());
        };
        buffer_pool::ensure(buffer, self.slot_bytes);
        let Some(data) = buffer.get_mut(..len as usize) else {
            return unfit(format!("record of {len} bytes exceeds its slot"));
        };
        let through = open.through && matches!(op, DataOp::Write { .. });
        let handle = *handle;
        connection.begin(slot, op, handle, data, &mut self.caches)?;
        self.policy.through += u64::from(through);
        Ok(())
    }
}

impl NcpSession {
    /// Removes the connections and adds their losses to those of the target.
    fn take_connections(&mut self) -> Vec<Connection> {
        let connections = std::mem::take(&mut self.connections);
        self.totals.add(losses(&connections));
        connections
    }
}

/// A session that is dropped without being closed must count its losses, too.
impl Drop for NcpSession {
    fn drop(&mut self) {
        self.take_connections();
    }
}

fn losses(connections: &[Connection]) -> LossCounts {
    let mut losses = LossCounts::default();
    for client in connections.iter().map(Connection::inner) {
        losses.add(client.counts(), client.burst_use());
    }
    losses
}

impl Session for NcpSession {
    fn facts(&self) -> TargetFacts {
        let mut facts = self.facts.clone();
        losses(&self.connections).put(&mut facts);
        facts
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        let buffer = &mut self.buffers[slot.0 as usize];
        buffer_pool::ensure(buffer, self.slot_bytes);
        buffer
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        let (direction, offset, len) = match op {
            DataOp::Read { offset, len, .. } => (Direction::Read, offset, len),
            DataOp::Write { offset, len, .. } => (Direction::Write, offset, len),
            DataOp::Flush { .. } => return 0,
        };
        // With `split=on` the session splits records, so any length is allowed.
        match self.connections.first() {
            Some(connection) if !self.splits => {
                connection.inner().max_transfer(direction, offset, len as usize) as u32
            }
            _ => len,
        }
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        if let Err(error) = self.try_submit(slot, op) {
            self.refused.push(Reply { slot, result: Err(error), requests: 0 });
        }
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let before = replies.len();
        replies.append(&mut self.refused);
        loop {
            let changes = self.caches.changes();
            // Every connection is polled even if one is ready: each one drives its own retransmissions.
            for connection in &mut self.connections {
                if let Poll::Ready(ended) = connection.poll(cx, &mut self.buffers, &mut self.caches) {
                    replies.push(Reply { slot: ended.slot, result: ended.result, requests: ended.requests });
                }
            }
            // An operation that waited for a cache may continue now.
            if self.caches.changes() == changes {
                break;
            }
        }
        if replies.len() > before { Poll::Ready(()) } else { Poll::Pending }
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(async move {
            let before = self.wire().requests;
            self.write_back_caches().await;
            let result = perform(self, &op).await;
            MetaReply { result, requests: (self.wire().requests - before) as u32 }
        })
    }

    fn wire(&self) -> WireCount {
        let mut wire = WireCount::default();
        for connection in &self.connections {
            let counts = connection.inner().counts();
            let (sent, received) = connection.payload();
            wire.payload_sent += sent;
            wire.payload_received += received;
            wire.requests += connection.sent();
            wire.sent += counts.sent;
            wire.received += counts.received;
        }
        wire
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn readings(&self) -> Option<&dyn Readings> {
        Some(self)
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        let mut session = self;
        Box::pin(async move {
            for connection in session.take_connections() {
                connection.end().await;
            }
        })
    }
}

impl Extensions for NcpSession {
    fn idle(&mut self) -> Option<&mut dyn Idle> {
        Some(self)
    }

    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(self)
    }
}

impl Idle for NcpSession {
    fn release_buffers(&mut self) {
        for (connection, buffer) in self.connections.iter_mut().zip(&mut self.buffers) {
            if connection.release_buffers() {
                buffer_pool::give_back(buffer);
            }
        }
    }

    fn poll_keepalive(&mut self, cx: &mut Context<'_>) {
        for connection in &mut self.connections {
            connection.poll_keepalive(cx);
        }
    }
}

impl Readings for NcpSession {
    fn policy_count(&self) -> PolicyCount {
        self.policy
    }
}

impl Probe for NcpSession {
    /// Get File Server Date And Time, which every server answers from memory (docs/protocols/ncp.md 2.3).
    fn empty_request(&mut self) -> LocalBoxFuture<'_, Option<Result<(), OpError>>> {
        Box::pin(async move {
            let call = async |client: &mut Client<SocketTransport>| {
                client.call("date and time", &GetDateAndTime {}.into()).await.map(drop)
            };
            Some(self.call_client(call).await)
        })
    }
}
