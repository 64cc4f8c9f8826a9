//! A volume over one connection, or several that share its slots, as the engine drives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use sharebench_model::{
    DataOp, ErrorClass, Facts, MetaOp, MetaReply, OpError, PolicyCount, Reply, Slot, Stability, WireCount,
};
use sharebench_target::{LocalBoxFuture, Session, buffer_pool};

use crate::cache::CacheSize;
use crate::files::Files;
use crate::lane::Lane;
use crate::options::NcpOptions;

/// One job's connections to a volume: slot `n` is served by connection `n`.
#[derive(Debug)]
pub(crate) struct NcpSession {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) files: Files,
    pub(crate) volume: String,
    /// Components of the target's directory, the volume first.
    pub(crate) base: Vec<String>,
    /// Name space of all names.
    pub(crate) space: u8,
    pub(crate) facts: Facts,
    /// Empty while the session rests.
    buffers: Vec<Box<[u8]>>,
    slot_bytes: usize,
    /// Larger records take several requests.
    splits: bool,
    /// Replies of submissions that never left.
    refused: Vec<Reply>,
    /// The requester's cache of each file, if there is one.
    pub(crate) cache: Option<CacheSize>,
    /// Files that were written are committed when they are closed.
    pub(crate) commits: bool,
    policy: PolicyCount,
    /// Requests that all sessions of the target sent again.
    resent: Arc<AtomicU64>,
}

impl NcpSession {
    pub(crate) fn new(
        lanes: Vec<Lane>,
        base: Vec<String>,
        space: u8,
        facts: Facts,
        slot_bytes: usize,
        options: &NcpOptions,
    ) -> Self {
        let volume = base.first().cloned().unwrap_or_default();
        let bytes = lanes.first().map_or(0, |lane| lane.peek().buffer());
        Self {
            files: Files::default(),
            volume,
            base,
            space,
            facts,
            buffers: vec![Box::default(); lanes.len()],
            lanes,
            slot_bytes,
            splits: options.splits,
            refused: Vec::new(),
            cache: options.cache.map(|buffers| CacheSize { buffers, bytes }),
            commits: options.commits,
            policy: PolicyCount::default(),
            resent: Arc::clone(&options.resent),
        }
    }

    fn try_submit(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        let index = slot.0 as usize;
        let (step, file, offset, len) = match op {
            DataOp::Read { file, offset, len } => ("read", file, offset, len),
            DataOp::Write { file, offset, len, .. } => ("write", file, offset, len),
            DataOp::Flush { file } => ("commit", file, 0, 0),
        };
        let unfit = |detail: String| Err(OpError::new(ErrorClass::Unsupported, step, detail));
        let open = self.files.get(file)?;
        let Some(lane) = self.lanes.get_mut(index) else {
            return Err(OpError::new(ErrorClass::Busy, "submit", "the slot does not exist"));
        };
        let carried = lane.peek().share(offset, len as usize);
        if len as usize > carried && !self.splits {
            return unfit(format!(
                "record of {len} bytes: one request carries {carried} here; split=on makes several of it"
            ));
        }
        if let DataOp::Write { len: 0, .. } = op {
            return unfit("a write of nothing would set the size of the file".into());
        }
        if let DataOp::Write { stability: Stability::Durable, .. } = op
            && !open.through
        {
            let detail =
                "NCP writes through for open files only, not for single writes: open with sync=write-through";
            return unfit(detail.into());
        }
        let (Some(handle), Some(buffer)) = (open.handles.get(index), self.buffers.get_mut(index)) else {
            return Err(OpError::new(ErrorClass::Busy, "submit", "the slot does not exist"));
        };
        buffer_pool::ensure(buffer, self.slot_bytes);
        let Some(data) = buffer.get_mut(..len as usize) else {
            return unfit(format!("record of {len} bytes exceeds its slot"));
        };
        let (through, handle) = (open.through && matches!(op, DataOp::Write { .. }), *handle);
        lane.begin(slot, op, handle, data)?;
        self.policy.through += u64::from(through);
        Ok(())
    }
}

impl NcpSession {
    /// Gives the connections away, and what they counted to the target.
    fn take_lanes(&mut self) -> Vec<Lane> {
        let lanes = std::mem::take(&mut self.lanes);
        self.resent.fetch_add(resent(&lanes), Ordering::Relaxed);
        lanes
    }
}

/// A session that is not closed has counted as well.
impl Drop for NcpSession {
    fn drop(&mut self) {
        self.take_lanes();
    }
}

fn resent(lanes: &[Lane]) -> u64 {
    lanes.iter().map(|lane| lane.peek().counts().resent).sum()
}

impl Session for NcpSession {
    fn facts(&self) -> Facts {
        let mut facts = self.facts.clone();
        facts.insert("resent".into(), resent(&self.lanes).to_string());
        facts
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        let buffer = &mut self.buffers[slot.0 as usize];
        buffer_pool::ensure(buffer, self.slot_bytes);
        buffer
    }

    fn release_buffers(&mut self) {
        for (lane, buffer) in self.lanes.iter_mut().zip(&mut self.buffers) {
            if lane.release_buffers() {
                buffer_pool::give_back(buffer);
            }
        }
    }

    fn poll_keepalive(&mut self, cx: &mut Context<'_>) {
        for lane in &mut self.lanes {
            lane.poll_keepalive(cx);
        }
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        let (DataOp::Read { offset, len, .. } | DataOp::Write { offset, len, .. }) = op else { return 0 };
        // Who asks for `split=on` wants the adapter to do it.
        match self.lanes.first() {
            Some(lane) if !self.splits => lane.peek().share(offset, len as usize) as u32,
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
        for index in 0..self.lanes.len() {
            if let Poll::Ready(ended) = self.lanes[index].poll(cx, &mut self.buffers) {
                replies.push(Reply { slot: ended.slot, result: ended.result, requests: ended.requests });
            }
        }
        if replies.len() > before { Poll::Ready(()) } else { Poll::Pending }
    }

    fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(async move {
            let before = self.wire().requests;
            let result = self.perform(&op).await;
            MetaReply { result, requests: (self.wire().requests - before) as u32 }
        })
    }

    fn wire(&self) -> WireCount {
        let mut wire = WireCount::default();
        for lane in &self.lanes {
            let counts = lane.peek().counts();
            let (sent, received) = lane.payload();
            wire.payload_sent += sent;
            wire.payload_received += received;
            wire.requests += lane.sent();
            wire.sent += counts.sent;
            wire.received += counts.received;
        }
        wire
    }

    fn policy_count(&self) -> PolicyCount {
        self.policy
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        let mut session = self;
        Box::pin(async move {
            for lane in session.take_lanes() {
                lane.end().await;
            }
        })
    }
}
