//! Calls that lock byte ranges, and requests that wait (docs/protocols/ncp.md 3.3). A request that waits for a lock or
//! a semaphore blocks no thread: its reply follows when the lock is granted or its timeout expires.

use std::time::Duration;

use super::connection::Connection;
use super::execute::Execution;
use super::lock_tables::WaiterGuard;
use super::open_files::ByteRange;
use super::packet::Packet;
use super::record_log::{LockTarget, LoggedRange};
use super::semaphores::SemaphoreTicket;
use super::volume::{Volume, VolumeResult};
use super::{Environment, Peer, Server, answer, lock};
use crate::wire::large::LockLarge;
use crate::wire::lock::{ClearRecord, LockRecord, LockRecordNew, Range, ReleaseRecord, flag};
use crate::wire::packet::{ClientHeader, ServerHeader};
use crate::wire::{Codec, Completion, FileHandle, LockCall, ShortHandle, TransportKind};

/// The longest wait: the largest number of ticks in 16 bits.
const MAX_TICKS: u32 = u16::MAX as u32;
/// The largest number of waiting requests. All of them are retried whenever a lock is released, so their number
/// bounds that work.
const MAX_WAITING: usize = 1000;
/// Ticks per second (docs/protocols/ncp.md 3.3).
const TICKS: u32 = 18;
/// Pause before a busy connection is tried again.
const BUSY: Duration = Duration::from_millis(10);

/// What a request locks, or waits for.
#[derive(Debug)]
pub enum LockGoal {
    /// Byte ranges, shared or not.
    Records(LockTarget, bool),
    /// A unit of a semaphore.
    Semaphore(SemaphoreTicket),
}

impl LockGoal {
    /// Tries to reach the goal; false when the request has to wait.
    fn attempt(&self, connection: &mut Connection) -> VolumeResult<bool> {
        match self {
            Self::Records(target, shared) => connection.records.lock(*target, *shared),
            Self::Semaphore(ticket) => Ok(ticket.take()),
        }
    }
}

/// A request that waits for a lock or a semaphore.
#[derive(Debug)]
pub struct PendingLock {
    goal: LockGoal,
    until: Duration,
    /// Completion code of the reply when the timeout expires.
    late: Completion,
    /// The request, once its reply is deferred.
    request: Option<DeferredRequest>,
    _waiting: WaiterGuard,
}

/// A request whose reply is deferred.
#[derive(Debug, Clone, Copy)]
struct DeferredRequest {
    header: ClientHeader,
    transport: TransportKind,
}

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
        if goal.attempt(connection)? {
            return Ok(());
        }
        // A timeout of 0 means "do not wait" (docs/protocols/ncp.md 3.3).
        if ticks > 0 && connection.waiting.count() < MAX_WAITING {
            let until = self.environment.now() + Duration::from_secs(1) * ticks.min(MAX_TICKS) / TICKS;
            let waiting = WaiterGuard::new(&connection.waiting);
            connection.wait = Some(PendingLock { goal, until, late, request: None, _waiting: waiting });
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

impl<V: Volume, W: Environment> Server<V, W> {
    /// Tries to complete the waiting request of a client. Appends its reply if the lock is granted or its timeout has
    /// expired; otherwise returns the time until which to wait for [`Environment::released`] before the next try.
    /// Does nothing if the client has no waiting request.
    pub fn resume(&self, peer: Peer, out: &mut Vec<u8>) -> Option<Duration> {
        if self.shared.waiting.count() == 0 {
            return None;
        }
        let known = lock(&self.connections).get(peer)?;
        let now = self.environment.now();
        // The connection executes another request, which may have cancelled the wait.
        let Ok(mut connection) = known.connection.try_lock() else { return Some(now + BUSY) };
        let wait = connection.wait.take()?;
        let request = wait.request?;
        let completion = match wait.goal.attempt(&mut connection) {
            Ok(true) => Completion::Success,
            Ok(false) if now < wait.until => {
                let until = wait.until;
                connection.wait = Some(wait);
                return Some(until);
            }
            Ok(false) => wait.late,
            Err(completion) => completion,
        };
        Self::answer_late(&mut connection, request, completion, out);
        None
    }

    /// Keeps the request that waits for a lock, so that its reply can be sent later.
    pub(super) fn defer_reply(connection: &mut Connection, packet: &Packet<'_>) -> bool {
        let Some(wait) = &mut connection.wait else { return false };
        wait.request = Some(DeferredRequest { header: packet.header, transport: packet.transport });
        true
    }

    /// Cancels a wait, because the client has sent another request. On TCP, where replies must come in order, the
    /// reply to the waiting request is sent first.
    pub(super) fn cancel_wait(connection: &mut Connection, out: &mut Vec<u8>) {
        let Some(wait) = connection.wait.take() else { return };
        // On TCP each request gets exactly one reply, so the abandoned one is answered. A client on datagrams
        // has given up waiting.
        if let Some(request) = wait.request.filter(|request| request.transport == TransportKind::Tcp) {
            Self::answer_late(connection, request, wait.late, out);
        }
    }

    fn answer_late(
        connection: &mut Connection,
        request: DeferredRequest,
        completion: Completion,
        out: &mut Vec<u8>,
    ) {
        let DeferredRequest { header, transport } = request;
        let start = out.len();
        let header = ServerHeader::reply(&header, completion);
        answer(transport, connection.signer.as_ref(), out, |out| ServerHeader::put(&header, out));
        Self::store_reply(connection, transport, &out[start..]);
    }
}
