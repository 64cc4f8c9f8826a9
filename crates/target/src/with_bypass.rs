//! A target with another road beside it.

use std::sync::Arc;

use sharebench_model::{Facts, IoPolicy};

use crate::policy::{PolicyRefusal, PolicyTerms};
use crate::session::{Capabilities, ConnectError, LocalBoxFuture, Session, SessionSpec, Target};

/// A target whose directory can be reached by another road, one without a client's cache.
pub struct WithBypass {
    inner: Arc<dyn Target>,
    side: Arc<dyn Target>,
}

impl WithBypass {
    /// `side` must name the same directory as `inner`.
    pub fn new(inner: Arc<dyn Target>, side: Arc<dyn Target>) -> Self {
        Self { inner, side }
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

    fn descriptors(&self) -> u32 {
        self.inner.descriptors()
    }

    fn bypass(&self) -> Option<&dyn Target> {
        Some(self.side.as_ref())
    }

    fn final_facts(&self) -> Facts {
        self.inner.final_facts()
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        self.inner.connect(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryTarget, NullTarget};

    /// Counts as many descriptors as nobody does by itself.
    struct Greedy(MemoryTarget);

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

        fn connect<'a>(
            &'a self,
            spec: &'a SessionSpec,
        ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
            self.0.connect(spec)
        }
    }

    #[test]
    fn a_road_beside_it_changes_nothing_of_what_a_target_takes() {
        let target = WithBypass::new(Arc::new(Greedy(MemoryTarget::default())), Arc::new(NullTarget));
        assert_eq!((target.descriptors(), target.bypass().unwrap().url()), (77, NullTarget.url()));
    }
}
