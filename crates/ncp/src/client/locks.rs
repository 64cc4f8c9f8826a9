//! Locks on byte ranges of open files (docs/protocols/ncp.md 3.3).

use std::time::Duration;

use super::exchange::Client;
use super::files::near;
use super::transport::Transport;
use super::{ClientError, File};
use crate::wire::large::{ClearLarge, LockLarge};
use crate::wire::lock::{ClearRecord, LockRecord, Range, flag};
use crate::wire::{Completion, FileHandle, Request};

/// Ticks per second (docs/protocols/ncp.md 3.3).
const TICKS: u128 = 18;

/// What a lock denies to other connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Reading and writing.
    Exclusive,
    /// Writing.
    Shared,
}

impl Lock {
    /// The flag of calls that log and lock.
    pub(super) const fn flag(self) -> u8 {
        match self {
            Self::Exclusive => flag::EXCLUSIVE,
            Self::Shared => flag::SHARED,
        }
    }
}

/// A time in ticks, rounded up; at most one hour.
pub(super) fn ticks(patience: Duration) -> u16 {
    let ticks = (patience.as_nanos() * TICKS).div_ceil(1_000_000_000);
    u16::try_from(ticks).unwrap_or(u16::MAX)
}

/// A range of bytes to lock, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockRange {
    /// First byte of the range.
    pub start: u64,
    /// Bytes of the range.
    pub length: u64,
}

impl LockRange {
    /// The range of a file for the calls with 32-bit offsets.
    fn classic(self, step: &'static str, file: File) -> Result<Range, ClientError> {
        let file = FileHandle::of_name_space(file.0);
        Ok(Range { file, start: near(step, self.start)?, length: near(step, self.length)? })
    }
}

impl<C: Transport> Client<C> {
    /// Locks a range. Returns false when another connection holds a conflicting
    /// lock for longer than `patience`. The server counts in ticks of 1/18 s, up to one hour.
    pub async fn lock(
        &mut self,
        file: File,
        range: LockRange,
        lock: Lock,
        patience: Duration,
    ) -> Result<bool, ClientError> {
        const STEP: &str = "lock";
        let flag = lock.flag();
        let timeout = ticks(patience);
        let call: Request<'_> = if self.large {
            let LockRange { start, length } = range;
            LockLarge { flag: u32::from(flag), file: file.0, start, length, timeout: u32::from(timeout) }
                .into()
        } else {
            let Range { file, start, length } = range.classic(STEP, file)?;
            LockRecord { flag, file, start, length, timeout }.into()
        };
        self.call_waiting(STEP, &call, timeout).await
    }

    /// Makes a call that waits for a lock for up to `timeout` ticks; false when it was not granted.
    pub(super) async fn call_waiting(
        &mut self,
        step: &'static str,
        call: &Request<'_>,
        timeout: u16,
    ) -> Result<bool, ClientError> {
        self.begin(step, call);
        self.extend(Duration::from_secs(1) * u32::from(timeout) / TICKS as u32);
        match self.finish().await {
            Ok(_) => Ok(true),
            // Each call has its own completion code for a conflicting lock (docs/protocols/ncp.md 3.3).
            Err(ClientError::Refused {
                completion: Completion::LockWait | Completion::LockTimeout | Completion::BadConnectionNumber,
                ..
            }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Releases exactly the range that [`Self::lock`] locked.
    pub async fn unlock(&mut self, file: File, range: LockRange) -> Result<(), ClientError> {
        const STEP: &str = "unlock";
        let call: Request<'_> = if self.large {
            ClearLarge { file: file.0, start: range.start, length: range.length }.into()
        } else {
            ClearRecord { range: range.classic(STEP, file)? }.into()
        };
        self.call(STEP, &call).await.map(|_| ())
    }
}
