//! Calls of semaphores (docs/protocols/ncp.md 3.3).

use super::connection::Connection;
use super::execute::CallContext;
use super::locks::{self, LockGoal, lock_or_wait};
use super::volume::VolumeResult;
use crate::wire::semaphore::{ClosedSemaphore, ExaminedSemaphore, OpenedSemaphore};
use crate::wire::{Codec, Completion, Request};

/// Executes the calls of semaphores. The newer ones have the same completion codes, and only the close another reply.
pub fn execute(
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
