//! The open files of all clients: share modes, pending removals, and what a file has besides its node.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::create::access;

use crate::smb::leases::Lease;
use crate::smb::listing::ListingState;
use crate::smb::locks::{Lock, PendingReply, WaitingLock};
use crate::smb::session::OpenCount;
use crate::smb::status::Outcome;
use crate::{NodeId, Volume};

/// Access that share modes concern: reading, writing, deleting, in the order of the bits of a share mode.
const SHARED: [u32; 3] =
    [access::READ_DATA | access::EXECUTE, access::WRITE_DATA | access::APPEND_DATA, access::DELETE];

/// Directory and name of an open file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) directory: NodeId,
    /// Empty for the root.
    pub(super) name: String,
    /// Path below the share with `\` between names.
    pub(super) path: String,
}

/// An open file or directory of a client (MS-SMB2 3.3.1.10).
pub(super) struct OpenFile {
    pub(super) id: FileId,
    pub(super) node: NodeId,
    pub(super) directory: bool,
    /// Granted access.
    pub(super) access: u32,
    /// Every write is on stable storage before its reply.
    pub(super) write_through: bool,
    pub(super) options: u32,
    /// Shared with the other opens of the node.
    pub(super) file: Arc<File>,
    pub(super) delete_on_close: AtomicBool,
    pub(super) listing: Mutex<ListingState>,
    pub(super) _count: OpenCount,
}

impl OpenFile {
    /// Checks that one of these rights was granted.
    pub(super) fn require(&self, any_of: u32) -> Outcome<()> {
        if self.access & any_of == 0 { Err(NtStatus::ACCESS_DENIED) } else { Ok(()) }
    }
}

/// A node that is open at least once.
pub(super) struct File {
    node: NodeId,
    /// True while there are byte-range locks, so that READ and WRITE of other files need not look for them.
    pub(super) locked: AtomicBool,
    /// True while a client may cache what it reads, so that WRITE of other files need not look for leases.
    pub(super) cached: AtomicBool,
    state: Mutex<FileState>,
}

/// What the opens of a node have in common.
pub(super) struct FileState {
    pub(super) place: Place,
    /// Identifier, access and share mode of each open.
    opens: Vec<(u64, u32, u32)>,
    pub(super) delete_pending: bool,
    pub(super) locks: Vec<Lock>,
    pub(super) waiting: Vec<WaitingLock>,
    pub(super) leases: Vec<Lease>,
}

impl File {
    pub(super) fn state(&self) -> MutexGuard<'_, FileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The table of the nodes that are open.
///
/// A node whose removal is pending stays in the table until its name is removed, so that nobody opens it meanwhile. The
/// table is locked before a file, and neither is locked while the volume is called.
#[derive(Default)]
pub(super) struct OpenFiles(Mutex<HashMap<NodeId, Arc<File>>>);

impl OpenFiles {
    fn table(&self) -> MutexGuard<'_, HashMap<NodeId, Arc<File>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an open of a node if the share modes of the others allow it (MS-FSA 2.1.5.1.2).
    pub(super) fn open(
        &self,
        node: NodeId,
        place: &Place,
        (id, wanted, share): (FileId, u32, u32),
    ) -> Outcome<Arc<File>> {
        let mut table = self.table();
        let file = table.entry(node).or_insert_with(|| {
            let state = FileState {
                place: place.clone(),
                opens: Vec::new(),
                delete_pending: false,
                locks: Vec::new(),
                waiting: Vec::new(),
                leases: Vec::new(),
            };
            Arc::new(File {
                node,
                locked: AtomicBool::default(),
                cached: AtomicBool::default(),
                state: Mutex::new(state),
            })
        });
        let mut state = file.state();
        if state.delete_pending {
            return Err(NtStatus::DELETE_PENDING);
        }
        let uses = |access: u32| SHARED.iter().any(|rights| access & rights != 0);
        let excludes = |share: u32, access: u32| {
            SHARED.iter().enumerate().any(|(bit, rights)| access & rights != 0 && share & 1 << bit == 0)
        };
        let conflict = uses(wanted)
            && state.opens.iter().any(|(_, access, others)| {
                uses(*access) && (excludes(*others, wanted) || excludes(share, *access))
            });
        if conflict {
            return Err(NtStatus::SHARING_VIOLATION);
        }
        state.opens.push((id.volatile, wanted, share));
        drop(state);
        Ok(Arc::clone(file))
    }

    /// True if a node is open.
    pub(super) fn is_open(&self, node: NodeId) -> bool {
        self.table().contains_key(&node)
    }

    /// Closes a file, and removes its name if that was pending and nobody else has it open. Nobody learns of a removal that
    /// fails (MS-SMB2 3.3.4.17), so that requests for it are checked before.
    pub(super) fn close(&self, open: &OpenFile, volume: &dyn Volume) {
        self.leave(&open.file, open.id.volatile, open.delete_on_close.load(Ordering::Relaxed), volume);
    }

    /// Ends an open that has no identifier any longer.
    pub(super) fn leave(&self, file: &File, id: u64, delete: bool, volume: &dyn Volume) {
        let (removed, replies) = {
            let mut state = file.state();
            state.opens.retain(|(open, _, _)| *open != id);
            state.delete_pending |= delete;
            state.leave_leases(id, &file.cached);
            let replies = state.leave_locks(id, &file.locked);
            ((state.opens.is_empty() && state.delete_pending).then(|| state.place.clone()), replies)
        };
        answer(replies);
        if let Some(place) = removed {
            remove(volume, file.node, &place);
        }
        let mut table = self.table();
        let unused = table.get(&file.node).is_some_and(|known| known.state().opens.is_empty());
        if unused {
            table.remove(&file.node);
        }
    }
}

/// Sends replies to requests that waited for a lock.
pub(super) fn answer(replies: Vec<(PendingReply, NtStatus)>) {
    for (pending, status) in replies {
        pending.send(status);
    }
}

/// Removes a name if it still belongs to the node.
fn remove(volume: &dyn Volume, node: NodeId, place: &Place) {
    let found = volume.lookup(place.directory, &place.name);
    let removed = match found {
        Ok(found) if found.node == node && found.directory => {
            volume.remove_directory(place.directory, &place.name)
        }
        Ok(found) if found.node == node => volume.remove(place.directory, &place.name),
        _ => return,
    };
    if let Err(error) = removed {
        tracing::debug!(%error, name = ?place.name, "SMB removal on close failed");
    }
}
