//! One state of a client, and what all clients have of one file.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::status::Nfs4Status;

use crate::front_ends::state_budget::{ENTRY_BYTES, StateCharge};
use crate::nfs::v4::limits::MAX_IDLE_OWNERS;
use crate::nfs::v4::state::owned::OwnedKey;
use crate::nfs::v4::state::ranges::{ByteLock, ByteRange, LockList};
use crate::nfs::v4::state::shares::ShareCounts;
use crate::nfs::v4::state::{StateResult, StateTable, Tables};
use crate::{NodeId, PersistentId};

/// Bytes of what is kept of one file.
const FILE_BYTES: usize = size_of::<FileState>() + ENTRY_BYTES;
/// Bytes of one lock, of which a vector may have room for twice as many.
const LOCK_BYTES: usize = 2 * size_of::<ByteLock>();
/// Bytes of a state besides its owner: its entry in the tables of states, of its client, of its owner and of its open.
const ENTRIES_BYTES: usize = size_of::<StateEntry>() + size_of::<OwnedKey>() + 5 * ENTRY_BYTES;

/// A state of a client: an open, a lock owner's locks on a file, or a delegation.
#[derive(Debug)]
pub(in crate::nfs::v4) struct StateEntry {
    pub(in crate::nfs::v4) client: u64,
    pub(in crate::nfs::v4) node: NodeId,
    /// Counts its changes, from 1.
    pub(in crate::nfs::v4) sequence: u32,
    pub(in crate::nfs::v4) kind: StateKind,
    _charge: StateCharge,
}

/// What a state is.
#[derive(Debug)]
pub(in crate::nfs::v4) enum StateKind {
    /// An open of an owner.
    Open(OpenShare),
    /// The locks of an owner.
    Lock {
        /// The lock owner.
        owner: Arc<[u8]>,
        /// Number of the open that they belong to.
        open: u64,
    },
    /// A read delegation.
    Delegation {
        /// When it is revoked, in milliseconds, once it was recalled.
        deadline_ms: Option<u64>,
    },
    /// A delegation that was not returned in time. It stays until the client frees it.
    Revoked,
}

/// The share reservation of an open (RFC 7530, 9.7).
#[derive(Debug)]
pub(in crate::nfs::v4) struct OpenShare {
    pub(in crate::nfs::v4) owner: Arc<[u8]>,
    /// `OPEN4_SHARE_ACCESS_*`.
    pub(in crate::nfs::v4) access: u32,
    /// `OPEN4_SHARE_DENY_*`.
    pub(in crate::nfs::v4) deny: u32,
    /// Pairs of access and deny that OPEN was called with, as a set, for `OPEN_DOWNGRADE`.
    pub(in crate::nfs::v4) pairs: u16,
    /// False until `OPEN_CONFIRM`, minor version 0.
    pub(in crate::nfs::v4) confirmed: bool,
    /// Numbers of the lock states that belong to it.
    pub(super) lockers: HashSet<u64>,
}

/// What all clients have of one file.
#[derive(Debug)]
pub(in crate::nfs::v4) struct FileState {
    pub(super) shares: ShareCounts,
    /// Number of lock states.
    lockers: usize,
    /// Numbers of the delegations by client.
    pub(super) delegations: HashMap<u64, u64>,
    pub(in crate::nfs::v4) locks: LockList,
    pub(in crate::nfs::v4) waiters: VecDeque<Waiter>,
    /// No delegation before this time in milliseconds, because clients compete for the file.
    pub(in crate::nfs::v4) contended_until_ms: u64,
    /// What the handle of the file contains, where handles survive a restart.
    pub(in crate::nfs::v4) identity: Option<PersistentId>,
    /// That of the file and of its locks.
    charge: StateCharge,
}

/// An owner that waits for a lock.
#[derive(Debug)]
pub(in crate::nfs::v4) struct Waiter {
    pub(in crate::nfs::v4) client: u64,
    pub(in crate::nfs::v4) owner: Box<[u8]>,
    pub(in crate::nfs::v4) range: ByteRange,
    pub(in crate::nfs::v4) exclusive: bool,
    pub(super) _charge: StateCharge,
}

impl FileState {
    fn new(charge: StateCharge) -> Self {
        Self {
            shares: ShareCounts::default(),
            lockers: 0,
            delegations: HashMap::new(),
            locks: LockList::default(),
            waiters: VecDeque::new(),
            contended_until_ms: 0,
            identity: None,
            charge,
        }
    }

    /// Charges the locks that there are and `more`; false if the budget has less.
    pub(super) fn charge_locks(&mut self, more: usize) -> bool {
        self.charge.resize(FILE_BYTES + (self.locks.len() + more) * LOCK_BYTES)
    }

    pub(super) fn is_unused(&self, now_ms: u64) -> bool {
        self.shares.is_empty()
            && self.lockers == 0
            && self.delegations.is_empty()
            && self.contended_until_ms <= now_ms
    }
}

/// Who presents a state id: a client from minor version 1 on; in minor version 0 nobody in particular.
#[derive(Debug, Clone, Copy)]
pub(in crate::nfs::v4) struct Caller {
    pub(in crate::nfs::v4) client: Option<u64>,
    pub(in crate::nfs::v4) minor_version: u32,
}

impl StateTable {
    /// The number of the state of a state id that is current (RFC 8881, 8.2.2 to 8.2.4).
    #[inline]
    pub(in crate::nfs::v4) fn current(
        &self,
        tables: &Tables,
        state: &StateId,
        caller: Caller,
    ) -> StateResult<u64> {
        let number = self.number(state, caller.minor_version)?;
        let entry = tables.states.get(&number).ok_or(Nfs4Status::BadStateid)?;
        if caller.client.is_some_and(|client| client != entry.client) {
            return Err(Nfs4Status::BadStateid);
        }
        if matches!(entry.kind, StateKind::Revoked) {
            let revoked = caller.minor_version > 0;
            return Err(if revoked { Nfs4Status::DelegRevoked } else { Nfs4Status::Expired });
        }
        // From minor version 1 on, 0 means the current one.
        if state.sequence == 0 && caller.minor_version > 0 || state.sequence == entry.sequence {
            return Ok(number);
        }
        // The difference shows which is older also after an overflow.
        let newer = state.sequence.wrapping_sub(entry.sequence) < 1 << 31;
        Err(if newer { Nfs4Status::BadStateid } else { Nfs4Status::OldStateid })
    }

    /// Advances a state's sequence and returns its state id.
    pub(in crate::nfs::v4) fn advance(&self, tables: &mut Tables, number: u64) -> StateResult<StateId> {
        let entry = tables.states.get_mut(&number).ok_or(Nfs4Status::BadStateid)?;
        // 0 has a meaning of its own.
        entry.sequence = entry.sequence.checked_add(1).unwrap_or(1);
        Ok(self.state_id(number, entry.sequence))
    }
}

impl StateTable {
    /// See [`Tables::charge_state`].
    pub(in crate::nfs::v4) fn charge_state(
        &self,
        client: u64,
        owner_bytes: usize,
        refused: Nfs4Status,
    ) -> StateResult<StateCharge> {
        self.lock().charge_state(client, owner_bytes, refused)
    }
}

impl StateEntry {
    /// The key of a state that has an owner.
    fn key(&self) -> Option<OwnedKey> {
        let (of_locks, owner) = match &self.kind {
            StateKind::Open(share) => (false, &share.owner),
            StateKind::Lock { owner, .. } => (true, owner),
            StateKind::Delegation { .. } | StateKind::Revoked => return None,
        };
        Some(OwnedKey { client: self.client, of_locks, owner: Arc::clone(owner), node: self.node })
    }
}

impl Tables {
    /// Charges a state of a client, and of an owner with a name of this many bytes, or fails with `refused`.
    pub(super) fn charge_state(
        &self,
        client: u64,
        owner_bytes: usize,
        refused: Nfs4Status,
    ) -> StateResult<StateCharge> {
        let client = self.clients.get(&client).ok_or(Nfs4Status::StaleClientid)?;
        client.budget().charge(ENTRIES_BYTES + FILE_BYTES + owner_bytes).ok_or(refused)
    }

    /// Adds a state of a client, which [`Tables::charge_state`] has charged.
    pub(super) fn add_state(
        &mut self,
        client: u64,
        node: NodeId,
        kind: StateKind,
        mut charge: StateCharge,
    ) -> StateResult<u64> {
        let number = self.next();
        self.client(client)?.states.insert(number);
        let of_file = charge.split(FILE_BYTES);
        let file = self.files.entry(node).or_insert_with(|| FileState::new(of_file));
        match &kind {
            StateKind::Open(share) => file.shares.add(share.access, share.deny),
            StateKind::Lock { open, .. } => {
                file.lockers += 1;
                if let Some(StateKind::Open(share)) = self.states.get_mut(open).map(|entry| &mut entry.kind) {
                    share.lockers.insert(number);
                }
            }
            StateKind::Delegation { .. } => drop(file.delegations.insert(client, number)),
            StateKind::Revoked => {}
        }
        let entry = StateEntry { client, node, sequence: 1, kind, _charge: charge };
        if let Some(key) = entry.key() {
            self.owned.insert(key, number);
        }
        self.states.insert(number, entry);
        Ok(number)
    }

    /// Removes a state with what it holds of its file; true if locks were among it, so that others may get theirs.
    pub(super) fn remove_state(&mut self, number: u64, now_ms: u64) -> bool {
        let Some(entry) = self.states.remove(&number) else { return false };
        if let Some(client) = self.clients.get_mut(&entry.client) {
            client.states.remove(&number);
        }
        if let Some(key) = entry.key()
            && self.owned.remove(&key)
        {
            self.idle_owner(&key);
        }
        if let StateKind::Lock { open, .. } = &entry.kind
            && let Some(StateKind::Open(share)) = self.states.get_mut(open).map(|open| &mut open.kind)
        {
            share.lockers.remove(&number);
        }
        let Some(file) = self.files.get_mut(&entry.node) else { return false };
        let mut unlocked = false;
        match &entry.kind {
            StateKind::Open(share) => file.shares.remove(share.access, share.deny),
            StateKind::Lock { owner, .. } => {
                file.lockers -= 1;
                unlocked = file.locks.remove_all(number);
                file.charge_locks(0);
                file.waiters.retain(|waiter| (waiter.client, &*waiter.owner) != (entry.client, &**owner));
            }
            StateKind::Delegation { .. } => drop(file.delegations.remove(&entry.client)),
            StateKind::Revoked => {}
        }
        if file.is_unused(now_ms) {
            self.files.remove(&entry.node);
        }
        unlocked
    }

    /// Keeps an owner of minor version 0 that has no state any longer, and forgets the one that has had none for longest.
    fn idle_owner(&mut self, key: &OwnedKey) {
        let Some(client) = self.clients.get_mut(&key.client).filter(|client| client.owner.0) else { return };
        client.idle.push_back((key.of_locks, Arc::clone(&key.owner)));
        if client.idle.len() > MAX_IDLE_OWNERS
            && let Some((of_locks, owner)) = client.idle.pop_front()
        {
            self.forget_owner(key.client, &owner, of_locks);
        }
    }
}
