//! Events of the sessions of a target that are facts of the run: lost channels and repeated requests.

use std::sync::atomic::{AtomicU64, Ordering};

use sharebench_model::Facts;

/// Sums over all sessions of a target. Each event is rare, so that counting it at once costs a measurement nothing.
#[derive(Debug, Default)]
pub(crate) struct SessionCounts {
    channels_lost: AtomicU64,
    requests_repeated: AtomicU64,
}

impl SessionCounts {
    /// A channel was lost, and its session continues on others.
    pub(crate) fn channel_lost(&self) {
        self.channels_lost.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was sent again, because its channel was lost.
    pub(crate) fn request_repeated(&self) {
        self.requests_repeated.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the facts of sessions with several channels.
    pub(crate) fn add_channel_facts(&self, facts: &mut Facts) {
        let mut add = |fact: &str, count: &AtomicU64| {
            facts.insert(fact.to_owned(), count.load(Ordering::Relaxed).to_string());
        };
        add("channels_lost", &self.channels_lost);
        add("requests_repeated", &self.requests_repeated);
    }
}
