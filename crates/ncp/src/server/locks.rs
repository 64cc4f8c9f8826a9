//! Calls that lock byte ranges (docs/protocols/ncp.md 3.3).

use std::time::Duration;

use super::execute::Execution;
use super::open_files::ByteRange;
use super::pending_lock::{LockGoal, PendingLock};
use super::record_log::{LockTarget, LoggedRange};
use super::volume::{Volume, VolumeResult};
use crate::wire::large::LockLarge;
use crate::wire::lock::{ClearRecord, LockRecord, LockRecordNew, Range, ReleaseRecord, flag};
use crate::wire::{Completion, FileHandle, LockCall, ShortHandle};

/// The longest wait: the largest number of ticks in 16 bits.
const MAX_TICKS: u32 = u16::MAX as u32;
/// The largest number of waiting requests. All of them are retried whenever a lock is released, so their number
/// bounds that work.
const MAX_WAITING: usize = 1000;
/// Ticks per second (docs/protocols/ncp.md 3.3).
const TICKS: u32 = 18;

/// A range to lock, as all lock calls state it.
struct LockRequest {
    file: ShortHandle,
    flag: u32,
    start: u64,
    length: u64,
}

impl LockRequest {
    /// Of a call with 32-bit offsets.
    fn classic(file: FileHandle, flag: u8, start: u32, length: u32) -> Self {
        Self { file: file.short(), flag: flag.into(), start: start.into(), length: length.into() }
    }
}

impl<V: Volume> Execution<'_, V> {
    /// Calls that lock and unlock ranges and sets of ranges.
    pub fn lock_call(&mut self, call: &LockCall) -> VolumeResult<()> {
        // The calls differ in their completion code for a conflicting lock (docs/protocols/ncp.md 3.3).
        let classic = Completion::LockTimeout;
        let newer = Completion::LockWait;
        match *call {
            LockCall::LockRecord(LockRecord { flag, file, start, length, timeout }) => {
                let request = LockRequest::classic(file, flag, start, length);
                self.lock_range(&request, timeout.into(), classic)
            }
            LockCall::LockRecordNew(LockRecordNew { flag, file, start, length, timeout }) => {
                let request = LockRequest::classic(file, flag, start, length);
                self.lock_range(&request, timeout.into(), newer)
            }
            LockCall::LockLarge(LockLarge { flag, file, start, length, timeout }) => {
                let request = LockRequest { file, flag, start, length };
                self.lock_range(&request, timeout, Completion::BadConnectionNumber)
            }
            LockCall::LockRecordSet(call) => self.lock_set(call.flag, call.timeout, classic),
            LockCall::LockRecordSetNew(call) => self.lock_set(call.flag, call.timeout, newer),
            LockCall::ReleaseRecord(ReleaseRecord { range }) => self.release_classic(range, false),
            LockCall::ClearRecord(ClearRecord { range }) => self.release_classic(range, true),
            LockCall::ReleaseLarge(call) => self.release(call.file, call.start, call.length, false),
            LockCall::ClearLarge(call) => self.release(call.file, call.start, call.length, true),
            LockCall::ReleaseRecordSet(_) => {
                self.connection.records.release_set(self.task, false);
                Ok(())
            }
            LockCall::ClearRecordSet(_) => {
                self.connection.records.release_set(self.task, true);
                Ok(())
            }
        }
    }

    /// Locks all ranges that the task has logged; the flag selects shared or exclusive locks.
    fn lock_set(&mut self, flag: u8, timeout: u16, late: Completion) -> VolumeResult<()> {
        let goal = LockGoal::Records(LockTarget::Set(self.task), flag == flag::SHARED);
        self.lock_or_wait(goal, timeout.into(), late)
    }

    fn lock_range(&mut self, request: &LockRequest, ticks: u32, late: Completion) -> VolumeResult<()> {
        let place = self.connection.file(request.file)?.place;
        let bytes = ByteRange::new(request.start, request.length).ok_or(Completion::Failure)?;
        let file = u32::from_le_bytes(request.file.0);
        let range = LoggedRange { place, file, bytes, task: self.task, held: None };
        let shared = match u8::try_from(request.flag) {
            Ok(flag::LOG_ONLY) => return self.connection.records.log(range),
            Ok(flag::EXCLUSIVE) => false,
            Ok(flag::SHARED) => true,
            _ => return Err(Completion::Failure),
        };
        self.lock_or_wait(LockGoal::Records(LockTarget::Range(range), shared), ticks, late)
    }

    /// Locks at once, or registers the request as waiting for a number of ticks. `late` is the completion code of a
    /// request that did not reach its goal.
    pub fn lock_or_wait(&mut self, goal: LockGoal, ticks: u32, late: Completion) -> VolumeResult<()> {
        let connection = &mut *self.connection;
        if goal.attempt(&mut connection.records)? {
            return Ok(());
        }
        // A timeout of 0 means "do not wait" (docs/protocols/ncp.md 3.3).
        if ticks > 0 && connection.waiting.count() < MAX_WAITING {
            let until = self.environment.now() + Duration::from_secs(1) * ticks.min(MAX_TICKS) / TICKS;
            connection.wait = Some(PendingLock::new(goal, until, late, &connection.waiting));
        }
        Err(late)
    }

    fn release_classic(&mut self, range: Range, forget: bool) -> VolumeResult<()> {
        self.release(range.file.short(), range.start.into(), range.length.into(), forget)
    }

    fn release(&mut self, file: ShortHandle, start: u64, length: u64, forget: bool) -> VolumeResult<()> {
        let place = self.connection.file(file)?.place;
        let bytes = ByteRange::new(start, length).ok_or(Completion::Failure)?;
        self.connection.records.release(place, u32::from_le_bytes(file.0), bytes, forget)
    }
}
