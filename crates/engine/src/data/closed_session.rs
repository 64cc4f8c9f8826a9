//! The session of a target whose real one was given back for a while.

use std::task::{Context, Poll};

use sharebench_model::{
    DataOp, ErrorClass, MetaReply, OpError, OpStep, Reply, SessionOp, Slot, TargetFacts, WireCount,
};
use sharebench_target::{Extensions, LocalBoxFuture, Readings, Session, whole_transfer};

/// A session without a connection, on which every operation fails. It takes the place of a session while the pre-step
/// command runs, so that no code needs to handle a missing session.
#[derive(Debug, Default)]
pub(crate) struct ClosedSession {
    answered: Vec<Reply>,
}

fn away() -> OpError {
    OpError::new(ErrorClass::Disconnected, OpStep::Session, "the session was closed between two steps")
}

impl Session for ClosedSession {
    fn facts(&self) -> TargetFacts {
        TargetFacts::new()
    }

    fn buffer(&mut self, _: Slot) -> &mut [u8] {
        &mut []
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        whole_transfer(op)
    }

    fn submit(&mut self, slot: Slot, _: DataOp) {
        self.answered.push(Reply { slot, result: Err(away()), requests: 0 });
    }

    fn poll_replies(&mut self, _: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        if self.answered.is_empty() {
            return Poll::Pending;
        }
        replies.append(&mut self.answered);
        Poll::Ready(())
    }

    fn perform_call(&mut self, _: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(async { MetaReply { result: Err(away()), requests: 0 } })
    }

    fn wire(&self) -> WireCount {
        WireCount::default()
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
