//! A session of one slot: each operation is one blocking system call inside `submit`.

use std::task::{Context, Poll};

use sharebench_model::{DataOp, MetaReply, OpError, Reply, SessionOp, Slot, TargetFacts, WireCount};
use sharebench_target::{Extensions, LocalBoxFuture, Readings, Session, whole_transfer};

use super::session_core::{SessionCore, copy_mapped};
use super::transfer::transfer;
use crate::buffers::Buffers;
use crate::data_op::{file_and_len, too_long};

/// A session with one slot, whose operations are blocking system calls.
///
/// [`Session::submit`] performs the operation at once and keeps its reply for the next poll, so that a job with queue
/// depth 1 costs one system call per record and nothing else. The calling thread is blocked meanwhile: a job with
/// such a session owns its thread.
#[derive(Debug)]
pub(crate) struct PsyncSession {
    pub core: SessionCore,
    pub buffers: Buffers,
    /// The reply that the next poll gives; more than one only when a caller does not poll in between.
    pub answered: Vec<Reply>,
}

impl PsyncSession {
    pub fn new(core: SessionCore, buffers: Buffers) -> Self {
        Self { core, buffers, answered: Vec::with_capacity(2) }
    }

    #[inline]
    fn perform(&mut self, slot: Slot, op: DataOp, requests: &mut u32) -> Result<u32, OpError> {
        if let Some(mapping) = self.core.mapping(op) {
            return copy_mapped(mapping, op, self.buffers.slot(slot));
        }
        let (file, len) = file_and_len(op);
        let fd = self.core.fd(file)?;
        let size = self.buffers.slot_bytes();
        let slot = self.buffers.slot(slot).get_mut(..len as usize).ok_or_else(|| too_long(len, size))?;
        transfer(fd, op, slot, requests).map_err(|(errno, call)| self.core.failure(errno, call))
    }
}

impl Session for PsyncSession {
    fn facts(&self) -> TargetFacts {
        self.core.facts.clone()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.slot(slot)
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        whole_transfer(op)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        let mut requests = 0;
        let result = self.perform(slot, op, &mut requests);
        self.core.requests += u64::from(requests);
        self.answered.push(Reply { slot, result, requests });
    }

    fn poll_replies(&mut self, _: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        if self.answered.is_empty() {
            return Poll::Pending;
        }
        replies.append(&mut self.answered);
        Poll::Ready(())
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(self.core.call(op))
    }

    fn wire(&self) -> WireCount {
        WireCount { requests: self.core.requests, ..WireCount::default() }
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }

    fn readings(&self) -> Option<&dyn Readings> {
        Some(self)
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        drop(self);
        Box::pin(async {})
    }
}

impl Readings for PsyncSession {
    fn mount_wire(&self) -> Option<WireCount> {
        self.core.counter.as_ref()?.read()
    }
}
