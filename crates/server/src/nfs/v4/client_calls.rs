//! Operations of minor version 0: client ids, and the sequences of owners (RFC 7530, 9.1 and 16.29 to 16.37).

use sharebench_nfs::v4::client_id::{ClientIdConfirm, Renew, SetClientId};
use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::lock::ReleaseLockOwner;
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer};

use crate::nfs::handle::FileObject;
use crate::nfs::v4::compound::Compound;
use crate::nfs::v4::errors::{OpError, OpResult};
use crate::nfs::v4::state::owner_sequence::{OwnerReply, OwnerState};

/// An owner of opens or locks, with the number of its operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnerCall<'a> {
    pub(super) client: u64,
    pub(super) owner: &'a [u8],
    /// The owner is one of locks.
    pub(super) of_locks: bool,
    pub(super) operation: Operation,
    pub(super) sequence: u32,
}

impl Compound<'_> {
    /// SETCLIENTID. The server never calls clients of minor version 0, so that it ignores their address.
    pub(super) fn set_client_id(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = SetClientId::get(call)?;
        self.v4().state.set_client_id(args.owner.0, args.verifier)?.put(out);
        Ok(())
    }

    /// `SETCLIENTID_CONFIRM`.
    pub(super) fn confirm_client_id(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = ClientIdConfirm::get(call)?;
        Ok(self.v4().state.confirm_client_id(&args)?)
    }

    /// RENEW.
    pub(super) fn renew(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = Renew::get(call)?;
        Ok(self.v4().state.renew(args.client_id)?)
    }

    /// `RELEASE_LOCKOWNER`.
    pub(super) fn release_lock_owner(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = ReleaseLockOwner::get(call)?;
        Ok(self.v4().state.release_lock_owner(args.owner.client_id, args.owner.owner.0)?)
    }

    /// Executes an operation of an owner once: from minor version 1 on the slot ensures that, before it the sequence of
    /// the owner. A repeated operation gets the result of the first one.
    pub(super) fn in_sequence(
        &mut self,
        call: OwnerCall<'_>,
        out: &mut Writer,
        execute: impl FnOnce(&mut Self, &mut Writer, &mut OwnerState) -> OpResult,
    ) -> OpResult {
        if self.minor_version > 0 {
            return execute(self, out, &mut OwnerState::default());
        }
        let sequence = self.v4().state.owner_sequence(call.client, call.owner, call.of_locks)?;
        let mut owner = sequence.take()?;
        if let Some(reply) = owner.check(call.operation as u32, call.sequence)? {
            return self.repeat(&reply, out);
        }
        let new = owner.is_new();
        let at = out.len();
        let result = execute(self, out, &mut owner);
        let status = result.map_err(OpError::status);
        let mut bytes = status.map_or_else(Nfs4Status::code, |()| 0).to_be_bytes().to_vec();
        if !matches!(result, Err(OpError::Status(_))) {
            bytes.extend_from_slice(&out.as_slice()[at..]);
        }
        let node = self.current.and_then(FileObject::node);
        if new && result.is_err() {
            drop(owner);
            drop(sequence);
            self.v4().state.forget_failed_owner(call.client, call.owner, call.of_locks);
            return result;
        }
        let reply = OwnerReply { operation: call.operation as u32, bytes, node };
        owner.record(call.sequence, status, reply, sequence.budget());
        result
    }

    /// As [`Self::in_sequence`], for the owner of an open.
    pub(super) fn in_open_sequence(
        &mut self,
        state: &StateId,
        operation: Operation,
        sequence: u32,
        out: &mut Writer,
        execute: impl FnOnce(&mut Self, &mut Writer, &mut OwnerState) -> OpResult,
    ) -> OpResult {
        let (client, owner, _) = self.v4().state.owner_of(state, self.minor_version)?;
        let call = OwnerCall { client, owner: &owner, of_locks: false, operation, sequence };
        self.in_sequence(call, out, execute)
    }

    fn repeat(&mut self, reply: &OwnerReply, out: &mut Writer) -> OpResult {
        let (status, body) = reply.bytes.split_first_chunk::<4>().ok_or(Nfs4Status::Serverfault)?;
        out.raw(body);
        if let Some(node) = reply.node {
            self.enter(FileObject::Node(node));
        }
        match Nfs4Status::from_code(u32::from_be_bytes(*status)) {
            Some(status) => Err(OpError::WithBody(status)),
            None => Ok(()),
        }
    }
}
