//! Clients of minor version 0: SETCLIENTID, `SETCLIENTID_CONFIRM`, RENEW (RFC 7530, 16.33, 16.34 and 16.29).

use std::sync::Arc;

use sharebench_nfs::v4::client_id::ClientIdConfirm;
use sharebench_nfs::v4::status::Nfs4Status;

use crate::front_ends::state_budget::ENTRY_BYTES;
use crate::nfs::v4::state::owner_sequence::OwnerSequence;
use crate::nfs::v4::state::{ClientOwner, StateResult, StateTable, Tables};

/// Bytes of an owner besides its name, which its client may also have among the idle ones.
const OWNER_BYTES: usize = size_of::<OwnerSequence>() + 3 * ENTRY_BYTES;

impl StateTable {
    /// Adds a record of a client, which it has to confirm.
    pub(in crate::nfs::v4) fn set_client_id(
        &self,
        owner: &[u8],
        verifier: [u8; 8],
    ) -> StateResult<ClientIdConfirm> {
        let mut tables = self.lock();
        let owner: ClientOwner = (true, owner.into());
        let confirmed = tables.owners.get(&owner).and_then(|records| records.confirmed);
        let confirmation = tables.next();
        if let Some(id) = confirmed
            && let Some(client) = tables.clients.get_mut(&id)
            && client.verifier == verifier
        {
            // The same boot of the client changes its callback: it keeps its state, and confirms the change.
            client.confirmation = self.random_bytes(confirmation);
            return Ok(ClientIdConfirm { client_id: id, verifier: client.confirmation });
        }
        let id = self.add_client(&mut tables, owner, verifier)?;
        let verifier = tables.clients.get(&id).map(|client| client.confirmation).unwrap_or_default();
        Ok(ClientIdConfirm { client_id: id, verifier })
    }

    /// Confirms a record.
    pub(in crate::nfs::v4) fn confirm_client_id(&self, confirm: &ClientIdConfirm) -> StateResult<()> {
        let mut tables = self.lock();
        let known = tables.clients.get(&confirm.client_id).filter(|client| client.owner.0);
        if known.is_none_or(|client| client.confirmation != confirm.verifier) {
            return Err(Nfs4Status::StaleClientid);
        }
        tables.confirm_client(confirm.client_id, self.now_ms());
        Ok(())
    }

    /// Renews the lease of a client.
    pub(in crate::nfs::v4) fn renew(&self, client: u64) -> StateResult<()> {
        let now_ms = self.now_ms();
        self.lock().client(client)?.lease.renew(now_ms);
        Ok(())
    }

    /// The sequence of an owner of opens or locks. The flag distinguishes the two.
    pub(in crate::nfs::v4) fn owner_sequence(
        &self,
        client: u64,
        owner: &[u8],
        of_locks: bool,
    ) -> StateResult<Arc<OwnerSequence>> {
        let now_ms = self.now_ms();
        let mut tables = self.lock();
        let client = tables.client(client)?;
        client.lease.renew(now_ms);
        let key = (of_locks, owner.into());
        if let Some(known) = client.sequences.get(&key) {
            return Ok(Arc::clone(known));
        }
        let charge = client.budget().charge(OWNER_BYTES + owner.len()).ok_or(Nfs4Status::Resource)?;
        let sequence = Arc::new(OwnerSequence::new(charge));
        client.sequences.insert(key, Arc::clone(&sequence));
        Ok(sequence)
    }

    /// Forgets an owner whose first operation has failed, so that failures leave nothing.
    pub(in crate::nfs::v4) fn forget_failed_owner(&self, client: u64, owner: &[u8], of_locks: bool) {
        self.lock().forget_owner(client, &owner.into(), of_locks);
    }
}

impl Tables {
    /// Forgets an owner that has no state and no operation in progress. It begins anew with its next operation.
    pub(super) fn forget_owner(&mut self, client: u64, owner: &Arc<[u8]>, of_locks: bool) {
        if self.owned.of_owner(client, of_locks, owner).next().is_some() {
            return;
        }
        let Some(client) = self.clients.get_mut(&client) else { return };
        let key = (of_locks, Arc::clone(owner));
        if client.sequences.get(&key).is_some_and(|sequence| Arc::strong_count(sequence) == 1) {
            client.sequences.remove(&key);
        }
    }
}
