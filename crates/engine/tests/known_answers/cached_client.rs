//! A client with a cache above any target: least recently used records, and a count of what they served.

use std::collections::{BTreeMap, VecDeque};
use std::slice::SliceIndex;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use sharebench_model::{DataOp, FileRef, Reply, Slot, WireCount};
use sharebench_target::{Alteration, Capabilities, Connecting, Session, SessionSpec, Target};

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

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        Box::pin(async move {
            let inner = self.inner.connect(spec).await?;
            let session = CachedSession {
                records: self.records,
                held: BTreeMap::new(),
                by_age: VecDeque::new(),
                now: 0,
                answers: Vec::new(),
                wire: WireCount::default(),
                served: self.served.clone(),
            };
            Ok(session.session(inner))
        })
    }
}

type Record = (FileRef, u64);

struct CachedSession {
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

impl Alteration for CachedSession {
    fn submit(&mut self, inner: &mut dyn Session, slot: Slot, op: DataOp) {
        if let DataOp::Read { file, offset, len } = op {
            let hit = self.touch((file, offset));
            self.served.lock().unwrap().push(hit);
            if hit {
                self.answers.push(Reply { slot, result: Ok(len), requests: 0 });
                return;
            }
            self.wire.payload_received += u64::from(len);
        }
        inner.submit(slot, op);
    }

    fn poll(&mut self, inner: &mut dyn Session, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        if self.answers.is_empty() {
            return inner.poll_replies(cx, replies);
        }
        replies.append(&mut self.answers);
        Poll::Ready(())
    }

    fn wire(&self, _: WireCount) -> WireCount {
        self.wire
    }
}
