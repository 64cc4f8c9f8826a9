//! A client with a cache above any target: least recently used records, and a count of what they served.

use std::collections::{BTreeMap, VecDeque};
use std::slice::SliceIndex;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use sharebench_model::{DataOp, FileRef, MetaReply, Reply, SessionOp, Slot, TargetFacts, WireCount};
use sharebench_target::{
    Capabilities, ConnectError, Extensions, LocalBoxFuture, Readings, Session, SessionSpec, Target,
};

/// Caches N records per session.
#[derive(Clone)]
pub struct CachedClient<T> {
    inner: T,
    records: usize,
    /// For each read in turn, whether the cache served it.
    served: Arc<Mutex<Vec<bool>>>,
}

impl<T: Target> CachedClient<T> {
    pub fn new(inner: T, records: usize) -> Self {
        Self { inner, records, served: Arc::default() }
    }

    /// Of these reads, counted from the first, those that the cache served, and all.
    pub fn counted(&self, reads: impl SliceIndex<[bool], Output = [bool]>) -> (usize, usize) {
        let served = self.served.lock().unwrap();
        let reads = &served[reads];
        (reads.iter().filter(|hit| **hit).count(), reads.len())
    }
}

impl<T: Target> Target for CachedClient<T> {
    fn url(&self) -> String {
        "cached://".into()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { wire_counted: true, drop_cache: false, ..self.inner.capabilities() }
    }

    fn caches(&self) -> bool {
        true
    }

    fn bypass(&self) -> Option<&dyn Target> {
        Some(&self.inner)
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        Box::pin(async move {
            let session = CachedSession {
                inner: self.inner.connect(spec).await?,
                records: self.records,
                held: BTreeMap::new(),
                by_age: VecDeque::new(),
                now: 0,
                answers: Vec::new(),
                wire: WireCount::default(),
                served: self.served.clone(),
            };
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }
}

type Record = (FileRef, u64);

struct CachedSession {
    inner: Box<dyn Session>,
    records: usize,
    held: BTreeMap<Record, u64>,
    by_age: VecDeque<(Record, u64)>,
    now: u64,
    answers: Vec<Reply>,
    wire: WireCount,
    served: Arc<Mutex<Vec<bool>>>,
}

impl CachedSession {
    fn touch(&mut self, record: Record) -> bool {
        self.now += 1;
        self.by_age.push_back((record, self.now));
        let hit = self.held.insert(record, self.now).is_some();
        while self.held.len() > self.records {
            let Some((old, stamp)) = self.by_age.pop_front() else { break };
            if self.held.get(&old) == Some(&stamp) {
                self.held.remove(&old);
            }
        }
        hit
    }
}

impl Session for CachedSession {
    fn facts(&self) -> TargetFacts {
        self.inner.facts()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        self.inner.max_transfer(op)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        if let DataOp::Read { file, offset, len } = op {
            let hit = self.touch((file, offset));
            self.served.lock().unwrap().push(hit);
            if hit {
                self.answers.push(Reply { slot, result: Ok(len), requests: 0 });
                return;
            }
            self.wire.payload_received += u64::from(len);
        }
        self.inner.submit(slot, op);
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        if self.answers.is_empty() {
            return self.inner.poll_replies(cx, replies);
        }
        replies.append(&mut self.answers);
        Poll::Ready(())
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        self.inner.call(op)
    }

    fn wire(&self) -> WireCount {
        self.wire
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }

    fn readings(&self) -> Option<&dyn Readings> {
        None
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        self.inner.close()
    }
}
