//! `LOCKING_ANDX` (MS-CIFS 3.3.5.30): ranges that processes of a client lock and unlock.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::file::{
    CANCEL_LOCK, LARGE_FILES, LockRange as LargeRange, LockRequest, LockResponse, OPLOCK_RELEASE,
    SHARED_LOCK, SmallLockRange,
};
use sharebench_smb::nt1::message::{NO_ANDX, Words, put_blocks};
use sharebench_smb::wire::lock::{LockRange, flags};

use super::call::Nt1Call;
use super::state::OpenedFile;
use crate::smb::call::{Answer, DONE};
use crate::smb::locks::{Lock, LockOwner, wanted_lock};
use crate::smb::open_files::OpenFile;
use crate::smb::status::{Outcome, malformed};

/// `LockType`: change a shared lock to an exclusive one or back, which this server does not do.
const CHANGE_TYPE: u8 = 0x04;
/// From this offset on, a lock that is not granted is a conflict.
const FAR_OFFSET: u64 = 0xEF00_0000;
/// `Timeout`: wait for ever.
const FOREVER: u32 = u32::MAX;

impl Nt1Call<'_> {
    /// `LOCKING_ANDX`: unlocks its ranges in order, then locks all of its ranges or none. A single range may wait.
    pub(super) fn lock(&self, body: &mut Vec<u8>) -> Outcome<Answer> {
        let words: LockRequest = self.words()?;
        let opened = self.opened(words.fid)?;
        let open = Arc::clone(&opened.open);
        if words.kind & OPLOCK_RELEASE != 0 && words.locks == 0 && words.unlocks == 0 {
            // No oplock was granted, and this message has no reply.
            return Ok(Answer::Later);
        }
        if words.kind & (CHANGE_TYPE | CANCEL_LOCK) != 0 {
            return Err(NtStatus::NOT_SUPPORTED);
        }
        let (unlocks, locks) = self.ranges(&words)?;
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
        let first = locks.first().map_or(0, |(_, (offset, _))| *offset);
        let locked = self.lock_ranges(&open, &wanted, words.timeout);
        match locked.map_err(|status| refusal(status, &opened, first))? {
            Answer::Now(_) => {
                open.file.end_caches(open.id.volatile);
                put_blocks(&LockResponse { andx: NO_ANDX }, body, |_| {});
                DONE
            }
            later => Ok(later),
        }
    }

    fn lock_ranges(&self, open: &Arc<OpenFile>, wanted: &[Lock], timeout: u32) -> Outcome<Answer> {
        // A command after the lock would need its outcome, and the commands before it are not repeated.
        let waits = timeout != 0 && wanted.len() == 1 && self.first && self.last;
        let pending = waits.then(|| self.pending()).flatten();
        let id = pending.as_ref().map(|pending| pending.id);
        let answer = open.file.lock(wanted, pending.map(|pending| (pending, open)))?;
        if let (Answer::Later, Some(id)) = (&answer, id)
            && timeout != FOREVER
        {
            let open = Arc::clone(open);
            self.connection.runtime.spawn(async move {
                tokio::time::sleep(Duration::from_millis(u64::from(timeout))).await;
                if let Some(pending) = open.file.cancel(id) {
                    pending.send(NtStatus::FILE_LOCK_CONFLICT, None);
                }
            });
        }
        Ok(answer)
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
fn refusal(status: NtStatus, opened: &OpenedFile, offset: u64) -> NtStatus {
    if status != NtStatus::LOCK_NOT_GRANTED {
        return status;
    }
    let mut refused = opened.refused.lock().unwrap_or_else(PoisonError::into_inner);
    let repeated = refused.replace(offset) == Some(offset);
    let far = offset >= FAR_OFFSET && i64::try_from(offset).is_ok();
    if repeated || far { NtStatus::FILE_LOCK_CONFLICT } else { status }
}

/// A process, and offset and length of its range.
type HeldRange = (u16, (u64, u64));
