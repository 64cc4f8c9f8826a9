//! One state of a client, and what all clients have of one file.

use std::collections::VecDeque;

use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::status::Nfs4Status;

use crate::nfs::v4::limits::{MAX_STATES, MAX_STATES_PER_CLIENT};
use crate::nfs::v4::state::ranges::{ByteRange, LockList};
use crate::nfs::v4::state::{StateResult, StateTable, Tables};
use crate::{NodeId, PersistentId};

/// A state of a client: an open, a lock owner's locks on a file, or a delegation.
#[derive(Debug)]
pub(in crate::nfs::v4) struct StateEntry {
    pub(in crate::nfs::v4) client: u64,
    pub(in crate::nfs::v4) node: NodeId,
    /// Counts its changes, from 1.
    pub(in crate::nfs::v4) sequence: u32,
    pub(in crate::nfs::v4) kind: StateKind,
}

/// What a state is.
#[derive(Debug)]
pub(in crate::nfs::v4) enum StateKind {
    /// An open of an owner.
    Open(OpenShare),
    /// The locks of an owner.
    Lock {
        /// The lock owner.
        owner: Box<[u8]>,
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
#[derive(Debug, Clone)]
pub(in crate::nfs::v4) struct OpenShare {
    pub(in crate::nfs::v4) owner: Box<[u8]>,
    /// `OPEN4_SHARE_ACCESS_*`.
    pub(in crate::nfs::v4) access: u32,
    /// `OPEN4_SHARE_DENY_*`.
    pub(in crate::nfs::v4) deny: u32,
    /// Pairs of access and deny that OPEN was called with, as a set, for `OPEN_DOWNGRADE`.
    pub(in crate::nfs::v4) pairs: u16,
    /// False until `OPEN_CONFIRM`, minor version 0.
    pub(in crate::nfs::v4) confirmed: bool,
}

/// What all clients have of one file.
#[derive(Debug, Default)]
pub(in crate::nfs::v4) struct FileState {
    /// Numbers of the opens.
    pub(in crate::nfs::v4) opens: Vec<u64>,
    /// Numbers of the lock states.
    pub(in crate::nfs::v4) lockers: Vec<u64>,
    /// Numbers of the delegations.
    pub(in crate::nfs::v4) delegations: Vec<u64>,
    pub(in crate::nfs::v4) locks: LockList,
    pub(in crate::nfs::v4) waiters: VecDeque<Waiter>,
    /// No delegation before this time in milliseconds, because clients compete for the file.
    pub(in crate::nfs::v4) contended_until_ms: u64,
    /// What the handle of the file contains, where handles survive a restart.
    pub(in crate::nfs::v4) identity: Option<PersistentId>,
}

/// An owner that waits for a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::nfs::v4) struct Waiter {
    pub(in crate::nfs::v4) client: u64,
    pub(in crate::nfs::v4) owner: Box<[u8]>,
    pub(in crate::nfs::v4) range: ByteRange,
    pub(in crate::nfs::v4) exclusive: bool,
}

impl FileState {
    pub(super) fn is_unused(&self, now_ms: u64) -> bool {
        self.opens.is_empty()
            && self.lockers.is_empty()
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

impl Tables {
    /// Adds a state of a client, within the bounds.
    pub(super) fn add_state(&mut self, client: u64, node: NodeId, kind: StateKind) -> StateResult<u64> {
        if self.states.len() >= MAX_STATES {
            return Err(Nfs4Status::Resource);
        }
        let number = self.next();
        let owner = self.client(client)?;
        if owner.states.len() >= MAX_STATES_PER_CLIENT {
            return Err(Nfs4Status::Resource);
        }
        owner.states.insert(number);
        let file = self.files.entry(node).or_default();
        match &kind {
            StateKind::Open(_) => file.opens.push(number),
            StateKind::Lock { .. } => file.lockers.push(number),
            StateKind::Delegation { .. } => file.delegations.push(number),
            StateKind::Revoked => {}
        }
        self.states.insert(number, StateEntry { client, node, sequence: 1, kind });
        Ok(number)
    }

    /// Removes a state with what it holds of its file; true if locks were among it, so that others may get theirs.
    pub(super) fn remove_state(&mut self, number: u64, now_ms: u64) -> bool {
        let Some(entry) = self.states.remove(&number) else { return false };
        if let Some(client) = self.clients.get_mut(&entry.client) {
            client.states.remove(&number);
        }
        let Some(file) = self.files.get_mut(&entry.node) else { return false };
        file.opens.retain(|other| *other != number);
        file.lockers.retain(|other| *other != number);
        file.delegations.retain(|other| *other != number);
        let unlocked = file.locks.remove_all(number);
        if let StateKind::Lock { owner, .. } = &entry.kind {
            file.waiters.retain(|waiter| (waiter.client, &waiter.owner) != (entry.client, owner));
        }
        if file.is_unused(now_ms) {
            self.files.remove(&entry.node);
        }
        unlocked
    }
}
