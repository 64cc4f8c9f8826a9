//! `LOCKING_ANDX`, `LOCK_BYTE_RANGE` and `UNLOCK_BYTE_RANGE` (MS-CIFS 3.3.5.30, 3.3.5.15, 3.3.5.16): ranges that processes of a client
//! lock and unlock.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::file::{
    ByteRange, CANCEL_LOCK, KEEP_LEVEL_II, LARGE_FILES, LockRange as LargeRange, LockRequest, LockResponse,
    OPLOCK_RELEASE, SHARED_LOCK, SmallLockRange,
};
use sharebench_smb::nt1::message::{NO_ANDX, Words, put_blocks};
use sharebench_smb::wire::lock::{LockRange, flags};
use sharebench_smb::wire::oplock;

use super::call::{Smb1Call, put_empty};
use super::state::OpenedFile;
use crate::smb::files::byte_locks::{Lock, LockOwner};
use crate::smb::files::locks::{PendingLockRequest, RefusedLock, wanted_lock};
use crate::smb::session::call::{CallResponse, DONE};
use crate::smb::status::{Outcome, malformed};

/// `LockType`: change a shared lock to an exclusive one or back, which this server does not do.
const CHANGE_TYPE: u8 = 0x04;
/// From this offset on, a lock that is not granted is a conflict.
const FAR_OFFSET: u64 = 0xEF00_0000;
/// `Timeout`: wait for ever.
const FOREVER: u32 = u32::MAX;

impl Smb1Call<'_> {
    /// `LOCKING_ANDX`: acknowledges the break of an oplock, unlocks its ranges in order, then locks all of its ranges or none, which may wait.
    pub(super) fn lock(&self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let words: LockRequest = self.words()?;
        if words.kind & OPLOCK_RELEASE != 0 {
            if let Ok(open) = self.file(words.fid) {
                let keeps = words.oplock & KEEP_LEVEL_II != 0;
                let level = if keeps { oplock::LEVEL_II } else { oplock::NONE };
                // Without a break in progress it changes nothing.
                let _ = open.file.acknowledge_oplock(open.id.volatile, level);
            }
            if words.locks == 0 && words.unlocks == 0 {
                // It has no reply, also if it is wrong.
                return Ok(CallResponse::Pending);
            }
        }
        let opened = self.opened(words.fid)?;
        let open = Arc::clone(&opened.open);
        if words.kind & CHANGE_TYPE != 0 {
            return Err(NtStatus::OS2_ATOMIC_LOCKS_NOT_SUPPORTED);
        }
        let (unlocks, locks) = self.ranges(&words)?;
        if words.kind & CANCEL_LOCK != 0 {
            cancel_pending(&opened, &locks, words.kind & LARGE_FILES != 0)?;
            put_blocks(&LockResponse { andx: NO_ANDX }, body, |_| {});
            return DONE;
        }
        for (process, (offset, len)) in unlocks {
            let owner = LockOwner::of_process(open.id.volatile, u32::from(process));
            open.file.unlock(owner, &[LockRange { offset, len, flags: flags::UNLOCK }])?;
        }
        let kind = if words.kind & SHARED_LOCK != 0 { flags::SHARED } else { flags::EXCLUSIVE };
        let wanted = |(process, (offset, len)): &(u16, (u64, u64))| {
            let owner = LockOwner::of_process(open.id.volatile, u32::from(*process));
            wanted_lock(&LockRange { offset: *offset, len: *len, flags: kind }, owner)
        };
        let wanted = locks.iter().map(wanted).collect::<Outcome<Vec<_>>>()?;
        if wanted.is_empty() {
            put_blocks(&LockResponse { andx: NO_ANDX }, body, |_| {});
            return DONE;
        }
        let locked = self.lock_ranges(&opened, &wanted, &words);
        match locked.map_err(|refused| refusal(refused, &opened))? {
            CallResponse::Complete(_) => {
                open.file.end_caches(open.id.volatile);
                put_blocks(&LockResponse { andx: NO_ANDX }, body, |_| {});
                DONE
            }
            later => Ok(later),
        }
    }

    fn lock_ranges(
        &self,
        opened: &OpenedFile,
        wanted: &[Lock],
        words: &LockRequest,
    ) -> Result<CallResponse, RefusedLock> {
        // A command after the lock would need its outcome, and the commands before it are not repeated.
        let waits = words.timeout != 0 && self.first && self.last;
        let pending = waits.then(|| self.pending()).flatten();
        let id = pending.as_ref().map(|pending| pending.id);
        let large = words.kind & LARGE_FILES != 0;
        let wait = pending.map(|pending| PendingLockRequest { pending, open: &opened.open, large });
        let answer = opened.open.file.lock(wanted, wait)?;
        if let (CallResponse::Pending, Some(id)) = (&answer, id)
            && words.timeout != FOREVER
        {
            let opened = opened.clone();
            let timeout = Duration::from_millis(u64::from(words.timeout));
            self.connection.runtime.spawn(async move {
                tokio::time::sleep(timeout).await;
                if let Some(ended) = opened.open.file.cancel(id) {
                    note_refusal(&opened, ended.offset);
                    ended.pending.send(NtStatus::FILE_LOCK_CONFLICT, None);
                }
            });
        }
        Ok(answer)
    }

    /// `LOCK_BYTE_RANGE`: one exclusive lock, which does not wait.
    pub(super) fn lock_byte_range(&self, body: &mut Vec<u8>) -> Outcome<()> {
        let words: ByteRange = self.words()?;
        let opened = self.opened(words.fid)?;
        let range = byte_range(&words, flags::EXCLUSIVE);
        let wanted = wanted_lock(&range, self.lock_owner(&opened.open))?;
        let locked = opened.open.file.lock(&[wanted], None);
        locked.map_err(|refused| refusal(refused, &opened))?;
        opened.open.file.end_caches(opened.open.id.volatile);
        put_empty(body);
        Ok(())
    }

    /// `UNLOCK_BYTE_RANGE`.
    pub(super) fn unlock_byte_range(&self, body: &mut Vec<u8>) -> Outcome<()> {
        let words: ByteRange = self.words()?;
        let open = self.file(words.fid)?;
        open.file.unlock(self.lock_owner(&open), &[byte_range(&words, flags::UNLOCK)])?;
        put_empty(body);
        Ok(())
    }

    /// The ranges to unlock and to lock, each with the process that holds it.
    fn ranges(&self, words: &LockRequest) -> Outcome<(Vec<HeldRange>, Vec<HeldRange>)> {
        let large = words.kind & LARGE_FILES != 0;
        let size = 2 * usize::from(if large { LargeRange::COUNT } else { SmallLockRange::COUNT });
        let wanted = usize::from(words.unlocks) + usize::from(words.locks);
        let bytes = self.block.bytes.get(..wanted * size).ok_or(NtStatus::INVALID_PARAMETER)?;
        let range = |bytes: &[u8]| {
            if large {
                let range = LargeRange::get(bytes).map_err(malformed)?;
                Ok((range.pid, range.range()))
            } else {
                let range = SmallLockRange::get(bytes).map_err(malformed)?;
                Ok((range.pid, (u64::from(range.offset), u64::from(range.len))))
            }
        };
        let mut unlocks = bytes.chunks_exact(size).map(range).collect::<Outcome<Vec<_>>>()?;
        let locks = unlocks.split_off(usize::from(words.unlocks).min(unlocks.len()));
        Ok((unlocks, locks))
    }
}

/// The status of a lock that was not granted: a second attempt at the same place is a conflict, as is one far beyond any data, so that
/// clients that poll for a lock wait longer (MS-CIFS 3.3.5.30).
fn refusal(RefusedLock { status, offset }: RefusedLock, opened: &OpenedFile) -> NtStatus {
    if status != NtStatus::LOCK_NOT_GRANTED {
        return status;
    }
    let repeated = note_refusal(opened, offset);
    let far = offset >= FAR_OFFSET && i64::try_from(offset).is_ok();
    if repeated || far { NtStatus::FILE_LOCK_CONFLICT } else { status }
}

/// Records the place of a lock that the client learns was not granted; true if it is that of the one before.
fn note_refusal(opened: &OpenedFile, offset: u64) -> bool {
    let mut refused = opened.refused.lock().unwrap_or_else(PoisonError::into_inner);
    refused.replace(offset) == Some(offset)
}

/// Ends the wait for a range. Of several ranges, only the first counts, as on Windows.
fn cancel_pending(opened: &OpenedFile, ranges: &[HeldRange], large: bool) -> Outcome<()> {
    let ended = ranges.first().and_then(|(process, (offset, len))| {
        let owner = LockOwner::of_process(opened.open.id.volatile, u32::from(*process));
        opened.open.file.cancel_range(owner, *offset, *len, large)
    });
    let ended = ended.ok_or(NtStatus::OS2_CANCEL_VIOLATION)?;
    note_refusal(opened, ended.offset);
    ended.pending.send(NtStatus::FILE_LOCK_CONFLICT, None);
    Ok(())
}

fn byte_range(words: &ByteRange, flags: u32) -> LockRange {
    LockRange { offset: u64::from(words.offset), len: u64::from(words.len), flags }
}

/// A process, and offset and length of its range.
type HeldRange = (u16, (u64, u64));
