//! Counts the changes that this process makes, for the change numbers of attributes.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::NodeId;

/// Number of counters. Nodes that share one see changes of each other, which costs a cache of a client, and no error.
const COUNTERS: usize = 4096;

/// Counters of changes, by node.
pub(super) struct Changes([AtomicU64; COUNTERS]);

impl Default for Changes {
    fn default() -> Self {
        Self(array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Changes {
    /// Counts a change. It is called after the change: a reader that sees the new number must not have old content.
    pub(super) fn note(&self, node: NodeId) {
        self.counter(node).fetch_add(1, Ordering::Release);
    }

    /// The number of changes.
    pub(super) fn of(&self, node: NodeId) -> u64 {
        self.counter(node).load(Ordering::Acquire)
    }

    fn counter(&self, node: NodeId) -> &AtomicU64 {
        &self.0[node.0 as usize % COUNTERS]
    }
}
