//! LOCK: byte ranges of open files (MS-SMB2 3.3.5.14, MS-FSA 2.1.5.8).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::lock::{LockRange, LockRequest, flags};

use crate::smb::files::byte_locks::{Lock, LockOwner};
use crate::smb::files::open_file::{File, FileState, OpenFile, PendingLock};
use crate::smb::files::open_files::answer;
use crate::smb::session::call::{Call, CallResponse, empty};
use crate::smb::session::pending::{PendingCause, PendingReply};
use crate::smb::status::{Outcome, malformed};

/// Maximum number of locks of a file.
const MAX_LOCKS: usize = 4096;

/// Bytes of one lock, of which a vector may have room for twice as many.
const LOCK_BYTES: usize = 2 * size_of::<Lock>();

/// The reply of a request that waits no longer, and the first byte of the range that it has not received.
pub(crate) struct EndedLock {
    pub(crate) pending: PendingReply,
    pub(crate) offset: u64,
}

/// How a request of locks may wait.
pub(crate) struct PendingLockRequest<'a> {
    pub(crate) pending: PendingReply,
    pub(crate) open: &'a Arc<OpenFile>,
    /// With SMB1: its offsets have 64 bits.
    pub(crate) large: bool,
}

/// Why ranges were not locked, and the first byte of the range that was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RefusedLock {
    pub(crate) status: NtStatus,
    pub(crate) offset: u64,
}

impl From<RefusedLock> for NtStatus {
    fn from(refused: RefusedLock) -> Self {
        refused.status
    }
}

impl FileState {
    /// Charges the locks that there are, those that requests wait for, and `more`; false if the budget has less.
    fn charge_locks(&mut self, more: usize) -> bool {
        self.lock_charge.resize((self.locks.len() + self.pending_ranges() + more) * LOCK_BYTES)
    }

    fn pending_ranges(&self) -> usize {
        self.pending_locks.iter().map(|pending_lock| pending_lock.wanted.len()).sum()
    }

    fn is_free(&self, wanted: &Lock) -> bool {
        !self.locks.iter().any(|lock| lock.excludes(wanted))
    }

    fn grant_pending(&mut self) -> Vec<(PendingReply, NtStatus)> {
        let mut replies = Vec::new();
        for mut pending_lock in std::mem::take(&mut self.pending_locks) {
            pending_lock.held +=
                self.take_free(pending_lock.wanted.get(pending_lock.held..).unwrap_or_default());
            if pending_lock.held == pending_lock.wanted.len() {
                replies.push((pending_lock.pending, NtStatus::SUCCESS));
            } else {
                self.pending_locks.push(pending_lock);
            }
        }
        replies
    }

    /// Locks ranges in order, up to the first that is not free, and returns their number.
    fn take_free(&mut self, wanted: &[Lock]) -> usize {
        for (taken, lock) in wanted.iter().enumerate() {
            if !self.is_free(lock) {
                return taken;
            }
            self.locks.push(*lock);
        }
        wanted.len()
    }

    /// Ends the wait at a position, and releases what the request held.
    fn end_pending(&mut self, at: usize) -> EndedLock {
        let pending_lock = self.pending_locks.remove(at);
        for held in pending_lock.wanted.iter().take(pending_lock.held) {
            if let Some(at) = self.locks.iter().position(|lock| lock == held) {
                self.locks.remove(at);
            }
        }
        self.charge_locks(0);
        EndedLock { offset: pending_lock.offset(), pending: pending_lock.pending }
    }

    /// Removes the locks of an open that is closed, and returns the replies to requests that need not wait any longer.
    pub(crate) fn leave_locks(&mut self, open: u64, locked: &AtomicBool) -> Vec<(PendingReply, NtStatus)> {
        if self.locks.is_empty() && self.pending_locks.is_empty() {
            return Vec::new();
        }
        self.locks.retain(|lock| lock.owner.open != open);
        let ended = self.pending_locks.extract_if(.., |pending_lock| pending_lock.is_of(open));
        let mut replies: Vec<_> =
            ended.map(|pending_lock| (pending_lock.pending, NtStatus::RANGE_NOT_LOCKED)).collect();
        replies.extend(self.grant_pending());
        self.charge_locks(0);
        locked.store(!self.locks.is_empty(), Ordering::Release);
        replies
    }
}

impl File {
    /// Checks that no lock forbids an open to read a range, or to write it (MS-FSA 2.1.4.10).
    #[inline]
    pub(crate) fn check_locks(&self, owner: LockOwner, offset: u64, len: u64, write: bool) -> Outcome<()> {
        if !self.locked.load(Ordering::Acquire) || len == 0 {
            return Ok(());
        }
        let range = Lock { owner, offset, len, exclusive: write };
        let state = self.state();
        let forbids =
            |lock: &Lock| lock.overlaps(&range) && if lock.exclusive { lock.owner != owner } else { write };
        if state.locks.iter().any(forbids) { Err(NtStatus::FILE_LOCK_CONFLICT) } else { Ok(()) }
    }

    /// Removes a request from those that wait.
    pub(crate) fn cancel(&self, id: u64) -> Option<EndedLock> {
        self.end_pending(|pending_lock| pending_lock.pending.id == id)
    }

    /// Removes a request of SMB1 that waits and has a range of these bounds from those that wait (MS-CIFS 3.3.5.30).
    pub(crate) fn cancel_range(
        &self,
        owner: LockOwner,
        offset: u64,
        len: u64,
        large: bool,
    ) -> Option<EndedLock> {
        let same = |lock: &Lock| (lock.owner, lock.offset, lock.len) == (owner, offset, len);
        self.end_pending(|pending_lock| pending_lock.large == large && pending_lock.wanted.iter().any(same))
    }

    fn end_pending(&self, is_wanted: impl Fn(&PendingLock) -> bool) -> Option<EndedLock> {
        let mut state = self.state();
        let at = state.pending_locks.iter().position(is_wanted)?;
        let ended = state.end_pending(at);
        let replies = state.grant_pending();
        self.locked.store(!state.locks.is_empty(), Ordering::Release);
        drop(state);
        answer(replies);
        Some(ended)
    }

    /// Unlocks ranges in order, up to the first that is not locked or does not unlock (MS-SMB2 3.3.5.14.1). Of equal ranges, an
    /// exclusive one is unlocked first (MS-FSA 2.1.5.9).
    pub(crate) fn unlock(&self, owner: LockOwner, ranges: &[LockRange]) -> Outcome<()> {
        let mut state = self.state();
        let mut outcome = Ok(());
        for range in ranges {
            if range.flags != flags::UNLOCK {
                outcome = Err(NtStatus::INVALID_PARAMETER);
                break;
            }
            let same = |lock: &Lock| (lock.owner, lock.offset, lock.len) == (owner, range.offset, range.len);
            let exclusive = state.locks.iter().position(|lock| lock.exclusive && same(lock));
            let Some(at) = exclusive.or_else(|| state.locks.iter().position(same)) else {
                outcome = Err(NtStatus::RANGE_NOT_LOCKED);
                break;
            };
            state.locks.remove(at);
        }
        let replies = state.grant_pending();
        state.charge_locks(0);
        self.locked.store(!state.locks.is_empty(), Ordering::Release);
        drop(state);
        answer(replies);
        outcome
    }

    /// Locks all ranges or none. With `wait`, the request waits for the first range that is not free, and holds those before it.
    pub(crate) fn lock(
        &self,
        wanted: &[Lock],
        wait: Option<PendingLockRequest<'_>>,
    ) -> Result<CallResponse, RefusedLock> {
        let refused = |status, lock: &Lock| RefusedLock { status, offset: lock.offset };
        let Some(first) = wanted.first() else { return Ok(CallResponse::Complete(NtStatus::SUCCESS)) };
        let mut state = self.state();
        let total = state.locks.len() + state.pending_ranges() + wanted.len();
        if total > MAX_LOCKS || !state.charge_locks(wanted.len()) {
            return Err(refused(NtStatus::INSUFFICIENT_RESOURCES, first));
        }
        let before = state.locks.len();
        let held = state.take_free(wanted);
        if let Some(missing) = wanted.get(held) {
            let Some(PendingLockRequest { pending, open, large }) = wait else {
                state.locks.truncate(before);
                state.charge_locks(0);
                return Err(refused(NtStatus::LOCK_NOT_GRANTED, missing));
            };
            if let Err(status) =
                pending.pending_requests.add(&pending, 0, PendingCause::Lock(Arc::clone(open)))
            {
                state.locks.truncate(before);
                state.charge_locks(0);
                return Err(refused(status, missing));
            }
            // Under the lock of the file, so that the last reply cannot overtake it.
            pending.send_interim();
            state.pending_locks.push(PendingLock { wanted: wanted.to_vec(), held, large, pending });
            self.locked.store(!state.locks.is_empty(), Ordering::Release);
            return Ok(CallResponse::Pending);
        }
        self.locked.store(true, Ordering::Release);
        Ok(CallResponse::Complete(NtStatus::SUCCESS))
    }
}

impl Call<'_> {
    /// LOCK: all ranges of a request are locked, or all are unlocked.
    pub(crate) fn lock(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let request = LockRequest::decode(self.message).map_err(malformed)?;
        let open = self.file(request.file)?;
        // A client of several channels repeats a request whose reply it has lost.
        let repeats = self.connection.negotiated.get().is_some_and(|negotiated| negotiated.dialect >= 0x0300);
        if repeats && open.lock_sequences.is_repeated(request.sequence) {
            return Ok(empty(body));
        }
        let answered = self.lock_ranges(&request, &open, body)?;
        if repeats && matches!(answered, CallResponse::Complete(_)) {
            open.lock_sequences.note(request.sequence);
        }
        Ok(answered)
    }

    fn lock_ranges(
        &mut self,
        request: &LockRequest,
        open: &Arc<OpenFile>,
        body: &mut Vec<u8>,
    ) -> Outcome<CallResponse> {
        if request.ranges.first().is_some_and(|range| range.flags == flags::UNLOCK) {
            open.file.unlock(LockOwner::of_open(open.id.volatile), &request.ranges)?;
            return Ok(empty(body));
        }
        let waits = request.ranges.iter().any(|range| range.flags & flags::FAIL_IMMEDIATELY == 0);
        if waits && request.ranges.len() > 1 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let owner = LockOwner::of_open(open.id.volatile);
        let wanted = request.ranges.iter().map(|range| wanted_lock(range, owner));
        let wanted = wanted.collect::<Outcome<Vec<_>>>()?;
        let wait =
            (waits && self.last).then(|| PendingLockRequest { pending: self.pending(), open, large: true });
        match open.file.lock(&wanted, wait)? {
            CallResponse::Complete(_) => {
                open.file.end_caches(open.id.volatile);
                Ok(empty(body))
            }
            later => Ok(later),
        }
    }
}

/// The lock that a range of a request describes.
pub(crate) fn wanted_lock(range: &LockRange, owner: LockOwner) -> Outcome<Lock> {
    let exclusive = match range.flags & !flags::FAIL_IMMEDIATELY {
        flags::SHARED => false,
        flags::EXCLUSIVE => true,
        _ => return Err(NtStatus::INVALID_PARAMETER),
    };
    if range.len > 0 && range.offset.checked_add(range.len - 1).is_none() {
        return Err(NtStatus::INVALID_LOCK_RANGE);
    }
    Ok(Lock { owner, offset: range.offset, len: range.len, exclusive })
}
