//! A target together with a path that bypasses its client cache.

use std::sync::Arc;
use std::time::Duration;

use sharebench_model::{IoPolicy, TargetFacts};

use crate::policy::{PolicyRefusal, PolicyTerms};
use crate::session::{
    CallDepth, Capabilities, ConnectError, Connecting, LocalBoxFuture, PhaseObserver, SessionSpec, Target,
};

/// A target whose directory can also be reached by another path, without a client cache: the bypass of a mount.
///
/// Sessions, capabilities and counts are those of `inner`; only [`Target::bypass`] returns the other target. Cache probes
/// use it, so that their reads cannot come from the client's page cache.
pub struct WithBypass {
    inner: Arc<dyn Target>,
    bypass: Arc<dyn Target>,
}

impl WithBypass {
    /// `bypass` must be the same directory as `inner`.
    pub fn new(inner: Arc<dyn Target>, bypass: Arc<dyn Target>) -> Self {
        Self { inner, bypass }
    }
}

impl Target for WithBypass {
    fn url(&self) -> String {
        self.inner.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        self.inner.policy(wanted)
    }

    fn caches(&self) -> bool {
        self.inner.caches()
    }

    fn call_depth(&self) -> CallDepth {
        self.inner.call_depth()
    }

    fn descriptors(&self) -> u32 {
        self.inner.descriptors()
    }

    fn bypass(&self) -> Option<&dyn Target> {
        Some(self.bypass.as_ref())
    }

    fn final_facts(&self) -> TargetFacts {
        self.inner.final_facts()
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        self.inner.connect(spec)
    }

    fn connect_observed<'a>(&'a self, spec: &'a SessionSpec, reached: PhaseObserver<'a>) -> Connecting<'a> {
        self.inner.connect_observed(spec, reached)
    }

    fn explain(&self, error: ConnectError, limit: Duration) -> LocalBoxFuture<'_, ConnectError> {
        self.inner.explain(error, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NullTarget;

    /// Reports a number of descriptors that no default returns.
    struct Greedy(NullTarget);

    impl Target for Greedy {
        fn url(&self) -> String {
            self.0.url()
        }

        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }

        fn descriptors(&self) -> u32 {
            77
        }

        fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
            self.0.connect(spec)
        }
    }

    #[test]
    fn a_bypass_leaves_the_descriptor_count_of_the_target_unchanged() {
        let target = WithBypass::new(Arc::new(Greedy(NullTarget)), Arc::new(NullTarget));
        assert_eq!((target.descriptors(), target.bypass().unwrap().url()), (77, NullTarget.url()));
    }
}
