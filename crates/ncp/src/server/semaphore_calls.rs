//! Calls of file sets, logical records and semaphores (docs/protocols/ncp.md 3.3).

use super::Shared;
use super::connection::{Connection, VolumeNode};
use super::execute::CallContext;
use super::locks::{self, LockGoal, lock_or_wait};
use super::logical_records::LogicalTarget;
use super::open_files::{ByteRange, WHOLE_FILE};
use super::record_log::{LockTarget, LogKind, LoggedRange};
use super::volume::{Volume, VolumeResult};
use crate::wire::lock::flag;
use crate::wire::synchronization::{ClosedSemaphore, ExaminedSemaphore, OpenedSemaphore, SHARED_SET};
use crate::wire::{Codec, Completion, Request};

/// The parameters of a call that logs a file or a name, without the file or name.
struct LogRequest {
    flag: u8,
    ticks: u16,
    /// Completion code of a conflicting lock.
    late: Completion,
}

impl LogRequest {
    const fn classic(flag: u8, ticks: u16) -> Self {
        Self { flag, ticks, late: Completion::LockTimeout }
    }

    const fn newer(flag: u8, ticks: u16) -> Self {
        Self { flag, ticks, late: Completion::LockWait }
    }

    /// Whether to lock, and then whether shared.
    const fn shared(&self) -> VolumeResult<Option<bool>> {
        match self.flag {
            flag::LOG_ONLY => Ok(None),
            flag::EXCLUSIVE => Ok(Some(false)),
            flag::SHARED => Ok(Some(true)),
            _ => Err(Completion::Failure),
        }
    }
}

/// Executes the calls of file sets.
pub fn execute<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    context: &CallContext<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    match request {
        Request::LogFile(call) => {
            let place = file(shared, connection, call.directory, &call.path)?;
            log_file(connection, context, place, &LogRequest::classic(call.flag, call.timeout))
        }
        Request::LogFileNew(call) => {
            let place = file(shared, connection, call.directory, &call.path)?;
            log_file(connection, context, place, &LogRequest::newer(call.flag, call.timeout))
        }
        Request::LockFileSet(call) => {
            lock_files(connection, context, &LogRequest::classic(flag::EXCLUSIVE, call.timeout))
        }
        Request::LockFileSetNew(call) => {
            lock_files(connection, context, &LogRequest::newer(flag::EXCLUSIVE, call.timeout))
        }
        Request::ReleaseFile(call) => {
            let place = file(shared, connection, call.directory, &call.path)?;
            connection.records.release(place, WHOLE_FILE, ByteRange::ALL, false)
        }
        Request::ClearFile(call) => {
            let place = file(shared, connection, call.directory, &call.path)?;
            connection.records.release(place, WHOLE_FILE, ByteRange::ALL, true)
        }
        Request::ReleaseFileSet(_) => {
            connection.records.release_set(context.task, LogKind::Files, false);
            Ok(())
        }
        Request::ClearFileSet(_) => {
            connection.records.release_set(context.task, LogKind::Files, true);
            Ok(())
        }
        _ => on_logical_records(connection, context, request, out),
    }
}

/// Executes the calls of logical records.
fn on_logical_records(
    connection: &mut Connection,
    context: &CallContext<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    match request {
        Request::LogLogicalRecord(call) => {
            log_name(connection, context, &call.name, &LogRequest::classic(call.flag, call.timeout))
        }
        Request::LogLogicalRecordNew(call) => {
            log_name(connection, context, &call.name, &LogRequest::newer(call.flag, call.timeout))
        }
        Request::LockLogicalRecordSet(call) => {
            lock_names(connection, context, &LogRequest::classic(call.flag, call.timeout))
        }
        Request::LockLogicalRecordSetNew(call) => {
            lock_names(connection, context, &LogRequest::newer(call.flag, call.timeout))
        }
        Request::ReleaseLogicalRecord(call) => connection.logical_records.release(&call.name, false),
        Request::ClearLogicalRecord(call) => connection.logical_records.release(&call.name, true),
        Request::ReleaseLogicalRecordSet(_) => {
            connection.logical_records.release_set(context.task, false);
            Ok(())
        }
        Request::ClearLogicalRecordSet(_) => {
            connection.logical_records.release_set(context.task, true);
            Ok(())
        }
        _ => on_semaphores(connection, context, request, out),
    }
}

/// Executes the calls of semaphores. The newer ones have the same completion codes, and only the close another reply.
fn on_semaphores(
    connection: &mut Connection,
    context: &CallContext<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    match request {
        Request::OpenSemaphore(call) => open_semaphore(connection, context, (&call.name, call.value), out),
        Request::OpenSemaphoreNew(call) => open_semaphore(connection, context, (&call.name, call.value), out),
        Request::ExamineSemaphore(call) => examine(connection, call.handle, out),
        Request::ExamineSemaphoreNew(call) => examine(connection, call.handle, out),
        Request::WaitOnSemaphore(call) => wait(connection, context, call.handle, call.timeout),
        Request::WaitOnSemaphoreNew(call) => wait(connection, context, call.handle, call.timeout),
        Request::SignalSemaphore(call) => connection.semaphores.signal(call.handle),
        Request::SignalSemaphoreNew(call) => connection.semaphores.signal(call.handle),
        Request::CloseSemaphore(call) => connection.semaphores.close(call.handle).map(drop),
        Request::CloseSemaphoreNew(call) => {
            let opens = connection.semaphores.close(call.handle)?;
            ClosedSemaphore::put(&ClosedSemaphore { opens, shares: opens }, out);
            Ok(())
        }
        _ => locks::execute(connection, context, request),
    }
}

/// The file of a classic path.
fn file<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    directory: u8,
    path: &[u8],
) -> VolumeResult<VolumeNode> {
    let path = shared.resolve_path(connection, directory, path)?;
    let entry = shared.entry(&path)?;
    let place = VolumeNode { volume: path.directory.volume, node: entry.node };
    if entry.directory { Err(Completion::Failure) } else { Ok(place) }
}

fn log_file(
    connection: &mut Connection,
    context: &CallContext<'_>,
    place: VolumeNode,
    wanted: &LogRequest,
) -> VolumeResult<()> {
    let range = LoggedRange::whole(place, context.task);
    match wanted.shared()? {
        None => connection.records.log(range),
        Some(shared) => {
            let goal = LockGoal::Records(LockTarget::Range(range), shared);
            lock_or_wait(connection, context, goal, (u32::from(wanted.ticks), wanted.late))
        }
    }
}

/// Locks all files that the task has logged.
fn lock_files(
    connection: &mut Connection,
    context: &CallContext<'_>,
    wanted: &LogRequest,
) -> VolumeResult<()> {
    let goal = LockGoal::Records(LockTarget::Set(context.task, LogKind::Files), false);
    lock_or_wait(connection, context, goal, (u32::from(wanted.ticks), wanted.late))
}

fn log_name(
    connection: &mut Connection,
    context: &CallContext<'_>,
    name: &[u8],
    wanted: &LogRequest,
) -> VolumeResult<()> {
    match wanted.shared()? {
        None => connection.logical_records.log(name, context.task),
        Some(shared) => {
            let goal = LockGoal::Logical(LogicalTarget::Name(name.to_vec(), context.task), shared);
            lock_or_wait(connection, context, goal, (u32::from(wanted.ticks), wanted.late))
        }
    }
}

/// Locks all logical records that the task has logged.
fn lock_names(
    connection: &mut Connection,
    context: &CallContext<'_>,
    wanted: &LogRequest,
) -> VolumeResult<()> {
    // The value of a shared set differs from that of a shared record; both are accepted.
    let shared = matches!(wanted.flag, SHARED_SET | flag::SHARED);
    let goal = LockGoal::Logical(LogicalTarget::Set(context.task), shared);
    lock_or_wait(connection, context, goal, (u32::from(wanted.ticks), wanted.late))
}

fn open_semaphore(
    connection: &mut Connection,
    context: &CallContext<'_>,
    (name, value): (&[u8], u8),
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let (handle, opens) = connection.semaphores.open(name, value, context.task)?;
    OpenedSemaphore::put(&OpenedSemaphore { handle, opens }, out);
    Ok(())
}

fn examine(connection: &Connection, handle: u32, out: &mut Vec<u8>) -> VolumeResult<()> {
    let (value, opens) = connection.semaphores.examine(handle)?;
    ExaminedSemaphore::put(&ExaminedSemaphore { value, opens }, out);
    Ok(())
}

fn wait(connection: &mut Connection, context: &CallContext<'_>, handle: u32, ticks: u16) -> VolumeResult<()> {
    if connection.semaphores.take(handle)? {
        return Ok(());
    }
    let goal = LockGoal::Semaphore(connection.semaphores.enqueue(handle)?);
    lock_or_wait(connection, context, goal, (u32::from(ticks), Completion::LockTimeout))
}
