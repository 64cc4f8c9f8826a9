//! Calls that lock byte ranges, and requests that wait (docs/protocols/ncp.md 3.3). A request that waits for a lock or
//! a semaphore blocks no thread: its reply follows when the lock is granted or its timeout expires.

use std::time::Duration;

use super::connection::Connection;
use super::execute::CallContext;
use super::lock_tables::WaiterGuard;
use super::open_files::ByteRange;
use super::packet::Packet;
use super::record_log::{LockTarget, LoggedRange};
use super::semaphores::SemaphoreTicket;
use super::volume::{Volume, VolumeResult};
use super::{Environment, Peer, Server, answer, lock};
use crate::wire::TransportKind;
use crate::wire::lock::{Range, flag};
use crate::wire::packet::{ClientHeader, ServerHeader};
use crate::wire::{Codec, Completion, Request, ShortHandle};

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
    /// Header of the request, once its reply is deferred.
    request: Option<(ClientHeader, TransportKind)>,
    _waiting: WaiterGuard,
}

/// The parameters that all lock calls have in common.
struct LockRequest {
    file: ShortHandle,
    flag: u32,
    range: (u64, u64),
    ticks: u32,
    late: Completion,
}

/// Executes the calls that lock and unlock ranges and sets of ranges.
pub fn execute(
    connection: &mut Connection,
    context: &CallContext<'_>,
    request: &Request<'_>,
) -> VolumeResult<()> {
    // The calls differ in their completion code for a conflicting lock (docs/protocols/ncp.md 3.3).
    let classic = Completion::LockTimeout;
    let newer = Completion::LockWait;
    let large = Completion::BadConnectionNumber;
    match request {
        Request::LockRecord(call) => {
            let range = (u64::from(call.start), u64::from(call.length));
            let file = call.file.short();
            let flag = u32::from(call.flag);
            let ticks = u32::from(call.timeout);
            lock_range(connection, context, &LockRequest { file, flag, range, ticks, late: classic })
        }
        Request::LockRecordNew(call) => {
            let range = (u64::from(call.start), u64::from(call.length));
            let file = call.file.short();
            let flag = u32::from(call.flag);
            let ticks = u32::from(call.timeout);
            lock_range(connection, context, &LockRequest { file, flag, range, ticks, late: newer })
        }
        Request::LockLarge(call) => {
            let file = call.file;
            let flag = call.flag;
            let ticks = call.timeout;
            let range = (call.start, call.length);
            lock_range(connection, context, &LockRequest { file, flag, range, ticks, late: large })
        }
        Request::LockRecordSet(call) => {
            lock_or_wait(connection, context, set(context, call.flag), (u32::from(call.timeout), classic))
        }
        Request::LockRecordSetNew(call) => {
            lock_or_wait(connection, context, set(context, call.flag), (u32::from(call.timeout), newer))
        }
        Request::ReleaseRecord(call) => give_up_near(connection, &call.range, false),
        Request::ClearRecord(call) => give_up_near(connection, &call.range, true),
        Request::ReleaseLarge(call) => give_up(connection, call.file, (call.start, call.length), false),
        Request::ClearLarge(call) => give_up(connection, call.file, (call.start, call.length), true),
        Request::ReleaseRecordSet(_) => {
            connection.records.release_set(context.task, false);
            Ok(())
        }
        Request::ClearRecordSet(_) => {
            connection.records.release_set(context.task, true);
            Ok(())
        }
        _ => Err(Completion::UnknownFunction),
    }
}

/// All ranges that the task has logged; the flag selects shared or exclusive locks.
const fn set(context: &CallContext<'_>, flag: u8) -> LockGoal {
    LockGoal::Records(LockTarget::Set(context.task), flag == flag::SHARED)
}

fn lock_range(
    connection: &mut Connection,
    context: &CallContext<'_>,
    wanted: &LockRequest,
) -> VolumeResult<()> {
    let place = connection.file(wanted.file)?.place;
    let (start, length) = wanted.range;
    let bytes = ByteRange::new(start, length).ok_or(Completion::Failure)?;
    let range =
        LoggedRange { place, file: u32::from_le_bytes(wanted.file.0), bytes, task: context.task, held: None };
    let shared = match u8::try_from(wanted.flag) {
        Ok(flag::LOG_ONLY) => return connection.records.log(range),
        Ok(flag::EXCLUSIVE) => false,
        Ok(flag::SHARED) => true,
        _ => return Err(Completion::Failure),
    };
    let goal = LockGoal::Records(LockTarget::Range(range), shared);
    lock_or_wait(connection, context, goal, (wanted.ticks, wanted.late))
}

/// Locks at once, or registers the request as waiting for a number of ticks. `late` is the completion code of a
/// request that did not reach its goal.
pub fn lock_or_wait(
    connection: &mut Connection,
    context: &CallContext<'_>,
    goal: LockGoal,
    (ticks, late): (u32, Completion),
) -> VolumeResult<()> {
    if goal.attempt(connection)? {
        return Ok(());
    }
    // A timeout of 0 means "do not wait" (docs/protocols/ncp.md 3.3).
    if ticks > 0 && connection.waiting.count() < MAX_WAITING {
        let until = context.environment.now() + Duration::from_secs(1) * ticks.min(MAX_TICKS) / TICKS;
        let waiting = WaiterGuard::new(&connection.waiting);
        connection.wait = Some(PendingLock { goal, until, late, request: None, _waiting: waiting });
    }
    Err(late)
}

fn give_up_near(connection: &mut Connection, range: &Range, forget: bool) -> VolumeResult<()> {
    let bytes = (u64::from(range.start), u64::from(range.length));
    give_up(connection, range.file.short(), bytes, forget)
}

fn give_up(
    connection: &mut Connection,
    file: ShortHandle,
    (start, length): (u64, u64),
    forget: bool,
) -> VolumeResult<()> {
    let place = connection.file(file)?.place;
    let bytes = ByteRange::new(start, length).ok_or(Completion::Failure)?;
    connection.records.release(place, u32::from_le_bytes(file.0), bytes, forget)
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
        let (header, transport) = wait.request?;
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
        Self::answer_late(&mut connection, (header, transport), completion, out);
        None
    }

    /// Keeps the request that waits for a lock, so that its reply can be sent later.
    pub(super) fn defer_reply(connection: &mut Connection, packet: &Packet<'_>) -> bool {
        let Some(wait) = &mut connection.wait else { return false };
        wait.request = Some((packet.header, packet.transport));
        true
    }

    /// Cancels a wait, because the client has sent another request. On TCP, where replies must come in order, the
    /// reply to the waiting request is sent first.
    pub(super) fn cancel_wait(connection: &mut Connection, out: &mut Vec<u8>) {
        let Some(wait) = connection.wait.take() else { return };
        // On TCP each request gets exactly one reply, so the abandoned one is answered. A client on datagrams
        // has given up waiting.
        if let Some(request @ (_, TransportKind::Tcp)) = wait.request {
            Self::answer_late(connection, request, wait.late, out);
        }
    }

    fn answer_late(
        connection: &mut Connection,
        (header, transport): (ClientHeader, TransportKind),
        completion: Completion,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let header = ServerHeader::reply(&header, completion);
        answer(transport, connection.signer.as_ref(), out, |out| ServerHeader::put(&header, out));
        Self::store_reply(connection, transport, &out[start..]);
    }
}
