//! Open file descriptors of the host, up to a limit.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::NodeId;

/// An open file or directory.
pub(super) struct OpenNode {
    fd: OwnedFd,
    /// Also open for writing.
    pub(super) writable: bool,
    pub(super) directory: bool,
    /// A symbolic link: a reference without access to what it leads to.
    pub(super) link: bool,
}

impl OpenNode {
    /// Takes ownership of a descriptor.
    pub(super) fn new(fd: OwnedFd, directory: bool, writable: bool) -> Arc<Self> {
        Arc::new(Self { fd, writable, directory, link: false })
    }

    /// Takes ownership of the descriptor of a symbolic link, opened with `O_PATH`.
    pub(super) fn link(fd: OwnedFd) -> Arc<Self> {
        Arc::new(Self { fd, writable: false, directory: false, link: true })
    }

    /// The descriptor.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Descriptors by node. A full table evicts the first one that was not used since the clock hand last passed it (second
/// chance), so that a use costs one flag and no reordering.
pub(super) struct OpenFiles {
    bound: usize,
    slots: RwLock<Slots>,
}

#[derive(Default)]
struct Slots {
    by_id: HashMap<NodeId, usize>,
    entries: Vec<Slot>,
    hand: usize,
}

struct Slot {
    id: NodeId,
    open: Arc<OpenNode>,
    used: AtomicBool,
}

impl OpenFiles {
    /// Keeps up to `bound` descriptors, at least one. More are open only while calls use them.
    pub(super) fn new(bound: usize) -> Self {
        Self { bound: bound.max(1), slots: RwLock::default() }
    }

    /// The descriptor of a node, if kept.
    pub(super) fn get(&self, id: NodeId) -> Option<Arc<OpenNode>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entries.get(*slots.by_id.get(&id)?)?;
        slot.used.store(true, Ordering::Relaxed);
        Some(Arc::clone(&slot.open))
    }

    /// Keeps a descriptor and replaces an earlier one of the same node.
    pub(super) fn insert(&self, id: NodeId, open: Arc<OpenNode>) {
        let mut guard = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let slots = &mut *guard;
        let slot = Slot { id, open, used: AtomicBool::new(true) };
        if let Some(at) = slots.by_id.get(&id) {
            slots.entries[*at] = slot;
        } else if slots.entries.len() < self.bound {
            slots.by_id.insert(id, slots.entries.len());
            slots.entries.push(slot);
        } else {
            let at = slots.free();
            slots.by_id.remove(&slots.entries[at].id);
            slots.by_id.insert(id, at);
            slots.entries[at] = slot;
        }
    }

    /// Removes the descriptor of a deleted node.
    pub(super) fn remove(&self, id: NodeId) {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = slots.by_id.remove(&id) {
            slots.entries.swap_remove(at);
            if let Some(moved) = slots.entries.get(at).map(|slot| slot.id) {
                slots.by_id.insert(moved, at);
            }
        }
    }
}

impl Slots {
    /// The slot to reuse. The caller has checked that there are slots.
    fn free(&mut self) -> usize {
        loop {
            self.hand = (self.hand + 1) % self.entries.len();
            if !std::mem::take(self.entries[self.hand].used.get_mut()) {
                return self.hand;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::{OpenFiles, OpenNode};
    use crate::NodeId;

    fn descriptor() -> std::sync::Arc<OpenNode> {
        OpenNode::new(File::open("/dev/null").unwrap().into(), false, false)
    }

    #[test]
    fn stays_within_its_bound_and_keeps_what_is_used() {
        let files = OpenFiles::new(4);
        for id in 1..=4 {
            files.insert(NodeId(id), descriptor());
        }
        files.insert(NodeId(5), descriptor()); // The hand has passed all: every flag is down now.
        let kept: Vec<u64> = (1..=5).filter(|id| files.get(NodeId(*id)).is_some()).collect();
        assert_eq!(kept.len(), 4);
        assert!(kept.contains(&5));
        files.remove(NodeId(5));
        assert!(files.get(NodeId(5)).is_none());
        let left = (1..=5).filter(|id| files.get(NodeId(*id)).is_some()).count();
        assert_eq!(left, 3);
        for id in 10..100 {
            files.insert(NodeId(id), descriptor());
            assert!(files.get(NodeId(id)).is_some());
        }
    }
}
