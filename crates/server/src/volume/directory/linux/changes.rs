//! Counts the changes that this process makes, for the change numbers of attributes; and the times of changes that clients state.

use std::array;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};
use std::time::SystemTime;

use crate::NodeId;

/// Number of counters. Nodes that share one see changes of each other, which costs a cache of a client, and no error.
const COUNTERS: usize = 4096;

/// Maximum number of nodes with a stated time. Beyond it all of them show the time of the system again.
const MAX_STATED: usize = 1 << 16;

/// A time of the last change that a client has stated, which the system cannot store.
struct StatedTime {
    time: SystemTime,
    /// The time of the system when it was stated. A later one means that the node has changed since.
    system: SystemTime,
}

/// Counters of changes, by node, and stated times.
pub(super) struct Changes {
    counters: [AtomicU64; COUNTERS],
    stated: RwLock<HashMap<NodeId, StatedTime>>,
    /// True once a time was stated, so that nobody looks for one before.
    any_stated: AtomicBool,
}

impl Default for Changes {
    fn default() -> Self {
        let counters = array::from_fn(|_| AtomicU64::new(0));
        Self { counters, stated: RwLock::default(), any_stated: AtomicBool::new(false) }
    }
}

impl Changes {
    /// Counts a change. It is called after the change: a reader that sees the new number must not have old content.
    pub(super) fn note(&self, node: NodeId) {
        self.counter(node).fetch_add(1, Ordering::Release);
        if self.any_stated.load(Ordering::Acquire) {
            // The clock of the system may not have ticked since it was stated.
            self.stated_times().remove(&node);
        }
    }

    /// The number of changes.
    pub(super) fn number(&self, node: NodeId) -> u64 {
        self.counter(node).load(Ordering::Acquire)
    }

    /// Keeps a time of the last change that a client states; `system` is that of the system.
    pub(super) fn state_time(&self, node: NodeId, time: SystemTime, system: SystemTime) {
        let mut stated = self.stated_times();
        if stated.len() >= MAX_STATED {
            stated.clear();
        }
        stated.insert(node, StatedTime { time, system });
        self.any_stated.store(true, Ordering::Release);
    }

    /// The time of the last change that was stated, if the node has not changed since; otherwise that of the system.
    pub(super) fn stated_time(&self, node: NodeId, system: SystemTime) -> SystemTime {
        if !self.any_stated.load(Ordering::Acquire) {
            return system;
        }
        let stated = self.stated.read().unwrap_or_else(PoisonError::into_inner);
        let valid = stated.get(&node).filter(|stated| stated.system == system);
        valid.map_or(system, |stated| stated.time)
    }

    fn stated_times(&self) -> RwLockWriteGuard<'_, HashMap<NodeId, StatedTime>> {
        self.stated.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn counter(&self, node: NodeId) -> &AtomicU64 {
        &self.counters[node.0 as usize % COUNTERS]
    }
}
