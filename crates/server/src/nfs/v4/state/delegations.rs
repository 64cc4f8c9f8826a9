//! Read delegations: when they are granted, recalled and revoked (RFC 8881, 10.2 and 10.4).

use std::sync::Arc;

use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::session::sequence_status::RECALLABLE_STATE_REVOKED;
use sharebench_nfs::v4::status::Nfs4Status;

use crate::NodeId;
use crate::nfs::v4::callback::Callback;
use crate::nfs::v4::state::entry::{Caller, StateKind};
use crate::nfs::v4::state::session::Session;
use crate::nfs::v4::state::{StateResult, StateTable, Tables};

/// Bytes of a recall that waits to be sent.
const RECALL_BYTES: usize = 256;

/// Recalls to send: the session of the client, and the delegation.
pub(in crate::nfs::v4) type Recalls = Vec<(Arc<Session>, StateId)>;

impl StateTable {
    /// Delegates a file for reading to a client that has it open, if nobody writes and the client can be called. Only
    /// while half of the budget is free, so that delegations never prevent an open.
    pub(in crate::nfs::v4) fn delegate(&self, client: u64, node: NodeId) -> Option<StateId> {
        let now_ms = self.now_ms();
        let mut tables = self.lock();
        let file = tables.files.get(&node)?;
        let has_one = file.delegations.contains_key(&client);
        let contended = file.contended_until_ms > now_ms;
        let scarce = self.budget.used() > self.budget.limit() / 2;
        if file.shares.excludes_delegation() || has_one || contended || scarce {
            return None;
        }
        Self::session_for_callbacks(&tables, client)?;
        let charge = tables.charge_state(client, RECALL_BYTES, Nfs4Status::Nospc).ok()?;
        let kind = StateKind::Delegation { deadline_ms: None };
        let number = tables.add_state(client, node, kind, charge).ok()?;
        Some(self.state_id(number, 1))
    }

    /// Checks a change of a file by a client: the delegations of the others are recalled, and the change has to wait
    /// until they are returned. `None` is a client without state, such as one of another protocol.
    pub(in crate::nfs::v4) fn conflicting_delegations(
        &self,
        client: Option<u64>,
        node: NodeId,
    ) -> Result<(), Recalls> {
        let mut tables = self.lock();
        let tables = &mut *tables;
        let Some(file) = tables.files.get(&node) else { return Ok(()) };
        if file.delegations.is_empty() {
            return Ok(());
        }
        let now_ms = self.now_ms();
        let deadline_ms = now_ms.saturating_add(self.lease_ms);
        let others: Vec<u64> = file.delegations.values().copied().collect();
        let mut recalls = Recalls::new();
        let mut conflict = false;
        for number in others {
            let Some(entry) = tables.states.get_mut(&number) else { continue };
            if client == Some(entry.client) {
                continue;
            }
            conflict = true;
            let StateKind::Delegation { deadline_ms: recalled } = &mut entry.kind else { continue };
            if recalled.is_none() {
                *recalled = Some(deadline_ms);
                tables.recalled.push(number);
                let state = self.state_id(number, entry.sequence);
                let client = entry.client;
                if let Some(session) = Self::session_for_callbacks(tables, client) {
                    recalls.push((session, state));
                }
            }
        }
        if !conflict {
            return Ok(());
        }
        if let Some(file) = tables.files.get_mut(&node) {
            file.contended_until_ms = deadline_ms;
        }
        Err(recalls)
    }

    /// True if a delegation still has to be returned, so that its recall is repeated.
    pub(in crate::nfs::v4) fn awaits_return(&self, state: &StateId) -> bool {
        let Ok(number) = self.number(state, 1) else { return false };
        self.lock()
            .states
            .get(&number)
            .is_some_and(|entry| matches!(entry.kind, StateKind::Delegation { deadline_ms: Some(_) }))
    }

    /// Repeats a recall at the next tick.
    pub(in crate::nfs::v4) fn retry_later(&self, session: &Arc<Session>, callback: Callback) {
        self.lock().retries.push((Arc::downgrade(session), callback));
    }

    /// Ends a delegation that a client returns.
    pub(in crate::nfs::v4) fn return_delegation(&self, state: &StateId, caller: Caller) -> StateResult<()> {
        let mut tables = self.lock();
        let number = self.current(&tables, state, caller)?;
        let is_one = tables
            .states
            .get(&number)
            .is_some_and(|entry| matches!(entry.kind, StateKind::Delegation { .. }));
        if !is_one {
            return Err(Nfs4Status::BadStateid);
        }
        tables.remove_state(number, self.now_ms());
        Ok(())
    }

    /// The file of a delegation that a client has, for OPEN with its claim.
    pub(in crate::nfs::v4) fn delegated(&self, state: &StateId, caller: Caller) -> StateResult<NodeId> {
        let tables = self.lock();
        let number = self.current(&tables, state, caller)?;
        match tables.states.get(&number) {
            Some(entry) if matches!(entry.kind, StateKind::Delegation { .. }) => Ok(entry.node),
            _ => Err(Nfs4Status::BadStateid),
        }
    }
}

impl Tables {
    /// Revokes the delegations that were not returned in time. Their clients learn of it by each SEQUENCE until they
    /// have freed them.
    pub(super) fn revoke_late(&mut self, now_ms: u64) {
        let mut late = Vec::new();
        let mut recalled = std::mem::take(&mut self.recalled);
        recalled.retain(|number| {
            let Some(entry) = self.states.get_mut(number) else { return false };
            let StateKind::Delegation { deadline_ms: Some(deadline) } = entry.kind else { return false };
            if deadline <= now_ms {
                entry.kind = StateKind::Revoked;
                late.push((entry.node, entry.client));
            }
            deadline > now_ms
        });
        self.recalled = recalled;
        for (node, client) in late {
            if let Some(file) = self.files.get_mut(&node) {
                file.delegations.remove(&client);
            }
            self.note_revoked(client, true);
        }
    }

    /// Counts a delegation of a client that was revoked, or that it has freed afterwards. Each SEQUENCE reports whether there are any.
    pub(super) fn note_revoked(&mut self, client: u64, revoked: bool) {
        let Some(client) = self.clients.get_mut(&client) else { return };
        client.revoked = if revoked { client.revoked + 1 } else { client.revoked.saturating_sub(1) };
        client.lease.report(RECALLABLE_STATE_REVOKED, client.revoked > 0);
    }
}
