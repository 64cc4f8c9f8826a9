//! What time ends: leases, recalls, the grace period.

use crate::NodeId;
use crate::nfs::v4::state::StateTable;

impl StateTable {
    /// Removes the clients whose lease has ended, revokes delegations that were not returned, and ends the grace period.
    /// Returns the files of which locks were released. Call it about once per second.
    pub(in crate::nfs::v4) fn expire(&self) -> Vec<NodeId> {
        let now_ms = self.now_ms();
        let mut tables = self.lock();
        let ended = |renewed_ms: u64| renewed_ms.saturating_add(self.lease_ms) < now_ms;
        let late: Vec<u64> = tables
            .clients
            .iter()
            .filter(|(_, client)| ended(client.lease.renewed_ms()))
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            tables.remove_client(id, now_ms);
        }
        tables.revoke_late(now_ms);
        if !tables.grace.is_on(now_ms) && !std::mem::replace(&mut tables.grace_ended, true) {
            // Clients that have not come back can no longer reclaim, because others may have their files now.
            let known: Vec<Box<[u8]>> =
                tables.clients.values().map(|client| client.owner.1.clone()).collect();
            if let Some(stable) = &mut tables.stable {
                stable.retain(|owner| known.iter().any(|other| **other == *owner));
            }
        }
        for (session, recall) in std::mem::take(&mut tables.retries) {
            if let Some(session) = session.upgrade() {
                session.call_back(recall);
            }
        }
        tables.files.retain(|_, file| !file.is_unused(now_ms));
        std::mem::take(&mut tables.unlocked)
    }
}
