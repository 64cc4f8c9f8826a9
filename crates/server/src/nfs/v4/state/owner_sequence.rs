//! Sequence numbers of owners in minor version 0: each operation of an owner is executed once (RFC 7530, 9.1.7).

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use sharebench_nfs::v4::status::Nfs4Status;

use crate::NodeId;

/// The operations of one owner of opens or locks, one at a time.
#[derive(Debug, Default)]
pub(in crate::nfs::v4) struct OwnerSequence(Mutex<OwnerState>);

/// The last operation of an owner.
#[derive(Debug, Default)]
pub(in crate::nfs::v4) struct OwnerState {
    /// None before the first operation, whose number may be any.
    last: Option<u32>,
    /// Result of the last operation for a repeated one: status and body, and the file that it made the current one.
    reply: Option<OwnerReply>,
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
    /// Takes the owner for one operation; an error while another call of it is executed.
    pub(in crate::nfs::v4) fn take(&self) -> Result<MutexGuard<'_, OwnerState>, Nfs4Status> {
        match self.0.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Nfs4Status::Delay),
        }
    }

    /// True if an operation of the owner was confirmed.
    pub(super) fn is_in_use(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).confirmed
    }
}

impl OwnerState {
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
                Some(reply) if reply.operation == operation => Ok(Some(reply.clone())),
                _ => Err(Nfs4Status::BadSeqid),
            },
            Some(_) => Err(Nfs4Status::BadSeqid),
        }
    }

    /// Records an executed operation, unless its status leaves the sequence as it is (RFC 7530, 9.1.7).
    pub(in crate::nfs::v4) fn record(
        &mut self,
        sequence: u32,
        status: Result<(), Nfs4Status>,
        reply: OwnerReply,
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
            self.reply = Some(reply);
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
        let owner = OwnerSequence::default();
        let mut state = owner.take().unwrap();
        assert_eq!(owner.take().err(), Some(Nfs4Status::Delay));
        assert_eq!(state.check(18, 77), Ok(None), "the first number is free");
        state.record(77, Ok(()), reply(18));
        assert_eq!(state.check(18, 77), Ok(Some(reply(18))));
        assert_eq!(state.check(4, 77), Err(Nfs4Status::BadSeqid), "another operation with the same number");
        assert_eq!(state.check(18, 79), Err(Nfs4Status::BadSeqid));
        assert_eq!(state.check(4, 78), Ok(None));
        state.record(78, Err(Nfs4Status::BadStateid), reply(4));
        assert_eq!(state.check(4, 78), Ok(None), "this failure does not count");
        state.record(78, Err(Nfs4Status::Expired), reply(4));
        assert_eq!(state.check(4, 78), Ok(Some(reply(4))));
    }
}
