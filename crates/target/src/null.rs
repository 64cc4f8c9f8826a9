//! A target that replies immediately, to measure sharebench itself.

use std::collections::BTreeMap;
use std::task::{Context, Poll};

use sharebench_model::{
    DataOp, Entry, ErrorClass, FileRef, ListedPage, MetaOp, MetaReply, MetaYield, OpError, OpStep, Reply,
    Slot, Space, Stat, TargetFacts, WireCount,
};

use crate::session::{
    Capabilities, Connecting, Extensions, LocalBoxFuture, Readings, Session, SessionSpec, Target,
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

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
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

impl NullSession {
    fn perform(&mut self, op: MetaOp) -> Result<MetaYield, OpError> {
        let missing = || OpError::new(ErrorClass::NotFound, OpStep::Request("lookup"), "no such name");
        match op {
            MetaOp::OpenSemaphore { .. }
            | MetaOp::WaitSemaphore
            | MetaOp::SignalSemaphore
            | MetaOp::CloseSemaphore => return Err(OpError::no_semaphores("the null target")),
            MetaOp::OpenLeased { .. }
            | MetaOp::OpenDelegated { .. }
            | MetaOp::AwaitRecall { .. }
            | MetaOp::GiveBack { .. } => {
                return Err(OpError::no_rights("the null target has no leases"));
            }
            MetaOp::OpenDirectory { .. } | MetaOp::Watch { .. } | MetaOp::AwaitChange { .. } => {
                return Err(OpError::no_notifications("the null target"));
            }
            MetaOp::Open { path, .. } | MetaOp::OpenDenying { path } => {
                let size = self.names.entry(path).or_insert(Some(0)).unwrap_or(0);
                self.opened += 1;
                return Ok(MetaYield::Opened { file: FileRef(self.opened), size });
            }
            MetaOp::Stat { path } => {
                let size = *self.names.get(&path).ok_or_else(missing)?;
                return Ok(MetaYield::Stat(Stat { size: size.unwrap_or(0), directory: size.is_none() }));
            }
            MetaOp::List { path } => return Ok(MetaYield::Entries(self.entries(path))),
            MetaOp::ListPage { path, .. } => {
                let entries = self.entries(path);
                return Ok(MetaYield::Page(ListedPage { entries, unnamed: 0, end: true }));
            }
            MetaOp::Remove { path } | MetaOp::RemoveDir { path } => {
                self.names.remove(&path).ok_or_else(missing)?;
            }
            MetaOp::MakeDir { path } => {
                self.names.insert(path, None);
            }
            MetaOp::Rename { from, to } => {
                let size = self.names.remove(&from).ok_or_else(missing)?;
                self.names.insert(to, size);
            }
            MetaOp::Link { from, to } => {
                let size = *self.names.get(&from).ok_or_else(missing)?;
                self.names.insert(to, size);
            }
            MetaOp::SetModified { path, .. } => {
                self.names.get(&path).ok_or_else(missing)?;
            }
            MetaOp::Space => return Ok(MetaYield::Space(Space { total: u64::MAX, available: u64::MAX })),
            MetaOp::Residency { .. } => {
                return Err(OpError::no_client_cache());
            }
            MetaOp::CopyRange { bytes, .. } => return Ok(MetaYield::Bytes(bytes)),
            MetaOp::ReadSparse { len, .. } => return Ok(MetaYield::Bytes(len.into())),
            MetaOp::Close { .. }
            | MetaOp::SetSize { .. }
            | MetaOp::CloneRange { .. }
            | MetaOp::PunchHole { .. }
            | MetaOp::Lock { .. }
            | MetaOp::Unlock { .. }
            | MetaOp::DropCache { .. }
            | MetaOp::Map { .. } => {}
        }
        Ok(MetaYield::Done)
    }

    fn entries(&self, path: String) -> Vec<Entry> {
        let prefix = if path.is_empty() { path } else { path + "/" };
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
        self.requests += 1;
        self.answered.push(Reply { slot, result: Ok(whole_transfer(op)), requests: 1 });
    }

    fn poll_replies(&mut self, _: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        if self.answered.is_empty() {
            return Poll::Pending;
        }
        replies.append(&mut self.answered);
        Poll::Ready(())
    }

    fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply> {
        self.requests += 1;
        let result = self.perform(op);
        Box::pin(async move { MetaReply { result, requests: 1 } })
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
