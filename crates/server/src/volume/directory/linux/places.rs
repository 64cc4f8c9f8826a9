//! The number of each file of the host, and the place where that file was last seen.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::{NodeId, ROOT, VolumeError, VolumeResult};
use sharebench_local::beneath::{Identity, Kind, Status};

/// The place where a file was last seen.
#[derive(Debug, Clone)]
pub(super) struct NodeName {
    pub(super) identity: Identity,
    pub(super) parent: NodeId,
    pub(super) name: Arc<str>,
}

/// The table of all files seen so far. It grows by about 200 bytes per file, because a client may return any number
/// that it has received.
pub(super) struct NodeLocations(RwLock<Table>);

struct Table {
    by_identity: HashMap<Identity, NodeId>,
    by_id: HashMap<NodeId, NodeName>,
    /// Further names of files with several names, in the order in which they were seen.
    others: HashMap<NodeId, Vec<NodeName>>,
    last_id: u64,
}

impl Table {
    fn add_other_name(&mut self, id: NodeId, name: NodeName) {
        let others = self.others.entry(id).or_default();
        others.retain(|other| (other.parent, &other.name) != (name.parent, &name.name));
        if others.len() >= MAX_OTHER_NAMES {
            // The one that was seen longest ago is the most likely to be gone.
            others.remove(0);
        }
        others.push(name);
    }
}

/// Maximum number of further names that are kept of a file.
const MAX_OTHER_NAMES: usize = 8;

impl NodeLocations {
    /// A table with only the root.
    pub(super) fn new(root: Identity) -> Self {
        let place = NodeName { identity: root, parent: ROOT, name: Arc::from("") };
        Self(RwLock::new(Table {
            by_identity: HashMap::from([(root, ROOT)]),
            by_id: HashMap::from([(ROOT, place)]),
            others: HashMap::new(),
            last_id: ROOT.0,
        }))
    }

    /// The number of the file that was just seen as `name` in `parent`.
    pub(super) fn seen(&self, status: &Status, parent: NodeId, name: &str) -> NodeId {
        let identity = status.identity;
        {
            let table = self.read();
            if let Some((id, place)) =
                table.by_identity.get(&identity).and_then(|id| Some((*id, table.by_id.get(id)?)))
                && (id == ROOT || (place.parent == parent && *place.name == *name))
            {
                return id;
            }
        }
        let mut table = self.write();
        let known = table.by_identity.get(&identity).copied();
        let id = known.unwrap_or_else(|| {
            table.last_id += 1;
            NodeId(table.last_id)
        });
        table.by_identity.insert(identity, id);
        let earlier = table.by_id.insert(id, NodeName { identity, parent, name: Arc::from(name) });
        if let Some(earlier) = earlier.filter(|_| status.links > 1 && status.kind != Kind::Directory) {
            table.add_other_name(id, earlier);
        }
        id
    }

    /// Keeps a further name of a file.
    pub(super) fn add_other_name(&self, id: NodeId, identity: Identity, parent: NodeId, name: &str) {
        self.write().add_other_name(id, NodeName { identity, parent, name: Arc::from(name) });
    }

    /// Replaces the name of a file that is gone by another one that is known; false if there is none.
    pub(super) fn use_other_name(&self, id: NodeId) -> bool {
        let mut table = self.write();
        let Some(others) = table.others.get_mut(&id) else { return false };
        let next = others.pop();
        if others.is_empty() {
            table.others.remove(&id);
        }
        let Some(next) = next else { return false };
        table.by_id.insert(id, next);
        true
    }

    /// The number of a file, if it was seen.
    pub(super) fn number(&self, identity: Identity) -> Option<NodeId> {
        self.read().by_identity.get(&identity).copied()
    }

    /// The identity of a file.
    pub(super) fn identity(&self, id: NodeId) -> Option<Identity> {
        Some(self.read().by_id.get(&id)?.identity)
    }

    /// The place where the file with this number was last seen.
    pub(super) fn get(&self, id: NodeId) -> VolumeResult<NodeName> {
        let table = self.read();
        let was_given = id.0 != 0 && id.0 <= table.last_id;
        let missing = if was_given { VolumeError::Stale } else { VolumeError::NotFound };
        table.by_id.get(&id).cloned().ok_or(missing)
    }

    /// Removes a deleted file and returns its number, which is not used again.
    pub(super) fn remove(&self, identity: Identity) -> Option<NodeId> {
        let mut table = self.write();
        let id = table.by_identity.remove(&identity)?;
        table.by_id.remove(&id);
        table.others.remove(&id);
        Some(id)
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
