//! Locks of byte ranges: LOCK and LOCKU (RFC 7530, 16.10 and 16.12; RFC 8881, 18.10 and 18.12).
//!
//! Each open file has a lock-owner of its own, so that two opens of a session exclude each other. The first lock of an open
//! file introduces its owner; the state that the server returns names the owner from then on.

use sharebench_model::{FileRef, IoPolicy, MetaYield, OpError, OpenHow};
use sharebench_target::{CallResult, Locks};

use crate::client::v4::compound::Compound;
use crate::client::v4::names::Wish;
use crate::client::v4::requests::{Caller, Request};
use crate::client::v4::session::Nfs4Session;
use crate::client::v4::states::{LockState, OpenState};
use crate::v4::data::StateId;
use crate::v4::item::Opaque;
use crate::v4::lock::{KnownLocker, Lock, LockKind, Locker, NewLocker, Unlock};
use crate::v4::open::{DENY_BOTH, StateOwner};
use crate::v4::operation::Operation;

/// Length of a range without an end (RFC 8881, 18.10.3).
const TO_THE_END: u64 = u64::MAX;

/// A lock that is requested.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    kind: LockKind,
    offset: u64,
    length: u64,
}

impl Wanted {
    const fn by(self, locker: Locker<'_>) -> Lock<'_> {
        let Self { kind, offset, length } = self;
        Lock { kind, reclaim: false, offset, length, locker }
    }
}

/// The name of a lock-owner; its number is that of no open-owner.
fn owner_name(owner: u32) -> [u8; 5] {
    let [a, b, c, d] = owner.to_be_bytes();
    [b'l', a, b, c, d]
}

impl Locks for Nfs4Session {
    /// LOCK of a range, exclusively. With `wait` the kind of the lock says that the client waits for it, so that a server can
    /// keep the range for it; the reply comes at once, and the caller requests the lock again (RFC 8881, 9.6).
    async fn lock(&mut self, file: FileRef, offset: u64, length: u64, wait: bool) -> CallResult {
        let open = self.files.get(file)?.handle;
        let kind = if wait { LockKind::WriteWait } else { LockKind::Write };
        let wanted = Wanted { kind, offset, length };
        let locks = match open.locks {
            Some(known) => {
                let build = |compound: &mut Compound<'_>, Caller { sequence: lock_sequence, .. }: Caller| {
                    let locker = Locker::Known(KnownLocker { lock_state: known.state, lock_sequence });
                    compound.handle(&open.handle).operation(Operation::Lock, &wanted.by(locker));
                };
                let state = self.change_locks(Operation::Lock, known.owner, build).await?;
                LockState { state, held: known.held.saturating_add(1), ..known }
            }
            None => self.lock_as_new(open, wanted).await?,
        };
        self.files.get_mut(file)?.handle.locks = Some(locks);
        Ok(MetaYield::Done)
    }

    /// LOCKU of exactly one range.
    async fn unlock(&mut self, file: FileRef, offset: u64, length: u64) -> CallResult {
        let open = self.files.get(file)?.handle;
        let Some(known) = open.locks else { return Err(OpError::not_open()) };
        let state = self.request_unlock(open, known, offset, length).await?;
        let held = known.held.saturating_sub(1);
        self.files.get_mut(file)?.handle.locks = Some(LockState { state, held, ..known });
        Ok(MetaYield::Done)
    }

    /// OPEN that denies reads and writes.
    async fn open_denying(&mut self, path: &str) -> CallResult {
        let wish = Wish { deny: DENY_BOTH, ..Wish::of(OpenHow::ReadWrite) };
        self.open_with(path, wish, IoPolicy::default()).await
    }
}

impl Nfs4Session {
    /// The first lock of an open file. The call has the sequence number of the open-owner, and introduces that of the
    /// lock-owner.
    async fn lock_as_new(&mut self, open: OpenState, wanted: Wanted) -> Result<LockState, OpError> {
        let owner = self.owners.lock_owner(open.owner);
        let lock_sequence = if self.minor == 0 { self.owners.sequence(owner) } else { 0 };
        let name = owner_name(owner);
        let build = |compound: &mut Compound<'_>, Caller { client_id, sequence: open_sequence }: Caller| {
            let locker = NewLocker {
                open_sequence,
                open_state: open.state,
                lock_sequence,
                owner: StateOwner { client_id, owner: Opaque(&name) },
            };
            compound.handle(&open.handle).operation(Operation::Lock, &wanted.by(Locker::New(locker)));
        };
        let state = self.change_locks(Operation::Lock, open.owner, build).await?;
        self.owners.advance(owner);
        Ok(LockState { owner, state, held: 1 })
    }

    /// Releases what is still locked of a file that is about to be closed: servers may reject its CLOSE otherwise (RFC 7530,
    /// 16.2.5; RFC 8881, 18.2.4).
    pub(crate) async fn unlock_all(&mut self, open: OpenState) -> Result<(), OpError> {
        match open.locks {
            Some(known) if known.held > 0 => self.request_unlock(open, known, 0, TO_THE_END).await.map(drop),
            _ => Ok(()),
        }
    }

    async fn request_unlock(
        &mut self,
        open: OpenState,
        known: LockState,
        offset: u64,
        length: u64,
    ) -> Result<StateId, OpError> {
        let build = |compound: &mut Compound<'_>, Caller { sequence, .. }: Caller| {
            let unlock = Unlock { kind: LockKind::Write, sequence, state: known.state, offset, length };
            compound.handle(&open.handle).operation(Operation::LockU, &unlock);
        };
        self.change_locks(Operation::LockU, known.owner, build).await
    }

    /// Performs LOCK or LOCKU with the sequence number of `owner`; returns the state that later calls name.
    async fn change_locks(
        &mut self,
        operation: Operation,
        owner: u32,
        build: impl Fn(&mut Compound<'_>, Caller),
    ) -> Result<StateId, OpError> {
        let mut results = self.request(Request::owned(operation, owner), build).await?;
        results.done(Operation::PutFh)?;
        let state = results.get::<StateId>(operation)?;
        Ok(self.current(state))
    }
}
