//! A wrapper around any target that injects faults at given operations.

use std::collections::BTreeMap;
use std::task::{Context, Poll};

use sharebench_model::{
    DataOp, ErrorClass, IoPolicy, MetaReply, OpError, OpStep, Reply, SessionOp, Slot, TargetFacts, WireCount,
};

use sharebench_target::{
    Capabilities, Connecting, Extensions, Idle, LocalBoxFuture, Probe, Readings, Session, SessionSpec, Target,
};
use sharebench_target::{PolicyRefusal, PolicyTerms};

/// What goes wrong with one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails without reaching the target.
    Fail(ErrorClass),
    /// A read delivers other content that the session read before (zeros at first) instead of its own.
    Stale,
    /// A read delivers zeros.
    Zero,
    /// A read delivers its content moved by this many bytes.
    Shift(u32),
    /// A write is acknowledged and lost.
    LoseWrite,
    /// No reply ever comes.
    Never,
}

/// Passes operations to the wrapped target, except for those with a fault. Operations are counted from 0
/// per session, data operations and name operations separately.
#[derive(Debug, Clone)]
pub struct FaultyTarget<T> {
    inner: T,
    data: BTreeMap<u64, Fault>,
    meta: BTreeMap<u64, ErrorClass>,
    disconnect_after: u64,
    max_transfer: u32,
}

impl<T: Target> FaultyTarget<T> {
    /// No faults yet.
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            data: BTreeMap::new(),
            meta: BTreeMap::new(),
            disconnect_after: u64::MAX,
            max_transfer: u32::MAX,
        }
    }

    /// The `nth` data operation of every session meets this fault.
    #[must_use]
    pub fn data(mut self, nth: u64, fault: Fault) -> Self {
        self.data.insert(nth, fault);
        self
    }

    /// The `nth` operation on names of every session fails.
    #[must_use]
    pub fn meta(mut self, nth: u64, class: ErrorClass) -> Self {
        self.meta.insert(nth, class);
        self
    }

    /// Every session is disconnected after N operations of both kinds: those in flight and all later ones
    /// fail as disconnected.
    #[must_use]
    pub fn disconnect_after(mut self, operations: u64) -> Self {
        self.disconnect_after = operations;
        self
    }

    /// Every session negotiates requests of at most this many bytes, and rejects larger ones.
    #[must_use]
    pub fn max_transfer(mut self, bytes: u32) -> Self {
        self.max_transfer = bytes;
        self
    }
}

impl<T: Target> Target for FaultyTarget<T> {
    fn url(&self) -> String {
        self.inner.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        self.inner.policy(wanted)
    }

    fn descriptors(&self) -> u32 {
        self.inner.descriptors()
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        Box::pin(async move {
            let session = FaultySession {
                inner: self.inner.connect(spec).await?,
                data: self.data.clone(),
                meta: self.meta.clone(),
                left: self.disconnect_after,
                max_transfer: self.max_transfer,
                data_count: 0,
                meta_count: 0,
                flying: BTreeMap::new(),
                answered: Vec::new(),
                earlier: [Vec::new(), Vec::new()],
                faked: 0,
            };
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }
}

struct FaultySession {
    inner: Box<dyn Session>,
    data: BTreeMap<u64, Fault>,
    meta: BTreeMap<u64, ErrorClass>,
    left: u64,
    max_transfer: u32,
    data_count: u64,
    meta_count: u64,
    /// Operations in flight in the wrapped session, with the fault for the reply.
    flying: BTreeMap<Slot, (DataOp, Option<Fault>)>,
    /// Replies that did not come from the wrapped session.
    answered: Vec<Reply>,
    /// Content of the read before, and the content before it that differed.
    earlier: [Vec<u8>; 2],
    /// Requests that replies report and the wrapped target never received.
    faked: u64,
}

fn disconnected() -> OpError {
    OpError::new(ErrorClass::Disconnected, OpStep::Injected, "cut on schedule")
}

impl FaultySession {
    /// Counts one operation; false when the connection is gone.
    fn alive(&mut self) -> bool {
        if self.left == 0 {
            for slot in std::mem::take(&mut self.flying).into_keys() {
                self.answered.push(Reply { slot, result: Err(disconnected()), requests: 1 });
            }
            return false;
        }
        self.left -= 1;
        true
    }

    fn answer(&mut self, slot: Slot, result: Result<u32, OpError>) {
        self.faked += 1;
        self.answered.push(Reply { slot, result, requests: 1 });
    }

    /// Alters the content of a read's reply according to its fault.
    fn spoil(&mut self, reply: &Reply) {
        let Some((DataOp::Read { .. }, fault)) = self.flying.remove(&reply.slot) else { return };
        let Ok(bytes) = reply.result else { return };
        let content = &mut self.inner.buffer(reply.slot)[..bytes as usize];
        match fault {
            Some(Fault::Zero) => content.fill(0),
            Some(Fault::Shift(by)) => content.rotate_left(by as usize % content.len().max(1)),
            Some(Fault::Stale) => {
                // The same block read twice in a row would be no fault at all.
                let earlier = self.earlier.iter().find(|earlier| *earlier != content);
                let earlier = earlier.map_or(&[][..], Vec::as_slice);
                let known = earlier.len().min(content.len());
                content[..known].copy_from_slice(&earlier[..known]);
                content[known..].fill(0);
            }
            _ if self.data.values().any(|fault| *fault == Fault::Stale) && self.earlier[0] != content => {
                let [last, before] = &mut self.earlier;
                *before = std::mem::replace(last, content.to_vec());
            }
            _ => {}
        }
    }
}

impl Session for FaultySession {
    fn facts(&self) -> TargetFacts {
        self.inner.facts()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        self.inner.max_transfer(op).min(self.max_transfer)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        if !self.alive() {
            return self.answer(slot, Err(disconnected()));
        }
        if let DataOp::Read { len, .. } | DataOp::Write { len, .. } = op
            && len > self.max_transfer
        {
            let limit = "larger than a request may be";
            return self.answer(slot, Err(OpError::new(ErrorClass::Unsupported, OpStep::Injected, limit)));
        }
        let fault = self.data.get(&self.data_count).copied();
        self.data_count += 1;
        match (fault, op) {
            (Some(Fault::Never), _) => {}
            (Some(Fault::Fail(class)), _) => {
                self.answer(slot, Err(OpError::new(class, OpStep::Injected, "failed on schedule")));
            }
            (Some(Fault::LoseWrite), DataOp::Write { len, .. }) => self.answer(slot, Ok(len)),
            _ => {
                self.flying.insert(slot, (op, fault));
                self.inner.submit(slot, op);
            }
        }
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let before = replies.len();
        replies.append(&mut self.answered);
        if self.left > 0 || !self.flying.is_empty() {
            let inside = replies.len();
            // A wake-up registered inside although there are replies already is harmless.
            let _ = self.inner.poll_replies(cx, replies);
            replies.iter().skip(inside).for_each(|reply| self.spoil(reply));
        }
        if replies.len() > before { Poll::Ready(()) } else { Poll::Pending }
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        let fault = if self.alive() {
            let class = self.meta.get(&self.meta_count);
            class.map(|class| OpError::new(*class, OpStep::Injected, "failed on schedule"))
        } else {
            Some(disconnected())
        };
        self.meta_count += 1;
        match fault {
            None => self.inner.perform_call(op),
            Some(error) => {
                self.faked += 1;
                Box::pin(async move { MetaReply { result: Err(error), requests: 1 } })
            }
        }
    }

    fn wire(&self) -> WireCount {
        let wire = self.inner.wire();
        WireCount { requests: wire.requests + self.faked, ..wire }
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn readings(&self) -> Option<&dyn Readings> {
        self.inner.readings()
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        self.inner.close()
    }
}

impl Extensions for FaultySession {
    fn idle(&mut self) -> Option<&mut dyn Idle> {
        self.inner.extensions()?.idle()
    }

    fn probe(&mut self) -> Option<&mut dyn Probe> {
        self.inner.extensions()?.probe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryTarget;
    use sharebench_model::{FileRef, MetaOp, MetaYield, OpenHow, Stability};
    use sharebench_target::{call, reply_for};

    async fn opened(target: &dyn Target) -> (Box<dyn Session>, FileRef) {
        let spec = SessionSpec { slots: 4, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await.unwrap();
        let op = MetaOp::open("f", OpenHow::CreateNew);
        let Ok(MetaYield::Opened { file, .. }) = call(&mut *session, op).await else { panic!() };
        (session, file)
    }

    async fn write(session: &mut dyn Session, file: FileRef, content: &[u8; 4]) {
        session.buffer(Slot(0))[..4].copy_from_slice(content);
        let op = DataOp::Write { file, offset: 0, len: 4, stability: Stability::Unstable };
        assert_eq!(reply_for(session, Slot(0), op).await.result, Ok(4));
    }

    async fn read(session: &mut dyn Session, file: FileRef) -> [u8; 4] {
        let reply = reply_for(session, Slot(1), DataOp::Read { file, offset: 0, len: 4 }).await;
        assert_eq!(reply.result, Ok(4));
        session.buffer(Slot(1))[..4].try_into().unwrap()
    }

    #[tokio::test]
    async fn reads_are_spoilt_as_scheduled_and_only_then() {
        let target = FaultyTarget::new(MemoryTarget::new())
            .data(2, Fault::Zero)
            .data(3, Fault::Shift(1))
            .data(5, Fault::Stale);
        let (mut session, file) = opened(&target).await;
        write(&mut *session, file, b"abcd").await;
        assert_eq!(&read(&mut *session, file).await, b"abcd");
        assert_eq!(&read(&mut *session, file).await, &[0; 4]);
        assert_eq!(&read(&mut *session, file).await, b"bcda");
        write(&mut *session, file, b"wxyz").await;
        assert_eq!(&read(&mut *session, file).await, b"abcd", "what was read before the write");
        assert_eq!(&read(&mut *session, file).await, b"wxyz");
    }

    #[tokio::test]
    async fn a_lost_write_is_acknowledged() {
        let (mut session, file) =
            opened(&FaultyTarget::new(MemoryTarget::new()).data(1, Fault::LoseWrite)).await;
        write(&mut *session, file, b"abcd").await;
        write(&mut *session, file, b"wxyz").await;
        assert_eq!(&read(&mut *session, file).await, b"abcd");
    }

    #[tokio::test]
    async fn after_the_cut_everything_fails_as_disconnected() {
        let (mut session, file) = opened(&FaultyTarget::new(MemoryTarget::new()).disconnect_after(2)).await;
        let read = DataOp::Read { file, offset: 0, len: 4 };
        session.submit(Slot(0), read);
        session.submit(Slot(1), read);
        let mut replies = Vec::new();
        std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
        replies.sort_by_key(|reply| reply.slot);
        assert_eq!(replies.len(), 2, "one reply per submission: {replies:?}");
        for reply in replies {
            assert_eq!(reply.result.unwrap_err().class, ErrorClass::Disconnected);
        }
        let late = session.call(MetaOp::Space).await.result.unwrap_err();
        assert_eq!(late.class, ErrorClass::Disconnected);
    }

    #[tokio::test]
    async fn never_is_never_and_fail_is_the_class_asked_for() {
        let target = FaultyTarget::new(MemoryTarget::new())
            .data(0, Fault::Never)
            .data(1, Fault::Fail(ErrorClass::NoSpace))
            .meta(1, ErrorClass::Stale);
        let (mut session, file) = opened(&target).await;
        session.submit(Slot(0), DataOp::Flush { file });
        session.submit(Slot(1), DataOp::Flush { file });
        let mut replies = Vec::new();
        std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
        assert_eq!((replies.len(), replies[0].slot), (1, Slot(1)));
        assert_eq!(replies[0].result.clone().unwrap_err().class, ErrorClass::NoSpace);
        assert_eq!(session.call(MetaOp::Space).await.result.unwrap_err().class, ErrorClass::Stale);
    }
}
