//! NFS versions 4.0, 4.1 and 4.2 over the same volume and on the same port as NFSv3 (RFC 7530, RFC 8881, RFC 7862).
//!
//! [`compound`] executes the operations of a call one after the other; each operation is a method of
//! [`compound::Compound`] in the module of its subject. [`state`] has what clients own, with its bounds in [`limits`].
//! [`peer`] and [`callback`] are the way back to a client.

mod acl;
mod attribute_operations;
mod attributes;
mod callback;
mod calls;
mod client_calls;
mod clock;
mod compound;
mod data;
mod errors;
mod limits;
mod listing;
mod lock;
mod names;
mod open;
mod peer;
mod pseudo;
mod recalls;
mod set_attributes;
mod sparse;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use sharebench_nfs::xdr::Writer;

use crate::nfs::handle::{FileObject, HandleKey};
use crate::nfs::v4::callback::Callback;
use crate::nfs::v4::pseudo::PseudoRoot;
use crate::nfs::v4::state::StateTable;
use crate::{NfsServerOptions, NodeId, Volume};

pub(super) use clock::LeaseClock;
pub(super) use peer::{Callbacks, Peer};
pub(super) use state::stable::StableStore;

/// Interval of [`V4Server::tick`].
pub(super) const TICK: Duration = Duration::from_secs(1);

/// What NFSv4 has besides what it shares with NFSv3.
pub(super) struct V4Server {
    /// The volume, to whose delegations its own changes are no news.
    volume: Arc<dyn Volume>,
    state: StateTable,
    pseudo: PseudoRoot,
    /// Verifier of READDIR cookies. They are those of the volume, so that it is as lasting as file handles.
    cookie_verifier: [u8; 8],
}

impl V4Server {
    /// Number of records of clients: those whose lease has not ended.
    pub(super) fn clients(&self) -> usize {
        self.state.clients()
    }

    /// The state of a server that starts now.
    pub(super) fn new(
        volume: Arc<dyn Volume>,
        options: &NfsServerOptions,
        handles: &HandleKey,
        clock: LeaseClock,
        stable: Option<(StableStore, BTreeSet<Box<[u8]>>)>,
    ) -> Self {
        Self {
            volume,
            state: StateTable::new(clock, options.lease, stable, options.budget.clone()),
            pseudo: PseudoRoot::new(&options.export),
            cookie_verifier: handles.instance().to_be_bytes(),
        }
    }

    /// Ends leases and recalls that are over, and notifies those who wait for what that releases.
    pub(super) fn tick(&self, handles: &HandleKey) {
        for node in self.state.expire() {
            self.notify_waiters(handles, node);
        }
    }

    /// Calls the owners whose lock of a file may be available now.
    fn notify_waiters(&self, handles: &HandleKey, node: NodeId) {
        for waiter in self.state.ready_waiters(node) {
            let session = StateTable::session_for_callbacks(&self.state.lock(), waiter.client);
            if let Some(session) = session {
                let handle = handle_bytes(handles, node);
                session.call_back(Callback::NotifyLock { handle, owner: (waiter.client, waiter.owner) });
            }
        }
    }

    /// Takes a reply to a callback.
    pub(super) fn callback_reply(&self, peer: &Peer, record: &[u8]) {
        let Ok((xid, status)) = callback::reply_status(record) else { return };
        let Some(session) = peer.session_of_callback(xid) else { return };
        let Some(answered) = session.answered(xid) else { return };
        // A client that is not ready for a recall, or does not know the delegation yet, gets it again until it returns
        // the delegation or its time is over.
        if status != 0
            && let Callback::Recall { state, .. } = &answered
            && self.state.awaits_return(state)
        {
            self.state.retry_later(&session, answered);
        }
    }

    /// Recalls the delegations of a file that another protocol has changed.
    pub(super) fn changed_elsewhere(&self, handles: &HandleKey, node: NodeId) {
        // Nobody waits: the other protocols have no way to delay a call, as with leases of SMB.
        let _ = self.recall_conflicts(handles, None, node);
    }
}

/// The bytes of a node's handle.
fn handle_bytes(handles: &HandleKey, node: NodeId) -> Vec<u8> {
    let mut writer = Writer::with_capacity(64);
    handles.put_object(&mut writer, FileObject::Node(node));
    writer.as_slice().get(4..).unwrap_or_default().to_vec()
}
