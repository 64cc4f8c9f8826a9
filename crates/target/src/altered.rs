//! A target that does a few things otherwise than the one inside it: for tests, experiments and simulated clients.

use std::sync::Arc;
use std::task::{Context, Poll};

use sharebench_model::{DataOp, IoPolicy, MetaReply, Reply, SessionOp, Slot, TargetFacts, WireCount};

use crate::policy::{PolicyRefusal, PolicyTerms};
use crate::session::{
    Capabilities, Connecting, Extensions, LocalBoxFuture, Readings, Session, SessionSpec, Target,
};

/// What an [`Altered`] target does otherwise. Each session has a copy. The default implementations pass everything on to the
/// target and the session inside.
pub trait Alteration: Sized + 'static {
    /// [`Target::connect`].
    fn connect<'a>(&'a self, inner: &'a dyn Target, spec: &'a SessionSpec) -> Connecting<'a>
    where
        Self: Clone,
    {
        Box::pin(async move { Ok(self.clone().session(inner.connect(spec).await?)) })
    }

    /// A session with this alteration.
    fn session(self, inner: Box<dyn Session>) -> Box<dyn Session> {
        Box::new(AlteredSession { inner, alteration: self })
    }

    /// [`Session::facts`].
    fn facts(&self, of_inner: TargetFacts) -> TargetFacts {
        of_inner
    }

    /// [`Session::max_transfer`].
    fn max_transfer(&self, inner: &dyn Session, op: DataOp) -> u32 {
        inner.max_transfer(op)
    }

    /// [`Session::submit`].
    fn submit(&mut self, inner: &mut dyn Session, slot: Slot, op: DataOp) {
        inner.submit(slot, op);
    }

    /// [`Session::poll_replies`].
    fn poll(&mut self, inner: &mut dyn Session, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        inner.poll_replies(cx, replies)
    }

    /// [`Session::perform_call`].
    fn call<'s>(&'s mut self, inner: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        inner.call(op)
    }

    /// [`Session::wire`].
    fn wire(&self, of_inner: WireCount) -> WireCount {
        of_inner
    }

    /// [`Session::extensions`]. Those of the session inside are not passed on.
    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }
}

/// A target with an alteration.
#[derive(Clone)]
pub struct Altered<A> {
    inner: Arc<dyn Target>,
    /// Those of the target inside, unless they are changed.
    pub capabilities: Capabilities,
    alteration: A,
}

impl<A> Altered<A> {
    /// Alters a target.
    pub fn new(inner: impl Target + 'static, alteration: A) -> Self {
        Self::of_shared(Arc::new(inner), alteration)
    }

    /// Alters a target that others use as well.
    pub fn of_shared(inner: Arc<dyn Target>, alteration: A) -> Self {
        let capabilities = inner.capabilities();
        Self { inner, capabilities, alteration }
    }
}

impl<A: Alteration + Clone + Send + Sync> Target for Altered<A> {
    fn url(&self) -> String {
        self.inner.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        self.inner.policy(wanted)
    }

    fn descriptors(&self) -> u32 {
        self.inner.descriptors()
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        self.alteration.connect(&*self.inner, spec)
    }
}

struct AlteredSession<A> {
    inner: Box<dyn Session>,
    alteration: A,
}

impl<A: Alteration> Session for AlteredSession<A> {
    fn facts(&self) -> TargetFacts {
        self.alteration.facts(self.inner.facts())
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        self.alteration.max_transfer(&*self.inner, op)
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        self.alteration.submit(&mut *self.inner, slot, op);
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        self.alteration.poll(&mut *self.inner, cx, replies)
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        self.alteration.call(&mut *self.inner, op)
    }

    fn wire(&self) -> WireCount {
        self.alteration.wire(self.inner.wire())
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        self.alteration.extensions()
    }

    fn readings(&self) -> Option<&dyn Readings> {
        self.inner.readings()
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        self.inner.close()
    }
}
