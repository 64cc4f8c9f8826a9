//! File sets, logical records and semaphores (docs/protocols/ncp.md 3.3), by the classic calls, which every server has.

use std::time::Duration;

use super::exchange::{Client, wire};
use super::locks::ticks;
use super::transport::Transport;
use super::{ClientError, Lock};
use crate::wire::lock::flag;
use crate::wire::synchronization::{
    ClearFile, ClearFileSet, ClearLogicalRecord, ClearLogicalRecordSet, CloseSemaphore, ExamineSemaphore,
    ExaminedSemaphore, LockFileSet, LockLogicalRecordSet, LogFile, LogLogicalRecord, OpenSemaphore,
    OpenedSemaphore, ReleaseFile, ReleaseFileSet, ReleaseLogicalRecord, ReleaseLogicalRecordSet, SHARED_SET,
    SignalSemaphore, WaitOnSemaphore,
};
use crate::wire::{Codec, Pstr, Request};

const LOCK_FILES: &str = "lock files";
const LOCK_NAMES: &str = "lock logical records";
const SEMAPHORE: &str = "semaphore";

/// An open semaphore of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Semaphore(pub(super) u32);

/// The flag of a call that logs, and locks if there is a lock.
fn log_flag(lock: Option<Lock>) -> u8 {
    lock.map_or(flag::LOG_ONLY, Lock::flag)
}

impl<C: Transport> Client<C> {
    /// Adds a file to the file set, and locks it if `lock` says how. The path is absolute, as in `SYS:DIR\FILE`.
    /// Returns false when another connection holds a conflicting lock for longer than `patience`.
    pub async fn log_file(
        &mut self,
        path: &str,
        lock: Option<Lock>,
        patience: Duration,
    ) -> Result<bool, ClientError> {
        let timeout = ticks(patience);
        let path = Pstr::new(path.as_bytes()).map_err(wire(LOCK_FILES))?;
        let call = LogFile { directory: 0, flag: log_flag(lock), timeout, path };
        self.call_waiting(LOCK_FILES, &call.into(), timeout).await
    }

    /// Locks all files of the set exclusively, or none.
    pub async fn lock_file_set(&mut self, patience: Duration) -> Result<bool, ClientError> {
        let timeout = ticks(patience);
        self.call_waiting(LOCK_FILES, &LockFileSet { timeout }.into(), timeout).await
    }

    /// Unlocks a file; `forget` also removes it from the set.
    pub async fn release_file(&mut self, path: &str, forget: bool) -> Result<(), ClientError> {
        let path = Pstr::new(path.as_bytes()).map_err(wire(LOCK_FILES))?;
        let call: Request<'_> = if forget {
            ClearFile { directory: 0, path }.into()
        } else {
            ReleaseFile { directory: 0, path }.into()
        };
        self.call(LOCK_FILES, &call).await.map(|_| ())
    }

    /// Unlocks all files of the set; `forget` also empties it.
    pub async fn release_file_set(&mut self, forget: bool) -> Result<(), ClientError> {
        let call: Request<'_> =
            if forget { ClearFileSet { flag: 0 }.into() } else { ReleaseFileSet { flag: 0 }.into() };
        self.call(LOCK_FILES, &call).await.map(|_| ())
    }

    /// Adds a logical record to the set, and locks it if `lock` says how. Returns false when another connection holds a
    /// conflicting lock for longer than `patience`.
    pub async fn log_record(
        &mut self,
        name: &[u8],
        lock: Option<Lock>,
        patience: Duration,
    ) -> Result<bool, ClientError> {
        let timeout = ticks(patience);
        let name = Pstr::new(name).map_err(wire(LOCK_NAMES))?;
        let call = LogLogicalRecord { flag: log_flag(lock), timeout, name };
        self.call_waiting(LOCK_NAMES, &call.into(), timeout).await
    }

    /// Locks all logical records of the set, or none.
    pub async fn lock_record_set(&mut self, lock: Lock, patience: Duration) -> Result<bool, ClientError> {
        let timeout = ticks(patience);
        let flag = if lock == Lock::Shared { SHARED_SET } else { flag::EXCLUSIVE };
        self.call_waiting(LOCK_NAMES, &LockLogicalRecordSet { flag, timeout }.into(), timeout).await
    }

    /// Unlocks a logical record; `forget` also removes it from the set.
    pub async fn release_record(&mut self, name: &[u8], forget: bool) -> Result<(), ClientError> {
        let name = Pstr::new(name).map_err(wire(LOCK_NAMES))?;
        let call: Request<'_> =
            if forget { ClearLogicalRecord { name }.into() } else { ReleaseLogicalRecord { name }.into() };
        self.call(LOCK_NAMES, &call).await.map(|_| ())
    }

    /// Unlocks all logical records of the set; `forget` also empties it.
    pub async fn release_record_set(&mut self, forget: bool) -> Result<(), ClientError> {
        let call: Request<'_> = if forget {
            ClearLogicalRecordSet { flag: 0 }.into()
        } else {
            ReleaseLogicalRecordSet { flag: 0 }.into()
        };
        self.call(LOCK_NAMES, &call).await.map(|_| ())
    }

    /// Opens a semaphore, which is created with `value`, at most 127, if it does not exist; returns it with the number
    /// of opens.
    pub async fn open_semaphore(&mut self, name: &[u8], value: u8) -> Result<(Semaphore, u8), ClientError> {
        let name = Pstr::new(name).map_err(wire(SEMAPHORE))?;
        let reply = self.call(SEMAPHORE, &OpenSemaphore { value, name }.into()).await?;
        let opened = OpenedSemaphore::decode(reply).map_err(wire(SEMAPHORE))?;
        Ok((Semaphore(opened.handle), opened.opens))
    }

    /// The value of a semaphore, negative while requests wait, and the number of opens.
    pub async fn examine_semaphore(&mut self, semaphore: Semaphore) -> Result<(i8, u8), ClientError> {
        let reply = self.call(SEMAPHORE, &ExamineSemaphore { handle: semaphore.0 }.into()).await?;
        let found = ExaminedSemaphore::decode(reply).map_err(wire(SEMAPHORE))?;
        Ok((found.value.cast_signed(), found.opens))
    }

    /// Decrements a semaphore once its value is positive; false when it is not within `patience`.
    pub async fn wait_on_semaphore(
        &mut self,
        semaphore: Semaphore,
        patience: Duration,
    ) -> Result<bool, ClientError> {
        let timeout = ticks(patience);
        let call = WaitOnSemaphore { handle: semaphore.0, timeout };
        self.call_waiting(SEMAPHORE, &call.into(), timeout).await
    }

    /// Increments a semaphore.
    pub async fn signal_semaphore(&mut self, semaphore: Semaphore) -> Result<(), ClientError> {
        self.call(SEMAPHORE, &SignalSemaphore { handle: semaphore.0 }.into()).await.map(|_| ())
    }

    /// Closes a semaphore.
    pub async fn close_semaphore(&mut self, semaphore: Semaphore) -> Result<(), ClientError> {
        self.call(SEMAPHORE, &CloseSemaphore { handle: semaphore.0 }.into()).await.map(|_| ())
    }
}
