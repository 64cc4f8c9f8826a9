//! The opens and locks of owners by client, owner and file, so that an operation examines none of others.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::NodeId;

/// Whose state on which file: a client, true for an owner of locks, the owner, and the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnedKey {
    pub(super) client: u64,
    pub(super) of_locks: bool,
    pub(super) owner: Arc<[u8]>,
    pub(super) node: NodeId,
}

impl OwnedKey {
    fn is_of_same(&self, other: &Self) -> bool {
        (self.client, self.of_locks, &self.owner) == (other.client, other.of_locks, &other.owner)
    }
}

impl Ord for OwnedKey {
    fn cmp(&self, other: &Self) -> Ordering {
        #[cfg(test)]
        EXAMINED.set(EXAMINED.get() + 1);
        let client = (self.client, self.of_locks).cmp(&(other.client, other.of_locks));
        client.then_with(|| self.owner.cmp(&other.owner)).then_with(|| self.node.cmp(&other.node))
    }
}

impl PartialOrd for OwnedKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
thread_local! {
    /// Number of states that operations on this thread have examined.
    pub(in crate::nfs::v4) static EXAMINED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The number of the state of each owner on each file. An owner has at most one open and one lock state of a file.
#[derive(Debug, Default)]
pub(super) struct OwnedStates(BTreeMap<OwnedKey, u64>);

impl OwnedStates {
    /// The number of a state.
    pub(super) fn get(&self, key: &OwnedKey) -> Option<u64> {
        self.0.get(key).copied()
    }

    /// Adds a state.
    pub(super) fn insert(&mut self, key: OwnedKey, number: u64) {
        self.0.insert(key, number);
    }

    /// Removes a state; true if it was the last one of its owner.
    pub(super) fn remove(&mut self, key: &OwnedKey) -> bool {
        self.0.remove(key);
        self.of_owner(key.client, key.of_locks, &key.owner).next().is_none()
    }

    /// The files and states of an owner.
    pub(super) fn of_owner(
        &self,
        client: u64,
        of_locks: bool,
        owner: &Arc<[u8]>,
    ) -> impl Iterator<Item = (NodeId, u64)> {
        let first = OwnedKey { client, of_locks, owner: Arc::clone(owner), node: NodeId(0) };
        let those = self.0.range(first.clone()..);
        those.take_while(move |(key, _)| key.is_of_same(&first)).map(|(key, number)| (key.node, *number))
    }
}
