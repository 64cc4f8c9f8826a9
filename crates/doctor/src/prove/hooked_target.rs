//! A target that forwards every call, and calls a hook of each session around its data operations.

use std::task::{Context, Poll};

use sharebench_model::{DataOp, MetaReply, Reply, SessionOp, Slot, TargetFacts, WireCount};
use sharebench_target::{
    Capabilities, ConnectError, Extensions, LocalBoxFuture, Readings, Session, SessionSpec, Target,
};

/// What happens around the data operations of one session.
pub(super) trait Hook {
    /// An operation is about to be submitted.
    fn before(&mut self, op: DataOp);

    /// Replies have arrived.
    fn replied(&mut self) {}
}

/// A target with a hook in each of its sessions, which `make` makes.
pub(super) struct HookedTarget<T, F> {
    inner: T,
    make: F,
}

impl<T, F> HookedTarget<T, F> {
    pub fn new(inner: T, make: F) -> Self {
        Self { inner, make }
    }
}

impl<T: Target, H: Hook + 'static, F: Fn() -> H + Send + Sync> Target for HookedTarget<T, F> {
    fn url(&self) -> String {
        self.inner.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        Box::pin(async move {
            let inner = self.inner.connect(spec).await?;
            Ok(Box::new(HookedSession { inner, hook: (self.make)() }) as Box<dyn Session>)
        })
    }
}

struct HookedSession<H> {
    inner: Box<dyn Session>,
    hook: H,
}

impl<H: Hook + 'static> Session for HookedSession<H> {
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
        self.hook.before(op);
        self.inner.submit(slot, op);
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let polled = self.inner.poll_replies(cx, replies);
        if polled.is_ready() {
            self.hook.replied();
        }
        polled
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        self.inner.call(op)
    }

    fn wire(&self) -> WireCount {
        self.inner.wire()
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }

    fn readings(&self) -> Option<&dyn Readings> {
        self.inner.readings()
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        self.inner.close()
    }
}
