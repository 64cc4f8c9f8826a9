//! Opens with share reservations (RFC 7530, 9.7 and 16.16 to 16.19; RFC 8881, 18.16).

use std::collections::HashSet;
use std::sync::Arc;

use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::open::{SHARE_BOTH, SHARE_READ, SHARE_WRITE};
use sharebench_nfs::v4::status::Nfs4Status;

use crate::front_ends::state_budget::StateCharge;
use crate::nfs::v4::state::entry::{Caller, OpenShare, StateKind};
use crate::nfs::v4::state::owned::OwnedKey;
use crate::nfs::v4::state::{StateResult, StateTable, Tables};
use crate::{NodeId, PersistentId};

/// Opens of minor version 0 that are known after CLOSE.
const MAX_CLOSED: usize = 1024;

/// A wanted open.
#[derive(Debug, Clone, Copy)]
pub(in crate::nfs::v4) struct WantedOpen<'a> {
    pub(in crate::nfs::v4) client: u64,
    pub(in crate::nfs::v4) owner: &'a [u8],
    pub(in crate::nfs::v4) node: NodeId,
    pub(in crate::nfs::v4) access: u32,
    pub(in crate::nfs::v4) deny: u32,
    /// Minor version 0, and the owner is not confirmed yet.
    pub(in crate::nfs::v4) needs_confirmation: bool,
    /// What the handle of the file contains, where handles survive a restart.
    pub(in crate::nfs::v4) identity: Option<PersistentId>,
}

/// The bit of a pair of access and deny in a set of them.
fn pair(access: u32, deny: u32) -> u16 {
    1 << ((access & 3) << 2 | deny & 3)
}

impl Tables {
    /// True if an open denies this access, or has access that `deny` denies. Opens of the same owner count as well (RFC 7530,
    /// 9.7).
    fn conflicts(&self, node: NodeId, access: u32, deny: u32) -> bool {
        self.files.get(&node).is_some_and(|file| file.shares.conflict(access, deny))
    }

    /// Changes the share reservation of an open, and that of its file.
    fn change_share(&mut self, number: u64, change: impl FnOnce(&mut OpenShare)) -> StateResult<()> {
        let entry = self.states.get_mut(&number).ok_or(Nfs4Status::BadStateid)?;
        let StateKind::Open(share) = &mut entry.kind else { return Err(Nfs4Status::BadStateid) };
        let before = (share.access, share.deny);
        change(share);
        if let Some(file) = self.files.get_mut(&entry.node) {
            file.shares.remove(before.0, before.1);
            file.shares.add(share.access, share.deny);
        }
        Ok(())
    }

    fn share(&mut self, number: u64) -> StateResult<&mut OpenShare> {
        match self.states.get_mut(&number).map(|entry| &mut entry.kind) {
            Some(StateKind::Open(share)) => Ok(share),
            _ => Err(Nfs4Status::BadStateid),
        }
    }
}

impl StateTable {
    /// The file with this identity that a client has open. It may have been removed since, and its handle is still good for
    /// CLOSE.
    pub(in crate::nfs::v4) fn open_file(&self, identity: &PersistentId) -> Option<NodeId> {
        let tables = self.lock();
        let mut files = tables.files.iter();
        files.find(|(_, file)| file.identity.as_ref() == Some(identity)).map(|(node, _)| *node)
    }

    /// Checks the share reservations before a file is truncated or opened.
    pub(in crate::nfs::v4) fn check_share(&self, wanted: &WantedOpen<'_>) -> StateResult<()> {
        let conflict = self.lock().conflicts(wanted.node, wanted.access, wanted.deny);
        if conflict { Err(Nfs4Status::ShareDenied) } else { Ok(()) }
    }

    /// Opens a file with a charge for it, or adds access to an open that the owner has.
    pub(in crate::nfs::v4) fn open(
        &self,
        wanted: &WantedOpen<'_>,
        charge: StateCharge,
    ) -> StateResult<StateId> {
        let mut tables = self.lock();
        let owner: Arc<[u8]> = wanted.owner.into();
        let key =
            OwnedKey { client: wanted.client, of_locks: false, owner: Arc::clone(&owner), node: wanted.node };
        let own = tables.owned.get(&key);
        if tables.conflicts(wanted.node, wanted.access, wanted.deny) {
            return Err(Nfs4Status::ShareDenied);
        }
        let pairs = pair(wanted.access, wanted.deny);
        if let Some(number) = own {
            tables.change_share(number, |share| {
                share.access |= wanted.access;
                share.deny |= wanted.deny;
                share.pairs |= pairs;
            })?;
            return self.advance(&mut tables, number);
        }
        let share = OpenShare {
            owner,
            access: wanted.access,
            deny: wanted.deny,
            pairs,
            confirmed: !wanted.needs_confirmation,
            lockers: HashSet::new(),
        };
        let number = tables.add_state(wanted.client, wanted.node, StateKind::Open(share), charge)?;
        if let Some(file) = tables.files.get_mut(&wanted.node) {
            file.identity = wanted.identity;
        }
        Ok(self.state_id(number, 1))
    }

    /// Confirms an open, minor version 0.
    pub(in crate::nfs::v4) fn confirm_open(&self, state: &StateId, caller: Caller) -> StateResult<StateId> {
        let mut tables = self.lock();
        let number = self.current(&tables, state, caller)?;
        let share = tables.share(number)?;
        if std::mem::replace(&mut share.confirmed, true) {
            return Err(Nfs4Status::BadStateid);
        }
        self.advance(&mut tables, number)
    }

    /// Reduces an open to a pair of access and deny that OPEN was called with.
    pub(in crate::nfs::v4) fn downgrade(
        &self,
        state: &StateId,
        caller: Caller,
        access: u32,
        deny: u32,
    ) -> StateResult<StateId> {
        if access == 0 || access & !SHARE_BOTH != 0 || deny & !SHARE_BOTH != 0 {
            return Err(Nfs4Status::Inval);
        }
        let mut tables = self.lock();
        let number = self.current(&tables, state, caller)?;
        let share = tables.share(number)?;
        // The union of pairs that OPEN was called with must be exactly this one.
        let mut reached_access = 0;
        let mut reached_deny = 0;
        for bit in 0..16u32 {
            let pair_access = bit >> 2;
            let pair_deny = bit & 3;
            let within = pair_access & !access == 0 && pair_deny & !deny == 0;
            if share.pairs & 1 << bit != 0 && within {
                reached_access |= pair_access;
                reached_deny |= pair_deny;
            }
        }
        if (reached_access, reached_deny) != (access, deny) {
            return Err(Nfs4Status::Inval);
        }
        let kept = (0..16u32).filter(|bit| (bit >> 2) & !access == 0 && bit & 3 & !deny == 0);
        let kept = kept.fold(0, |set, bit| set | 1 << bit);
        tables.change_share(number, |share| {
            share.access = access;
            share.deny = deny;
            share.pairs &= kept;
        })?;
        self.advance(&mut tables, number)
    }

    /// Closes an open with the locks that belong to it, and returns its state id and the file if locks were released.
    pub(in crate::nfs::v4) fn close(
        &self,
        state: &StateId,
        caller: Caller,
    ) -> StateResult<(StateId, Option<NodeId>)> {
        let mut tables = self.lock();
        let number = self.current(&tables, state, caller)?;
        let (client, node) = match tables.states.get(&number) {
            Some(entry) if matches!(entry.kind, StateKind::Open(_)) => (entry.client, entry.node),
            _ => return Err(Nfs4Status::BadStateid),
        };
        let closed = self.advance(&mut tables, number)?;
        let share = tables.share(number)?;
        let lockers = std::mem::take(&mut share.lockers);
        if caller.minor_version == 0 {
            let closed = (number, client, Arc::clone(&share.owner));
            tables.closed.truncate(MAX_CLOSED - 1);
            tables.closed.push_front(closed);
        }
        let mut unlocked = false;
        for locker in lockers {
            unlocked |= tables.remove_state(locker, self.now_ms());
        }
        tables.remove_state(number, self.now_ms());
        Ok((closed, unlocked.then_some(node)))
    }

    /// The client, and the owner of an open, of a state id: for the owner's sequence in minor version 0.
    pub(in crate::nfs::v4) fn owner_of(
        &self,
        state: &StateId,
        minor_version: u32,
    ) -> StateResult<(u64, Arc<[u8]>, bool)> {
        let number = self.number(state, minor_version)?;
        let tables = self.lock();
        let Some(entry) = tables.states.get(&number) else {
            let closed = tables.closed.iter().find(|(closed, _, _)| *closed == number);
            let (_, client, owner) = closed.ok_or(Nfs4Status::BadStateid)?;
            return Ok((*client, owner.clone(), false));
        };
        match &entry.kind {
            StateKind::Open(share) => Ok((entry.client, share.owner.clone(), false)),
            StateKind::Lock { owner, .. } => Ok((entry.client, owner.clone(), true)),
            StateKind::Delegation { .. } | StateKind::Revoked => Err(Nfs4Status::BadStateid),
        }
    }

    /// Checks that a state id allows reading or writing of a file, and returns the client of the state.
    #[inline]
    pub(in crate::nfs::v4) fn check_io(
        &self,
        state: &StateId,
        caller: Caller,
        node: NodeId,
        writes: bool,
    ) -> StateResult<Option<u64>> {
        let access = if writes { SHARE_WRITE } else { SHARE_READ };
        let bypasses = *state == StateId::READ_BYPASS;
        if *state == StateId::ANONYMOUS || bypasses {
            let tables = self.lock();
            let denied = (writes || !bypasses) && tables.conflicts(node, access, 0);
            return if denied { Err(Nfs4Status::Locked) } else { Ok(caller.client) };
        }
        let tables = self.lock();
        let number = self.current(&tables, state, caller)?;
        let entry = tables.states.get(&number).ok_or(Nfs4Status::BadStateid)?;
        if entry.node != node {
            return Err(Nfs4Status::BadStateid);
        }
        let open = match &entry.kind {
            StateKind::Lock { open, .. } => tables.states.get(open),
            _ => Some(entry),
        };
        let allowed = match open.map(|entry| &entry.kind) {
            Some(StateKind::Open(share)) if !share.confirmed => return Err(Nfs4Status::BadStateid),
            // A reader may also read through an open for writing, as clients do that fill a page.
            Some(StateKind::Open(share)) => share.access & access != 0 || !writes,
            Some(StateKind::Delegation { .. }) => !writes,
            _ => return Err(Nfs4Status::BadStateid),
        };
        let client = entry.client;
        if !allowed {
            return Err(Nfs4Status::Openmode);
        }
        if caller.client.is_none()
            && let Some(record) = tables.clients.get(&client)
        {
            record.lease.renew(self.now_ms());
        }
        Ok(Some(client))
    }
}
