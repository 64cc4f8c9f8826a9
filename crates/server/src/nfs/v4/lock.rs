//! LOCK, LOCKT and LOCKU (RFC 7530, 16.10 to 16.12).

use std::sync::Arc;

use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::item::{Item, Opaque};
use sharebench_nfs::v4::lock::{Denied, Lock, LockKind, LockTest, Locker, Unlock};
use sharebench_nfs::v4::open::StateOwner;
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer};

use crate::NodeId;
use crate::nfs::v4::client_calls::OwnerCall;
use crate::nfs::v4::compound::Compound;
use crate::nfs::v4::errors::{OpError, OpResult};
use crate::nfs::v4::state::locks::{Conflict, Locked, WantedLock};
use crate::nfs::v4::state::owner_sequence::OwnerReply;
use crate::nfs::v4::state::ranges::ByteRange;

impl Compound<'_> {
    /// The current file, which can have locks.
    fn lockable(&self) -> Result<NodeId, Nfs4Status> {
        let node = self.file()?;
        let attributes = self.volume().attributes(node).map_err(|error| self.of_data(error))?;
        match (attributes.directory, attributes.link) {
            (true, _) => Err(Nfs4Status::Isdir),
            (_, true) => Err(Nfs4Status::Inval),
            _ => Ok(node),
        }
    }

    /// LOCK. An owner that is denied a lock for which it waits is called when the lock may be available.
    pub(super) fn lock(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Lock::get(call)?;
        let node = self.lockable()?;
        let range = ByteRange::new(args.offset, args.length).ok_or(Nfs4Status::Inval)?;
        let waits = args.kind.waits() && self.minor_version > 0;
        let wanted = WantedLock { node, range, exclusive: args.kind.is_exclusive(), waits };
        let state = match &args.locker {
            Locker::New(locker) => locker.open_state,
            Locker::Known(locker) => locker.lock_state,
        };
        let state = self.state(state)?;
        let (client, owner, of_locks) = self.v4().state.owner_of(&state, self.minor_version)?;
        let sequence = match &args.locker {
            Locker::New(locker) => locker.open_sequence,
            Locker::Known(locker) => locker.lock_sequence,
        };
        if of_locks != matches!(args.locker, Locker::Known(_)) {
            return Err(Nfs4Status::BadStateid.into());
        }
        // From minor version 1 on, the session names the client (RFC 8881, 8.8).
        if self.minor_version == 0
            && matches!(&args.locker, Locker::New(locker) if locker.owner.client_id != client)
        {
            return Err(Nfs4Status::StaleClientid.into());
        }
        let call = OwnerCall { client, owner: &owner, of_locks, operation: Operation::Lock, sequence };
        self.in_sequence(call, out, |this, out, _| {
            this.v4().state.check_grace(client, args.reclaim)?;
            let at = out.len();
            let state_table = &this.v4().state;
            let locked = match &args.locker {
                Locker::New(locker) => {
                    let owner = Arc::from(locker.owner.owner.0);
                    this.lock_as_new(client, &owner, &state, locker.lock_sequence, wanted)?
                }
                Locker::Known(_) => state_table.lock_as_known(&state, this.caller(), wanted)?,
            };
            debug_assert_eq!(at, out.len());
            this.put_locked(locked, out)
        })
    }

    fn put_locked(&mut self, locked: Locked, out: &mut Writer) -> OpResult {
        match locked {
            Ok(state) => {
                state.put(out);
                self.current_state = Some(state);
                Ok(())
            }
            Err(conflict) => Err(put_denied(&conflict, out)),
        }
    }

    /// Locks a range for an owner that may be new. In minor version 0 its sequence then begins, and a failure leaves nothing of it.
    fn lock_as_new(
        &self,
        client: u64,
        owner: &Arc<[u8]>,
        open: &StateId,
        sequence: u32,
        wanted: WantedLock,
    ) -> Result<Locked, Nfs4Status> {
        let state = &self.v4().state;
        if self.minor_version > 0 {
            return state.lock_as_new(open, self.caller(), owner, wanted);
        }
        let locker = state.owner_sequence(client, owner, true)?;
        let locked = state.lock_as_new(open, self.caller(), owner, wanted);
        if let Ok(Ok(_)) = &locked {
            // A repeated LOCK is recognized by the sequence of the open owner, so that this reply is never used.
            let reply = OwnerReply { operation: Operation::Illegal as u32, bytes: Vec::new(), node: None };
            locker.take()?.record(sequence, Ok(()), reply, locker.budget());
        }
        drop(locker);
        if !matches!(locked, Ok(Ok(_))) {
            state.forget_failed_owner(client, owner, true);
        }
        locked
    }

    /// LOCKT.
    pub(super) fn test_lock(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = LockTest::get(call)?;
        let node = self.lockable()?;
        let range = ByteRange::new(args.offset, args.length).ok_or(Nfs4Status::Inval)?;
        let client = self.client_of(args.owner.client_id);
        if self.v4().state.in_grace() {
            return Err(Nfs4Status::Grace.into());
        }
        let wanted = WantedLock { node, range, exclusive: args.kind.is_exclusive(), waits: false };
        match self.v4().state.test_lock(client, args.owner.owner.0, wanted)? {
            None => Ok(()),
            Some(conflict) => Err(put_denied(&conflict, out)),
        }
    }

    /// LOCKU.
    pub(super) fn unlock(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Unlock::get(call)?;
        let node = self.file()?;
        let range = ByteRange::new(args.offset, args.length).ok_or(Nfs4Status::Inval)?;
        let state = self.state(args.state)?;
        let (client, owner, of_locks) = self.v4().state.owner_of(&state, self.minor_version)?;
        if !of_locks {
            return Err(Nfs4Status::BadStateid.into());
        }
        let sequence = args.sequence;
        let call = OwnerCall { client, owner: &owner, of_locks, operation: Operation::LockU, sequence };
        self.in_sequence(call, out, |this, out, _| {
            let state = this.v4().state.unlock(&state, this.caller(), node, range)?;
            state.put(out);
            this.current_state = Some(state);
            this.v4().notify_waiters(&this.server.handles, node);
            Ok(())
        })
    }
}

/// Encodes the lock that excludes a wanted one.
fn put_denied(conflict: &Conflict, out: &mut Writer) -> OpError {
    Denied {
        offset: conflict.range.first,
        length: conflict.range.length(),
        kind: if conflict.exclusive { LockKind::Write } else { LockKind::Read },
        owner: StateOwner { client_id: conflict.client, owner: Opaque(&conflict.owner) },
    }
    .put(out);
    OpError::WithBody(Nfs4Status::Denied)
}
