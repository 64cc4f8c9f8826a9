//! The number of each file of the host, and the place where that file was last seen.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::{NodeId, ROOT, VolumeError, VolumeResult};
use sharebench_beneath::Identity;

/// The place where a file was last seen.
#[derive(Debug, Clone)]
pub(super) struct NodeName {
    pub(super) identity: Identity,
    pub(super) parent: NodeId,
    pub(super) name: Arc<str>,
}

/// The table of all files seen so far. It grows by about 200 bytes per file, because a client may return any number
/// that it has received.
pub(super) struct Places(RwLock<Table>);

struct Table {
    by_identity: HashMap<Identity, NodeId>,
    by_id: HashMap<NodeId, NodeName>,
    last_id: u64,
}

impl Places {
    /// A table with only the root.
    pub(super) fn new(root: Identity) -> Self {
        let place = NodeName { identity: root, parent: ROOT, name: Arc::from("") };
        Self(RwLock::new(Table {
            by_identity: HashMap::from([(root, ROOT)]),
            by_id: HashMap::from([(ROOT, place)]),
            last_id: ROOT.0,
        }))
    }

    /// The number of the file that was just seen as `name` in `parent`.
    pub(super) fn seen(&self, identity: Identity, parent: NodeId, name: &str) -> NodeId {
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
        table.by_id.insert(id, NodeName { identity, parent, name: Arc::from(name) });
        id
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
        Some(id)
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
