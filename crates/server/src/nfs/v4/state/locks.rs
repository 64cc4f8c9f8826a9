//! Byte-range locks (RFC 7530, 16.10 to 16.12 and 16.37; RFC 8881, 18.10 to 18.12).

use std::collections::VecDeque;
use std::sync::Arc;

use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::open::{SHARE_READ, SHARE_WRITE};
use sharebench_nfs::v4::status::Nfs4Status;

use crate::NodeId;
use crate::nfs::v4::limits::{MAX_LOCKS_PER_FILE, MAX_WAITERS_PER_FILE};
use crate::nfs::v4::state::entry::{Caller, FileState, StateKind, Waiter};
use crate::nfs::v4::state::owned::OwnedKey;
use crate::nfs::v4::state::ranges::{ByteLock, ByteRange};
use crate::nfs::v4::state::{Client, StateResult, StateTable, Tables};

/// The lock that excludes a wanted one, and its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::nfs::v4) struct Conflict {
    pub(in crate::nfs::v4) range: ByteRange,
    pub(in crate::nfs::v4) exclusive: bool,
    pub(in crate::nfs::v4) client: u64,
    pub(in crate::nfs::v4) owner: Arc<[u8]>,
}

/// Outcome of LOCK: the state id, or the lock that excludes it.
pub(in crate::nfs::v4) type Locked = Result<StateId, Conflict>;

/// A wanted lock.
#[derive(Debug, Clone, Copy)]
pub(in crate::nfs::v4) struct WantedLock {
    pub(in crate::nfs::v4) node: NodeId,
    pub(in crate::nfs::v4) range: ByteRange,
    pub(in crate::nfs::v4) exclusive: bool,
    /// The client waits, and can be called when the lock may be available.
    pub(in crate::nfs::v4) waits: bool,
}

impl Tables {
    /// The lock state of an owner on a file.
    fn locker_of(&self, client: u64, owner: &Arc<[u8]>, node: NodeId) -> Option<u64> {
        self.owned.get(&OwnedKey { client, of_locks: true, owner: Arc::clone(owner), node })
    }

    fn conflict(&self, node: NodeId, wanted: ByteLock) -> Option<Conflict> {
        let lock = self.files.get(&node)?.locks.conflict(wanted)?;
        let entry = self.states.get(&lock.holder)?;
        let StateKind::Lock { owner, .. } = &entry.kind else { return None };
        Some(Conflict {
            range: lock.range,
            exclusive: lock.exclusive,
            client: entry.client,
            owner: Arc::clone(owner),
        })
    }
}

impl FileState {
    fn add_waiter(&mut self, waiter: Waiter) {
        self.waiters.retain(|other| (other.client, &other.owner) != (waiter.client, &waiter.owner));
        if self.waiters.len() < MAX_WAITERS_PER_FILE {
            self.waiters.push_back(waiter);
        }
    }

    /// Removes the waiters that no lock excludes any longer.
    fn take_ready(&mut self) -> Vec<Waiter> {
        let mut ready = Vec::new();
        let mut waiting = VecDeque::new();
        for waiter in std::mem::take(&mut self.waiters) {
            // No holder has the number 0, so that the waiter's own locks count as well: they are no conflict for LOCK,
            // and the client tries again in vain at worst.
            let lock = ByteLock { holder: 0, range: waiter.range, exclusive: waiter.exclusive };
            if self.locks.conflict(lock).is_none() {
                ready.push(waiter);
            } else {
                waiting.push_back(waiter);
            }
        }
        self.waiters = waiting;
        ready
    }
}

impl StateTable {
    /// Locks a range for an owner that may be new to the file.
    pub(in crate::nfs::v4) fn lock_as_new(
        &self,
        open: &StateId,
        caller: Caller,
        owner: &Arc<[u8]>,
        wanted: WantedLock,
    ) -> StateResult<Locked> {
        let mut tables = self.lock();
        let open = self.current(&tables, open, caller)?;
        let client = match tables.states.get(&open) {
            Some(entry) if matches!(entry.kind, StateKind::Open(_)) && entry.node == wanted.node => {
                entry.client
            }
            _ => return Err(Nfs4Status::BadStateid),
        };
        check_mode(&tables, open, wanted.exclusive)?;
        let known = tables.locker_of(client, owner, wanted.node);
        let holder = known.unwrap_or(0);
        if let Some(conflict) = Self::excluded(&mut tables, client, owner, holder, wanted) {
            return Ok(Err(conflict));
        }
        let Some(number) = known else {
            let charge = tables.charge_state(client, owner.len(), no_memory(caller))?;
            let kind = StateKind::Lock { owner: Arc::clone(owner), open };
            let number = tables.add_state(client, wanted.node, kind, charge)?;
            if let Err(error) = add_lock(&mut tables, caller, number, wanted) {
                tables.remove_state(number, self.now_ms());
                return Err(error);
            }
            return Ok(Ok(self.state_id(number, 1)));
        };
        add_lock(&mut tables, caller, number, wanted)?;
        self.advance(&mut tables, number).map(Ok)
    }

    /// Locks a range for an owner that has a lock state on the file.
    pub(in crate::nfs::v4) fn lock_as_known(
        &self,
        state: &StateId,
        caller: Caller,
        wanted: WantedLock,
    ) -> StateResult<Locked> {
        let mut tables = self.lock();
        let number = self.current(&tables, state, caller)?;
        let entry = tables.states.get(&number).ok_or(Nfs4Status::BadStateid)?;
        let StateKind::Lock { owner, open } = &entry.kind else { return Err(Nfs4Status::BadStateid) };
        if entry.node != wanted.node {
            return Err(Nfs4Status::BadStateid);
        }
        let client = entry.client;
        let owner = Arc::clone(owner);
        let open = *open;
        check_mode(&tables, open, wanted.exclusive)?;
        if let Some(conflict) = Self::excluded(&mut tables, client, &owner, number, wanted) {
            return Ok(Err(conflict));
        }
        add_lock(&mut tables, caller, number, wanted)?;
        self.advance(&mut tables, number).map(Ok)
    }

    /// The lock that excludes a wanted one; its owner then waits if it wants to.
    fn excluded(
        tables: &mut Tables,
        client: u64,
        owner: &[u8],
        holder: u64,
        wanted: WantedLock,
    ) -> Option<Conflict> {
        let lock = ByteLock { holder, range: wanted.range, exclusive: wanted.exclusive };
        let conflict = tables.conflict(wanted.node, lock)?;
        let can_be_called = wanted.waits && Self::session_for_callbacks(tables, client).is_some();
        // Without memory for it, the client tries again by itself, as it does if it cannot be called.
        if can_be_called
            && let Some(file) = tables.files.get_mut(&wanted.node)
            && let Some(budget) = tables.clients.get(&client).map(Client::budget)
            && let Some(charge) = budget.charge(2 * size_of::<Waiter>() + owner.len())
        {
            file.add_waiter(Waiter {
                client,
                owner: owner.into(),
                range: wanted.range,
                exclusive: wanted.exclusive,
                _charge: charge,
            });
        }
        Some(conflict)
    }

    /// The lock that would exclude a wanted one.
    pub(in crate::nfs::v4) fn test_lock(
        &self,
        client: u64,
        owner: &[u8],
        wanted: WantedLock,
    ) -> StateResult<Option<Conflict>> {
        let mut tables = self.lock();
        tables.client(client)?.lease.renew(self.now_ms());
        let holder = tables.locker_of(client, &owner.into(), wanted.node).unwrap_or(0);
        let lock = ByteLock { holder, range: wanted.range, exclusive: wanted.exclusive };
        Ok(tables.conflict(wanted.node, lock))
    }

    /// Unlocks a range.
    pub(in crate::nfs::v4) fn unlock(
        &self,
        state: &StateId,
        caller: Caller,
        node: NodeId,
        range: ByteRange,
    ) -> StateResult<StateId> {
        let mut tables = self.lock();
        let number = self.current(&tables, state, caller)?;
        let entry = tables.states.get(&number).ok_or(Nfs4Status::BadStateid)?;
        if entry.node != node || !matches!(entry.kind, StateKind::Lock { .. }) {
            return Err(Nfs4Status::BadStateid);
        }
        let file = tables.files.get_mut(&node).ok_or(Nfs4Status::BadStateid)?;
        // An unlock in the middle of a lock makes two.
        if file.locks.len() >= MAX_LOCKS_PER_FILE {
            return Err(Nfs4Status::Resource);
        }
        if !file.charge_locks(1) {
            return Err(no_memory(caller));
        }
        file.locks.remove(number, range);
        file.charge_locks(0);
        self.advance(&mut tables, number)
    }

    /// Forgets an owner without locks, minor version 0.
    pub(in crate::nfs::v4) fn release_lock_owner(&self, client: u64, owner: &[u8]) -> StateResult<()> {
        let mut tables = self.lock();
        tables.client(client)?.lease.renew(self.now_ms());
        let owner: Arc<[u8]> = owner.into();
        let lockers: Vec<(NodeId, u64)> = tables.owned.of_owner(client, true, &owner).collect();
        let held = |(node, number): &(NodeId, u64)| {
            tables.files.get(node).is_some_and(|file| file.locks.is_held_by(*number))
        };
        if lockers.iter().any(held) {
            return Err(Nfs4Status::LocksHeld);
        }
        for (_, number) in lockers {
            tables.remove_state(number, self.now_ms());
        }
        tables.forget_owner(client, &owner, true);
        Ok(())
    }

    /// Removes a state that a client no longer uses (RFC 8881, 18.38).
    pub(in crate::nfs::v4) fn free_state(&self, state: &StateId, caller: Caller) -> StateResult<()> {
        let number = self.number(state, caller.minor_version)?;
        let mut tables = self.lock();
        let entry = tables.states.get(&number).filter(|entry| caller.client == Some(entry.client));
        let entry = entry.ok_or(Nfs4Status::BadStateid)?;
        let client = entry.client;
        let node = entry.node;
        match entry.kind {
            StateKind::Open(_) | StateKind::Delegation { .. } => return Err(Nfs4Status::LocksHeld),
            StateKind::Lock { .. } => {
                if tables.files.get(&node).is_some_and(|file| file.locks.is_held_by(number)) {
                    return Err(Nfs4Status::LocksHeld);
                }
            }
            StateKind::Revoked => {}
        }
        let revoked = matches!(entry.kind, StateKind::Revoked);
        tables.remove_state(number, self.now_ms());
        if revoked {
            tables.note_revoked(client, false);
        }
        Ok(())
    }

    /// Removes the waiters whose lock of a file may be available now.
    pub(in crate::nfs::v4) fn ready_waiters(&self, node: NodeId) -> Vec<Waiter> {
        self.lock().files.get_mut(&node).map(FileState::take_ready).unwrap_or_default()
    }
}

/// Checks that an open has the access that a lock needs (RFC 7530, 16.10.5).
fn check_mode(tables: &Tables, open: u64, exclusive: bool) -> StateResult<()> {
    let needed = if exclusive { SHARE_WRITE } else { SHARE_READ };
    match tables.states.get(&open).map(|entry| &entry.kind) {
        Some(StateKind::Open(share)) if share.access & needed != 0 => Ok(()),
        Some(StateKind::Open(_)) => Err(Nfs4Status::Openmode),
        _ => Err(Nfs4Status::BadStateid),
    }
}

/// The status where the budget has no memory for a lock: `NFS4ERR_RESOURCE` exists in minor version 0 only.
fn no_memory(caller: Caller) -> Nfs4Status {
    if caller.minor_version == 0 { Nfs4Status::Resource } else { Nfs4Status::Delay }
}

fn add_lock(tables: &mut Tables, caller: Caller, number: u64, wanted: WantedLock) -> StateResult<()> {
    let file = tables.files.get_mut(&wanted.node).ok_or(Nfs4Status::BadStateid)?;
    // A lock in the middle of another kind of lock makes three.
    if file.locks.len() + 2 > MAX_LOCKS_PER_FILE {
        return Err(Nfs4Status::Resource);
    }
    if !file.charge_locks(2) {
        return Err(no_memory(caller));
    }
    file.locks.add(ByteLock { holder: number, range: wanted.range, exclusive: wanted.exclusive });
    file.charge_locks(0);
    // An owner that has got its lock does not wait any longer.
    if let Some(entry) = tables.states.get(&number)
        && let StateKind::Lock { owner, .. } = &entry.kind
    {
        file.waiters.retain(|waiter| (waiter.client, &*waiter.owner) != (entry.client, &**owner));
    }
    Ok(())
}
