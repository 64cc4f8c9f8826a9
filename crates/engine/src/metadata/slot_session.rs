//! One slot of a session as a session of its own, so that the operations of metadata tests are the same code at every depth.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Context, Poll};

use sharebench_model::{
    DataOp, MetaReply, MetaYield, OpError, Reply, SessionOp, Slot, TargetFacts, WireCount,
};
use sharebench_target::{CallReply, Extensions, LocalBoxFuture, Readings, Session, WholeFiles};

use crate::record::request::SLOT;

/// A session with several operations in flight, and the replies that have arrived.
pub(crate) struct SharedSlots<'s> {
    session: &'s mut dyn Session,
    slots: Vec<Arrived>,
    /// Data operations in flight.
    data_in_flight: u32,
    calls: Vec<CallReply>,
    replies: Vec<Reply>,
}

/// What has arrived for one slot.
#[derive(Default)]
struct Arrived {
    call: Option<MetaReply>,
    data: Option<Reply>,
    /// A reply has arrived since the slot was last looked at.
    is_due: bool,
}

impl<'s> SharedSlots<'s> {
    /// A session whose slots `0..depth` are used one by one.
    pub fn new(session: &'s mut dyn Session, depth: u32) -> Self {
        let slots = (0..depth).map(|_| Arrived::default()).collect();
        Self { session, slots, data_in_flight: 0, calls: Vec::new(), replies: Vec::new() }
    }

    /// True if the slot has to be looked at, which ends that.
    pub fn take_due(&mut self, slot: usize) -> bool {
        self.slots.get_mut(slot).is_some_and(|arrived| std::mem::take(&mut arrived.is_due))
    }

    /// Sends what waits, and receives; true if a reply has arrived.
    pub fn receive(&mut self, cx: &mut Context<'_>) -> bool {
        let mut has_arrived = false;
        if self.session.poll_calls(cx, &mut self.calls).is_ready() {
            has_arrived = true;
            for CallReply { slot, reply } in self.calls.drain(..) {
                if let Some(arrived) = self.slots.get_mut(slot.0 as usize) {
                    (arrived.call, arrived.is_due) = (Some(reply), true);
                }
            }
        }
        if self.data_in_flight > 0 && self.session.poll_replies(cx, &mut self.replies).is_ready() {
            has_arrived = true;
            for reply in self.replies.drain(..) {
                self.data_in_flight -= 1;
                if let Some(arrived) = self.slots.get_mut(reply.slot.0 as usize) {
                    (arrived.data, arrived.is_due) = (Some(reply), true);
                }
            }
        }
        has_arrived
    }
}

/// A slot of a session with several operations in flight. It has one of them at a time, as [`Session`] has it at depth 1: who
/// works with it does not know of the others. [`SharedSlots::receive`] drives all of them.
pub(crate) struct SlotSession<'a, 's> {
    shared: &'a RefCell<SharedSlots<'s>>,
    slot: Slot,
    slot_bytes: u32,
    /// The data of its requests, which are copied from and to the slot: a part of the session cannot be lent to each slot at the
    /// same time. Empty before the first use.
    buffer: Vec<u8>,
    in_flight: Option<DataOp>,
}

impl<'a, 's> SlotSession<'a, 's> {
    pub fn new(shared: &'a RefCell<SharedSlots<'s>>, slot: u32, slot_bytes: u32) -> Self {
        Self { shared, slot: Slot(slot), slot_bytes, buffer: Vec::new(), in_flight: None }
    }

    fn arrived<T>(&self, take: impl FnOnce(&mut Arrived) -> Option<T>) -> Poll<T> {
        let mut shared = self.shared.borrow_mut();
        let arrived = shared.slots.get_mut(self.slot.0 as usize).and_then(take);
        arrived.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Session for SlotSession<'_, '_> {
    fn facts(&self) -> TargetFacts {
        self.shared.borrow().session.facts()
    }

    fn buffer(&mut self, _: Slot) -> &mut [u8] {
        self.buffer.resize(self.slot_bytes as usize, 0);
        &mut self.buffer
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        self.shared.borrow().session.max_transfer(op)
    }

    fn submit(&mut self, _: Slot, op: DataOp) {
        self.buffer.resize(self.slot_bytes as usize, 0);
        let mut shared = self.shared.borrow_mut();
        if let DataOp::Write { len, .. } = op {
            let len = len as usize;
            shared.session.buffer(self.slot)[..len].copy_from_slice(&self.buffer[..len]);
        }
        shared.session.submit(self.slot, op);
        shared.data_in_flight += 1;
        self.in_flight = Some(op);
    }

    fn poll_replies(&mut self, _: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let Poll::Ready(reply) = self.arrived(|arrived| arrived.data.take()) else { return Poll::Pending };
        if let (Some(DataOp::Read { len, .. }), Ok(bytes)) = (self.in_flight.take(), &reply.result) {
            // A reply may claim more bytes than were requested, which its receiver reports.
            let bytes = (*bytes).min(len) as usize;
            let mut shared = self.shared.borrow_mut();
            self.buffer[..bytes].copy_from_slice(&shared.session.buffer(self.slot)[..bytes]);
        }
        replies.push(Reply { slot: SLOT, ..reply });
        Poll::Ready(())
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        let begun = match op {
            SessionOp::Basic(op) => self.shared.borrow_mut().session.submit_call(self.slot, op),
            _ => Err(OpError::cannot_overlap()),
        };
        Box::pin(async move {
            match begun {
                Ok(()) => poll_fn(|_| self.arrived(|arrived| arrived.call.take())).await,
                Err(error) => MetaReply { result: Err(error), requests: 0 },
            }
        })
    }

    fn wire(&self) -> WireCount {
        self.shared.borrow().session.wire()
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn readings(&self) -> Option<&dyn Readings> {
        None
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        // The session belongs to all slots.
        Box::pin(std::future::ready(()))
    }
}

impl Extensions for SlotSession<'_, '_> {
    fn whole_files(&mut self) -> Option<&mut dyn WholeFiles> {
        if self.shared.borrow_mut().session.reads_whole_files() { Some(self) } else { None }
    }
}

impl WholeFiles for SlotSession<'_, '_> {
    fn read_file<'b>(&'b mut self, path: &'b str, len: u32) -> LocalBoxFuture<'b, Reply> {
        self.buffer.resize(self.slot_bytes as usize, 0);
        let begun = self.shared.borrow_mut().session.submit_read_file(self.slot, path.to_owned(), len);
        Box::pin(async move {
            let reply = match begun {
                Ok(()) => poll_fn(|_| self.arrived(|arrived| arrived.call.take())).await,
                Err(error) => MetaReply { result: Err(error), requests: 0 },
            };
            let result =
                reply.result.and_then(MetaYield::into_bytes).map(|bytes| bytes.min(len.into()) as u32);
            if let Ok(bytes) = &result {
                let bytes = *bytes as usize;
                let mut shared = self.shared.borrow_mut();
                self.buffer[..bytes].copy_from_slice(&shared.session.buffer(self.slot)[..bytes]);
            }
            Reply { slot: SLOT, result, requests: reply.requests }
        })
    }

    /// Its user has one operation in flight.
    fn submit_read_file(&mut self, _: Slot, _: String, _: u32) -> Result<(), OpError> {
        Err(OpError::cannot_overlap())
    }
}
