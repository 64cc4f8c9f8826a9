//! A target that replies immediately, to measure sharebench itself.

use std::collections::BTreeMap;
use std::task::{Context, Poll};

use sharebench_model::{
    DataOp, Entry, ErrorClass, FileRef, ListedPage, MetaOp, MetaReply, MetaYield, OpError, OpStep, Reply,
    SessionOp, Slot, Space, Stat, TargetFacts, WireCount,
};

use crate::session::{
    CacheRights, CallResult, Capabilities, ClientCache, ConnectError, Extensions, LocalBoxFuture, Locks,
    Operations, Readings, Semaphores, ServerSide, Session, SessionSpec, Target, Watch, perform,
    whole_transfer,
};

/// Replies to every operation immediately without transferring data: names exist as long as a session remembers
/// them, reads leave the slot's buffer as it is (so only runs without verification make sense).
#[derive(Debug, Clone, Copy, Default)]
pub struct NullTarget;

impl Target for NullTarget {
    fn url(&self) -> String {
        "null://".into()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            protocol: "null",
            max_queue_depth: u32::MAX,
            max_record: u32::MAX,
            wire_counted: false,
            drop_cache: true,
            mapping: false,
            blocking: false,
        }
    }

    fn descriptors(&self) -> u32 {
        0
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        let session = NullSession {
            buffers: vec![vec![0; spec.slot_bytes as usize]; spec.slots as usize],
            ..NullSession::default()
        };
        Box::pin(async move { Ok(Box::new(session) as Box<dyn Session>) })
    }
}

#[derive(Debug, Default)]
struct NullSession {
    buffers: Vec<Vec<u8>>,
    answered: Vec<Reply>,
    /// Size by name; none for directories.
    names: BTreeMap<String, Option<u64>>,
    opened: u32,
    requests: u64,
}

impl Operations for NullSession {
    const CLIENT: &'static str = "the null target";
    const NO_RIGHTS: &'static str = "the null target has no leases";

    async fn perform_basic(&mut self, op: &MetaOp) -> CallResult {
        let missing = || OpError::new(ErrorClass::NotFound, OpStep::Request("lookup"), "no such name");
        match op {
            MetaOp::Open { path, .. } => return Ok(self.open(path)),
            MetaOp::Stat { path } => {
                let size = *self.names.get(path).ok_or_else(missing)?;
                return Ok(MetaYield::Stat(Stat { size: size.unwrap_or(0), directory: size.is_none() }));
            }
            MetaOp::List { path } => return Ok(MetaYield::Entries(self.entries(path))),
            MetaOp::ListPage { path, .. } => {
                let entries = self.entries(path);
                return Ok(MetaYield::Page(ListedPage { entries, unnamed: 0, end: true }));
            }
            MetaOp::Remove { path } | MetaOp::RemoveDir { path } => {
                self.names.remove(path).ok_or_else(missing)?;
            }
            MetaOp::MakeDir { path } => {
                self.names.insert(path.clone(), None);
            }
            MetaOp::Rename { from, to } => {
                let size = self.names.remove(from).ok_or_else(missing)?;
                self.names.insert(to.clone(), size);
            }
            MetaOp::Link { from, to } => {
                let size = *self.names.get(from).ok_or_else(missing)?;
                self.names.insert(to.clone(), size);
            }
            MetaOp::SetModified { path, .. } => {
                self.names.get(path).ok_or_else(missing)?;
            }
            MetaOp::Space => return Ok(MetaYield::Space(Space { total: u64::MAX, available: u64::MAX })),
            MetaOp::Close { .. } | MetaOp::SetSize { .. } => {}
        }
        Ok(MetaYield::Done)
    }
}

impl Locks for NullSession {
    async fn lock(&mut self, _: FileRef, _: u64, _: u64, _: bool) -> CallResult {
        Ok(MetaYield::Done)
    }

    async fn unlock(&mut self, _: FileRef, _: u64, _: u64) -> CallResult {
        Ok(MetaYield::Done)
    }

    async fn open_denying(&mut self, path: &str) -> CallResult {
        Ok(self.open(path))
    }
}

impl CacheRights for NullSession {}
impl Watch for NullSession {}

impl ServerSide for NullSession {
    async fn copy_range(&mut self, _: FileRef, _: FileRef, _: u64, bytes: u64) -> CallResult {
        Ok(MetaYield::Bytes(bytes))
    }

    async fn clone_range(&mut self, _: FileRef, _: FileRef, _: u64) -> CallResult {
        Ok(MetaYield::Done)
    }

    async fn punch_hole(&mut self, _: FileRef, _: u64, _: u64) -> CallResult {
        Ok(MetaYield::Done)
    }

    async fn read_sparse(&mut self, _: FileRef, _: u64, len: u32) -> CallResult {
        Ok(MetaYield::Bytes(len.into()))
    }
}

impl Semaphores for NullSession {}

impl ClientCache for NullSession {
    async fn drop_client_cache(&mut self, _: FileRef) -> CallResult {
        Ok(MetaYield::Done)
    }

    async fn map_file(&mut self, _: FileRef, _: u64) -> CallResult {
        Ok(MetaYield::Done)
    }
}

impl NullSession {
    fn open(&mut self, path: &str) -> MetaYield {
        let size = match self.names.get(path) {
            Some(size) => size.unwrap_or(0),
            None => self.names.entry(path.to_owned()).or_insert(Some(0)).unwrap_or(0),
        };
        self.opened += 1;
        MetaYield::Opened { file: FileRef(self.opened), size }
    }

    fn entries(&self, path: &str) -> Vec<Entry> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let below = |(name, size): (&String, &Option<u64>)| {
            let rest = name.strip_prefix(&prefix)?;
            let whole = !rest.is_empty() && !rest.contains('/');
            whole.then(|| Entry { name: rest.to_owned(), directory: size.is_none(), size: None })
        };
        self.names.iter().filter_map(below).collect()
    }
}

impl Session for NullSession {
    fn facts(&self) -> TargetFacts {
        TargetFacts::new()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.buffers[slot.0 as usize]
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        whole_transfer(op)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        let bytes = match op {
            DataOp::Read { len, .. } | DataOp::Write { len, .. } => len,
            DataOp::Flush { .. } => 0,
        };
        self.requests += 1;
        self.answered.push(Reply { slot, result: Ok(bytes), requests: 1 });
    }

    fn poll_replies(&mut self, _: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        if self.answered.is_empty() {
            return Poll::Pending;
        }
        replies.append(&mut self.answered);
        Poll::Ready(())
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        self.requests += 1;
        Box::pin(async move { MetaReply { result: perform(self, &op).await, requests: 1 } })
    }

    fn wire(&self) -> WireCount {
        WireCount { requests: self.requests, ..WireCount::default() }
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }

    fn readings(&self) -> Option<&dyn Readings> {
        None
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async {})
    }
}
