//! Sequence numbers of owners in minor version 0: each operation of an owner is executed once (RFC 7530, 9.1.7).

use std::sync::{Mutex, MutexGuard, TryLockError};

use sharebench_nfs::v4::status::Nfs4Status;

use crate::NodeId;
use crate::front_ends::state_budget::{StateBudget, StateCharge};

/// The operations of one owner of opens or locks, one at a time.
#[derive(Debug)]
pub(in crate::nfs::v4) struct OwnerSequence {
    state: Mutex<OwnerState>,
    charge: StateCharge,
}

/// The last operation of an owner.
#[derive(Debug, Default)]
pub(in crate::nfs::v4) struct OwnerState {
    /// None before the first operation, whose number may be any.
    last: Option<u32>,
    /// Result of the last operation for a repeated one: status and body, and the file that it made the current one.
    reply: Option<(OwnerReply, StateCharge)>,
    /// `OPEN_CONFIRM` has confirmed the owner.
    pub(in crate::nfs::v4) confirmed: bool,
}

/// Result of an operation of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::nfs::v4) struct OwnerReply {
    /// Number of the operation in the protocol.
    pub(in crate::nfs::v4) operation: u32,
    /// Status and body.
    pub(in crate::nfs::v4) bytes: Vec<u8>,
    /// The current file after the operation.
    pub(in crate::nfs::v4) node: Option<NodeId>,
}

impl OwnerSequence {
    /// An owner without operations.
    pub(super) fn new(charge: StateCharge) -> Self {
        Self { state: Mutex::default(), charge }
    }

    /// The budget of its replies.
    pub(in crate::nfs::v4) fn budget(&self) -> &StateBudget {
        self.charge.budget()
    }

    /// Takes the owner for one operation; an error while another call of it is executed.
    pub(in crate::nfs::v4) fn take(&self) -> Result<MutexGuard<'_, OwnerState>, Nfs4Status> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Nfs4Status::Delay),
        }
    }
}

impl OwnerState {
    /// True before the first operation.
    pub(in crate::nfs::v4) fn is_new(&self) -> bool {
        self.last.is_none()
    }

    /// Checks the number of an operation. Returns the result of an earlier execution of it.
    pub(in crate::nfs::v4) fn check(
        &self,
        operation: u32,
        sequence: u32,
    ) -> Result<Option<OwnerReply>, Nfs4Status> {
        match self.last {
            None => Ok(None),
            Some(last) if sequence == last.wrapping_add(1) => Ok(None),
            Some(last) if sequence == last => match &self.reply {
                Some((reply, _)) if reply.operation == operation => Ok(Some(reply.clone())),
                _ => Err(Nfs4Status::BadSeqid),
            },
            Some(_) => Err(Nfs4Status::BadSeqid),
        }
    }

    /// Records an executed operation, unless its status leaves the sequence as it is (RFC 7530, 9.1.7). Without memory for its
    /// reply, a repeated one fails with `NFS4ERR_BAD_SEQID`.
    pub(in crate::nfs::v4) fn record(
        &mut self,
        sequence: u32,
        status: Result<(), Nfs4Status>,
        reply: OwnerReply,
        budget: &StateBudget,
    ) {
        let unchanged = matches!(
            status,
            Err(Nfs4Status::StaleClientid
                | Nfs4Status::StaleStateid
                | Nfs4Status::BadStateid
                | Nfs4Status::BadSeqid
                | Nfs4Status::Badxdr
                | Nfs4Status::Resource
                | Nfs4Status::Nofilehandle
                | Nfs4Status::Moved)
        );
        if !unchanged {
            self.last = Some(sequence);
            self.reply = None;
            self.reply = budget.charge(reply.bytes.len()).map(|charge| (reply, charge));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(operation: u32) -> OwnerReply {
        OwnerReply { operation, bytes: vec![1], node: None }
    }

    #[test]
    fn an_operation_is_executed_once_and_in_order() {
        let budget = StateBudget::new(100, || {});
        let owner = OwnerSequence::new(budget.charge(99).unwrap());
        let mut state = owner.take().unwrap();
        assert_eq!(owner.take().err(), Some(Nfs4Status::Delay));
        assert_eq!(state.check(18, 77), Ok(None), "the first number is free");
        state.record(77, Ok(()), reply(18), &budget);
        assert_eq!(state.check(18, 77), Ok(Some(reply(18))));
        assert_eq!(state.check(4, 77), Err(Nfs4Status::BadSeqid), "another operation with the same number");
        assert_eq!(state.check(18, 79), Err(Nfs4Status::BadSeqid));
        assert_eq!(state.check(4, 78), Ok(None));
        state.record(78, Err(Nfs4Status::BadStateid), reply(4), &budget);
        assert_eq!(state.check(4, 78), Ok(None), "this failure does not count");
        state.record(78, Err(Nfs4Status::Expired), reply(4), &budget);
        assert_eq!(state.check(4, 78), Ok(Some(reply(4))));
        let long = OwnerReply { bytes: vec![1; 2], ..reply(4) };
        state.record(79, Ok(()), long, &budget);
        assert_eq!(state.check(4, 79), Err(Nfs4Status::BadSeqid), "the budget has no memory for it");
        assert_eq!(budget.used(), 99);
    }
}
