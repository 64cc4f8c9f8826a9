//! Counts of delegations, which all sessions of a target share.

use std::sync::atomic::{AtomicU64, Ordering};

use sharebench_model::{Fact, TargetFacts};

/// What became of the wishes for delegations of all sessions of a target.
#[derive(Debug, Default)]
pub(crate) struct DelegationCounts {
    wanted: AtomicU64,
    granted: AtomicU64,
    recalled: AtomicU64,
}

impl DelegationCounts {
    /// A server answered an open with a request for a delegation.
    pub(crate) fn wanted(&self, is_granted: bool) {
        self.wanted.fetch_add(1, Ordering::Relaxed);
        self.granted.fetch_add(u64::from(is_granted), Ordering::Relaxed);
    }

    /// A delegation that the server had recalled is returned.
    pub(crate) fn recalled(&self) {
        self.recalled.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the facts of sessions that have wanted delegations, such as `delegations_granted: 10 of 12`.
    pub(crate) fn add_facts(&self, facts: &mut TargetFacts) {
        let [wanted, granted, recalled] =
            [&self.wanted, &self.granted, &self.recalled].map(|count| count.load(Ordering::Relaxed));
        if wanted > 0 {
            facts.state(Fact::DelegationsGranted, format!("{granted} of {wanted}"));
            facts.state(Fact::DelegationsRecalled, recalled.to_string());
        }
    }
}
