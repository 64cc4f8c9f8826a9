//! LOCK: byte ranges of open files (MS-SMB2 3.3.5.14, MS-FSA 2.1.5.8).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::lock::{LockRange, LockRequest, flags};

use crate::smb::call::{Answer, Call, empty};
use crate::smb::open_files::{File, FileState, OpenFile, answer};
use crate::smb::pending::{PendingReply, WaitsFor};
use crate::smb::status::{Outcome, malformed};

/// Maximum number of locks of a file.
const MAX_LOCKS: usize = 4096;

/// Who holds a lock: an open file, and with SMB1 a process of its client (MS-CIFS 2.2.4.32.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LockOwner {
    open: u64,
    process: u32,
}

impl LockOwner {
    /// The open itself, as with SMB2.
    pub(super) const fn of_open(open: u64) -> Self {
        Self { open, process: 0 }
    }

    /// A process of the client that has the open.
    pub(super) const fn of_process(open: u64, process: u32) -> Self {
        Self { open, process }
    }
}

/// A locked range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lock {
    owner: LockOwner,
    offset: u64,
    len: u64,
    exclusive: bool,
}

/// A request that waits for a range.
pub(super) struct WaitingLock {
    wanted: Lock,
    pending: PendingReply,
}

impl Lock {
    /// True if both cover a byte. A range of length 0 overlaps only what contains its position inside.
    fn overlaps(&self, other: &Self) -> bool {
        let end = |lock: &Self| u128::from(lock.offset) + u128::from(lock.len);
        let start = |lock: &Self| u128::from(lock.offset);
        match (self.len, other.len) {
            (0, 0) => false,
            (0, _) => start(other) < start(self) && start(self) < end(other),
            (_, 0) => start(self) < start(other) && start(other) < end(self),
            _ => start(self) < end(other) && start(other) < end(self),
        }
    }

    /// True if this lock forbids another one. A shared lock may overlap an exclusive one of the same open (MS-FSA 2.1.5.8).
    fn excludes(&self, wanted: &Self) -> bool {
        (wanted.exclusive || self.exclusive && self.owner != wanted.owner) && self.overlaps(wanted)
    }
}

impl FileState {
    fn is_free(&self, wanted: &Lock) -> bool {
        !self.locks.iter().any(|lock| lock.excludes(wanted))
    }

    fn grant_waiting(&mut self) -> Vec<(PendingReply, NtStatus)> {
        let mut replies = Vec::new();
        for waiting in std::mem::take(&mut self.waiting) {
            if self.is_free(&waiting.wanted) {
                self.locks.push(waiting.wanted);
                replies.push((waiting.pending, NtStatus::SUCCESS));
            } else {
                self.waiting.push(waiting);
            }
        }
        replies
    }

    /// Removes the locks of an open that is closed, and returns the replies to requests that need not wait any longer.
    pub(super) fn leave_locks(&mut self, open: u64, locked: &AtomicBool) -> Vec<(PendingReply, NtStatus)> {
        if self.locks.is_empty() && self.waiting.is_empty() {
            return Vec::new();
        }
        self.locks.retain(|lock| lock.owner.open != open);
        let ended = self.waiting.extract_if(.., |waiting| waiting.wanted.owner.open == open);
        let mut replies: Vec<_> =
            ended.map(|waiting| (waiting.pending, NtStatus::RANGE_NOT_LOCKED)).collect();
        replies.extend(self.grant_waiting());
        locked.store(!self.locks.is_empty(), Ordering::Release);
        replies
    }
}

impl File {
    /// Checks that no lock forbids an open to read a range, or to write it (MS-FSA 2.1.4.10).
    #[inline]
    pub(super) fn check_locks(&self, owner: LockOwner, offset: u64, len: u64, write: bool) -> Outcome<()> {
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
    pub(super) fn cancel(&self, id: u64) -> Option<PendingReply> {
        let mut state = self.state();
        let at = state.waiting.iter().position(|waiting| waiting.pending.id == id)?;
        Some(state.waiting.remove(at).pending)
    }

    /// Unlocks ranges in order, up to the first that is not locked or does not unlock (MS-SMB2 3.3.5.14.1).
    pub(super) fn unlock(&self, owner: LockOwner, ranges: &[LockRange]) -> Outcome<()> {
        let mut state = self.state();
        let mut outcome = Ok(());
        for range in ranges {
            if range.flags != flags::UNLOCK {
                outcome = Err(NtStatus::INVALID_PARAMETER);
                break;
            }
            let found = state
                .locks
                .iter()
                .position(|lock| (lock.owner, lock.offset, lock.len) == (owner, range.offset, range.len));
            let Some(at) = found else {
                outcome = Err(NtStatus::RANGE_NOT_LOCKED);
                break;
            };
            state.locks.remove(at);
        }
        let replies = state.grant_waiting();
        self.locked.store(!state.locks.is_empty(), Ordering::Release);
        drop(state);
        answer(replies);
        outcome
    }

    /// Locks all ranges or none; with `pending` a single range may wait.
    pub(super) fn lock(
        &self,
        wanted: &[Lock],
        pending: Option<(PendingReply, &Arc<OpenFile>)>,
    ) -> Outcome<Answer> {
        let mut state = self.state();
        if state.locks.len() + state.waiting.len() + wanted.len() > MAX_LOCKS {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        let before = state.locks.len();
        for lock in wanted {
            if state.is_free(lock) {
                state.locks.push(*lock);
                continue;
            }
            state.locks.truncate(before);
            let Some((pending, open)) = pending else { return Err(NtStatus::LOCK_NOT_GRANTED) };
            pending.waiting.add(&pending, 0, WaitsFor::Lock(Arc::clone(open)))?;
            // Under the lock of the file, so that the last reply cannot overtake it.
            pending.send_interim();
            state.waiting.push(WaitingLock { wanted: *lock, pending });
            return Ok(Answer::Later);
        }
        self.locked.store(true, Ordering::Release);
        Ok(Answer::Now(NtStatus::SUCCESS))
    }
}

impl Call<'_> {
    /// LOCK: all ranges of a request are locked, or all are unlocked.
    pub(super) fn lock(&mut self, body: &mut Vec<u8>) -> Outcome<Answer> {
        let request = LockRequest::decode(self.message).map_err(malformed)?;
        let open = self.file(request.file)?;
        // A client of several channels repeats a request whose reply it has lost.
        let repeats = self.connection.negotiated.get().is_some_and(|negotiated| negotiated.dialect >= 0x0300);
        if repeats && open.lock_sequences.is_repeated(request.sequence) {
            return Ok(empty(body));
        }
        let answered = self.lock_ranges(&request, &open, body)?;
        if repeats && matches!(answered, Answer::Now(_)) {
            open.lock_sequences.note(request.sequence);
        }
        Ok(answered)
    }

    fn lock_ranges(
        &mut self,
        request: &LockRequest,
        open: &Arc<OpenFile>,
        body: &mut Vec<u8>,
    ) -> Outcome<Answer> {
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
        let pending = (waits && self.last).then(|| (self.pending(), open));
        match open.file.lock(&wanted, pending)? {
            Answer::Now(_) => {
                open.file.end_caches(open.id.volatile);
                Ok(empty(body))
            }
            later => Ok(later),
        }
    }
}

/// The lock that a range of a request describes.
pub(super) fn wanted_lock(range: &LockRange, owner: LockOwner) -> Outcome<Lock> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(offset: u64, len: u64, exclusive: bool) -> Lock {
        Lock { owner: LockOwner::of_open(1), offset, len, exclusive }
    }

    #[test]
    fn ranges_overlap_up_to_the_end_of_the_offsets() {
        let all = lock(0, u64::MAX, false);
        assert!(
            all.overlaps(&lock(u64::MAX - 1, 1, false))
                && lock(u64::MAX, 1, false).overlaps(&lock(u64::MAX, 1, false))
        );
        assert!(!lock(0, 10, false).overlaps(&lock(10, 1, false)));
        assert!(
            lock(0, 10, false).overlaps(&lock(5, 0, false))
                && !lock(0, 10, false).overlaps(&lock(10, 0, false))
        );
        assert!(
            !lock(5, 0, true).overlaps(&lock(5, 0, true)) && !lock(5, 0, true).overlaps(&lock(5, 1, true))
        );
    }

    #[test]
    fn shared_locks_overlap_each_other_and_exclusive_ones_of_their_open() {
        let other = |lock: Lock| Lock { owner: LockOwner::of_open(2), ..lock };
        assert!(!lock(0, 10, false).excludes(&other(lock(5, 10, false))));
        assert!(lock(0, 10, true).excludes(&other(lock(5, 10, false))));
        assert!(lock(0, 10, false).excludes(&other(lock(5, 10, true))));
        assert!(
            !lock(0, 10, true).excludes(&lock(5, 10, false))
                && lock(0, 10, true).excludes(&lock(5, 10, true))
        );
    }
}
