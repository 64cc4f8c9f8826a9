//! Nodes by their identity on the file system, which outlives this process.

use std::sync::PoisonError;

use sharebench_local::beneath::{Identity, Kind};

use crate::volume::directory::linux::names::{Which, read_names};
use crate::volume::directory::linux::tree::Tree;
use crate::{NodeId, PersistentId, ROOT, VolumeError, VolumeResult};

/// Whether the tree was scanned for nodes that a client knows from an earlier process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Scan {
    #[default]
    NotYet,
    Done,
}

impl Tree {
    /// The identity of a node as bytes.
    pub(super) fn persistent_id(&self, node: NodeId) -> Option<PersistentId> {
        self.places.identity(node).map(Identity::to_bytes)
    }

    /// The node with this identity. The first identity that this process has not seen costs one scan of the tree: it
    /// belongs to a client that continues after a restart. Later ones are of nodes that no longer exist.
    pub(super) fn find_persistent(&self, id: &PersistentId) -> VolumeResult<NodeId> {
        let identity = Identity::from_bytes(id);
        let known = || self.places.number(identity);
        if let Some(node) = known() {
            return Ok(node);
        }
        let mut scan = self.scan.lock().unwrap_or_else(PoisonError::into_inner);
        if *scan == Scan::NotYet {
            self.scan_tree();
            *scan = Scan::Done;
        }
        known().ok_or(VolumeError::Stale)
    }

    /// Records the place of every node of the tree.
    fn scan_tree(&self) {
        let which = if self.links { Which::WithLinks } else { Which::Served };
        let mut waiting = vec![ROOT];
        while let Some(directory) = waiting.pop() {
            // Removed in the meantime, or unreadable: nothing below it can be served.
            let Ok(open) = self.directory(directory) else { continue };
            for name in read_names(open.fd(), which).unwrap_or_default() {
                let Ok(status) = self.status(&open, &name) else { continue };
                let node = self.places.seen(&status, directory, &name);
                if status.kind == Kind::Directory {
                    waiting.push(node);
                }
            }
        }
    }
}
