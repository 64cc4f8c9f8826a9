//! Clients from minor version 1 on: `EXCHANGE_ID`, `RECLAIM_COMPLETE`, `DESTROY_CLIENTID` (RFC 8881, 18.35, 18.50, 18.51).

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use sharebench_nfs::v4::session::{CreatedSession, SessionId};
use sharebench_nfs::v4::status::Nfs4Status;

use crate::front_ends::state_budget::{ENTRY_BYTES, StateBudget, StateCharge};
use crate::nfs::v4::state::owner_sequence::OwnerSequence;
use crate::nfs::v4::state::session::Lease;
use crate::nfs::v4::state::{ClientOwner, OwnerKey, StateResult, StateTable, Tables};

/// Bytes of a client besides its owner string, which the tables of clients and owners and the state file have.
const CLIENT_BYTES: usize = size_of::<Client>() + size_of::<Lease>() + 7 * ENTRY_BYTES;

/// A record of a client.
#[derive(Debug)]
pub(in crate::nfs::v4) struct Client {
    pub(super) owner: ClientOwner,
    /// Identifies the boot of the client.
    pub(super) verifier: [u8; 8],
    pub(in crate::nfs::v4) confirmed: bool,
    pub(in crate::nfs::v4) lease: Arc<Lease>,
    /// Numbers of its opens, locks and delegations.
    pub(super) states: HashSet<u64>,
    /// Sequence number of the next `CREATE_SESSION`.
    pub(super) create_sequence: u32,
    /// Result of the last `CREATE_SESSION`, for a repeated one.
    pub(super) created: Option<StateResult<CreatedSession>>,
    pub(super) sessions: Vec<SessionId>,
    /// `RECLAIM_COMPLETE` was called; always true in minor version 0.
    pub(super) reclaimed: bool,
    /// Confirms the record, minor version 0.
    pub(super) confirmation: [u8; 8],
    /// Sequences of the owners of opens and locks, minor version 0.
    pub(super) sequences: HashMap<OwnerKey, Arc<OwnerSequence>>,
    /// Owners that have no state any longer, the last one at the end, minor version 0.
    pub(super) idle: VecDeque<OwnerKey>,
    /// Number of revoked delegations.
    pub(super) revoked: usize,
    charge: StateCharge,
}

/// What `EXCHANGE_ID` results in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::nfs::v4) struct ExchangedClient {
    pub(in crate::nfs::v4) id: u64,
    pub(in crate::nfs::v4) create_sequence: u32,
    pub(in crate::nfs::v4) confirmed: bool,
}

impl Client {
    /// Its share in the memory for state.
    pub(super) fn budget(&self) -> &StateBudget {
        self.charge.budget()
    }
}

impl StateTable {
    /// The record of a new or known client (RFC 8881, 18.35.5).
    pub(in crate::nfs::v4) fn exchange_id(
        &self,
        owner: &[u8],
        verifier: [u8; 8],
        update: bool,
    ) -> StateResult<ExchangedClient> {
        let mut tables = self.lock();
        let owner: ClientOwner = (false, owner.into());
        let records = tables.owners.get(&owner).copied().unwrap_or_default();
        let confirmed = records.confirmed.and_then(|id| Some((id, tables.clients.get(&id)?)));
        match confirmed {
            Some((id, client)) if client.verifier == verifier => {
                return Ok(ExchangedClient { id, create_sequence: client.create_sequence, confirmed: true });
            }
            // An update names a record of another boot of the client, or none.
            Some(_) if update => return Err(Nfs4Status::NotSame),
            None if update => return Err(Nfs4Status::Noent),
            Some(_) | None => {}
        }
        let id = self.add_client(&mut tables, owner, verifier)?;
        Ok(ExchangedClient { id, create_sequence: 1, confirmed: false })
    }

    /// Adds an unconfirmed record, in place of an earlier unconfirmed one of the owner.
    pub(super) fn add_client(
        &self,
        tables: &mut Tables,
        owner: ClientOwner,
        verifier: [u8; 8],
    ) -> StateResult<u64> {
        let now_ms = self.now_ms();
        if let Some(old) = tables.owners.get(&owner).and_then(|records| records.unconfirmed) {
            tables.remove_client(old, now_ms);
        }
        let bytes = CLIENT_BYTES + 3 * owner.1.len();
        let share = self.budget.share();
        let charge = loop {
            match share.charge(bytes) {
                Some(charge) => break charge,
                None if tables.drop_oldest_unconfirmed(now_ms) => {}
                None => return Err(Nfs4Status::Delay),
            }
        };
        let number = tables.next();
        let id = u64::from(self.boot) << 32 | number & u64::from(u32::MAX);
        let minor_0 = owner.0;
        let client = Client {
            owner: owner.clone(),
            verifier,
            confirmed: false,
            lease: Lease::new(now_ms),
            states: HashSet::new(),
            create_sequence: 1,
            created: None,
            sessions: Vec::new(),
            reclaimed: minor_0,
            confirmation: self.random_bytes(number),
            sequences: HashMap::new(),
            idle: VecDeque::new(),
            revoked: 0,
            charge,
        };
        tables.clients.insert(id, client);
        tables.unconfirmed.insert(id);
        tables.owners.entry(owner).or_default().unconfirmed = Some(id);
        Ok(id)
    }

    /// Ends the reclaims of a client.
    pub(in crate::nfs::v4) fn reclaim_complete(&self, client: u64) -> StateResult<()> {
        let mut tables = self.lock();
        let record = tables.client(client)?;
        if std::mem::replace(&mut record.reclaimed, true) {
            return Err(Nfs4Status::CompleteAlready);
        }
        let owner = record.owner.1.clone();
        tables.grace.complete(&owner);
        Ok(())
    }

    /// Removes a client without sessions and state.
    pub(in crate::nfs::v4) fn destroy_client(&self, id: u64) -> StateResult<()> {
        let mut tables = self.lock();
        let client = tables.clients.get(&id).ok_or(Nfs4Status::StaleClientid)?;
        if !client.sessions.is_empty() || !client.states.is_empty() {
            return Err(Nfs4Status::ClientidBusy);
        }
        tables.remove_client(id, self.now_ms());
        Ok(())
    }

    /// Checks that a client may open or lock now: by a reclaim within the grace period, otherwise outside it.
    pub(in crate::nfs::v4) fn check_grace(&self, client: u64, reclaim: bool) -> StateResult<()> {
        let mut tables = self.lock();
        let now_ms = self.now_ms();
        let record = tables.client(client)?;
        let owner = record.owner.clone();
        let reclaimed = record.reclaimed;
        if reclaim {
            if reclaimed && !owner.0 {
                return Err(Nfs4Status::NoGrace);
            }
            return tables.grace.may_reclaim(&owner.1, now_ms);
        }
        if !reclaimed || tables.grace.is_on(now_ms) {
            return Err(Nfs4Status::Grace);
        }
        Ok(())
    }

    /// Number of records of clients.
    pub(in crate::nfs::v4) fn clients(&self) -> usize {
        self.lock().clients.len()
    }

    /// True while other operations than reclaims have to wait.
    pub(in crate::nfs::v4) fn in_grace(&self) -> bool {
        self.lock().grace.is_on(self.now_ms())
    }
}

impl Tables {
    /// Confirms a record: it replaces the owner's earlier one, whose state is removed, because the client has restarted.
    pub(super) fn confirm_client(&mut self, id: u64, now_ms: u64) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.confirmed = true;
        self.unconfirmed.remove(&id);
        client.lease.renew(now_ms);
        let owner = client.owner.clone();
        let records = self.owners.entry(owner.clone()).or_default();
        let earlier = records.confirmed.filter(|earlier| *earlier != id);
        records.confirmed = Some(id);
        records.unconfirmed = records.unconfirmed.filter(|other| *other != id);
        if let Some(earlier) = earlier {
            self.remove_client(earlier, now_ms);
            // The removal has removed the owner from the file as well.
        }
        if let Some(stable) = &mut self.stable {
            stable.add(&owner.1);
        }
    }

    /// Removes a client with everything that it has.
    pub(super) fn remove_client(&mut self, id: u64, now_ms: u64) {
        let Some(client) = self.clients.get(&id) else { return };
        let states: Vec<u64> = client.states.iter().copied().collect();
        let mut nodes = Vec::new();
        for number in states {
            if let Some(node) = self.states.get(&number).map(|entry| entry.node)
                && self.remove_state(number, now_ms)
            {
                nodes.push(node);
            }
        }
        let Some(client) = self.clients.remove(&id) else { return };
        self.unconfirmed.remove(&id);
        for session in &client.sessions {
            if let Some(session) = self.sessions.remove(session) {
                session.kill();
            }
        }
        let owned = self.owners.get_mut(&client.owner);
        let unowned = owned.is_none_or(|records| {
            records.confirmed = records.confirmed.filter(|other| *other != id);
            records.unconfirmed = records.unconfirmed.filter(|other| *other != id);
            records.confirmed.is_none() && records.unconfirmed.is_none()
        });
        if unowned {
            self.owners.remove(&client.owner);
        }
        let is_known = self.owners.get(&client.owner).is_some_and(|records| records.confirmed.is_some());
        if let Some(stable) = &mut self.stable
            && client.confirmed
            && !is_known
        {
            stable.remove(&client.owner.1);
        }
        self.unlocked.extend(nodes);
    }

    fn drop_oldest_unconfirmed(&mut self, now_ms: u64) -> bool {
        let oldest = self.unconfirmed.pop_first();
        if let Some(id) = oldest {
            self.remove_client(id, now_ms);
        }
        oldest.is_some()
    }
}
