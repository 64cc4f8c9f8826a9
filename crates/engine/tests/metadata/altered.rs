//! A target in memory whose sessions answer some calls otherwise.

use std::task::{Context, Poll};

use sharebench_model::{
    DataOp, ErrorClass, MetaReply, MetaYield, OpError, OpStep, Reply, SessionOp, Slot, TargetFacts, WireCount,
};
use sharebench_target::{
    Capabilities, ConnectError, Extensions, LocalBoxFuture, MemoryTarget, Readings, Session, SessionSpec,
    Target,
};

/// What is different. Each session has a copy of its own.
pub trait Alteration: Clone + Send + Sync + 'static {
    fn capabilities(&self, of_memory: Capabilities) -> Capabilities {
        of_memory
    }

    fn max_transfer(&self, _op: DataOp, of_memory: u32) -> u32 {
        of_memory
    }

    /// A data operation is about to be submitted.
    fn submit(&mut self, _op: DataOp) {}

    fn call<'s>(&'s mut self, memory: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply>;
}

pub struct Altered<A>(pub MemoryTarget, pub A);

pub struct AlteredSession<A>(pub Box<dyn Session>, pub A);

/// The reply to one request.
pub fn replied(result: Result<MetaYield, OpError>) -> MetaReply {
    MetaReply { result, requests: 1 }
}

/// A request that the server rejects.
pub fn rejected(class: ErrorClass, detail: &str) -> MetaReply {
    replied(Err(OpError::new(class, OpStep::Request("test"), detail)))
}

impl<A: Alteration> Target for Altered<A> {
    fn url(&self) -> String {
        self.0.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.1.capabilities(self.0.capabilities())
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        Box::pin(async move {
            let session = AlteredSession(self.0.connect(spec).await?, self.1.clone());
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }
}

impl<A: Alteration> Session for AlteredSession<A> {
    fn facts(&self) -> TargetFacts {
        self.0.facts()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.0.buffer(slot)
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        self.1.max_transfer(op, self.0.max_transfer(op))
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        self.1.submit(op);
        self.0.submit(slot, op);
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        self.0.poll_replies(cx, replies)
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        self.1.call(self.0.as_mut(), op)
    }

    fn wire(&self) -> WireCount {
        self.0.wire()
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }

    fn readings(&self) -> Option<&dyn Readings> {
        self.0.readings()
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        self.0.close()
    }
}
