//! Recalls of delegations: before a change by another client, or after one over another protocol.

use sharebench_nfs::v4::status::Nfs4Status;

use crate::NodeId;
use crate::nfs::handle::HandleKey;
use crate::nfs::v4::callback::Callback;
use crate::nfs::v4::compound::Compound;
use crate::nfs::v4::{V4Server, handle_bytes};

impl V4Server {
    /// Recalls the delegations that a change conflicts with; an error until they are returned.
    pub(super) fn recall_conflicts(
        &self,
        handles: &HandleKey,
        client: Option<u64>,
        node: NodeId,
    ) -> Result<(), Nfs4Status> {
        let Err(recalls) = self.state.conflicting_delegations(client, node) else { return Ok(()) };
        for (session, state) in recalls {
            session.call_back(Callback::Recall { state, handle: handle_bytes(handles, node) });
        }
        Err(Nfs4Status::Delay)
    }
}

impl Compound<'_> {
    /// Checks that no other client has a delegation of a file that is about to change.
    pub(super) fn recall(&self, node: NodeId) -> Result<(), Nfs4Status> {
        self.v4().recall_conflicts(&self.server.handles, self.client, node)
    }
}
