//! Calls of semaphores (docs/protocols/ncp.md 3.3).

use super::execute::Execution;
use super::pending_lock::LockGoal;
use super::volume::{Volume, VolumeResult};
use crate::wire::semaphore::{
    ClosedSemaphore, ExamineSemaphore, ExamineSemaphoreNew, ExaminedSemaphore, OpenSemaphore,
    OpenSemaphoreNew, OpenedSemaphore, SignalSemaphore, SignalSemaphoreNew, WaitOnSemaphore,
    WaitOnSemaphoreNew,
};
use crate::wire::{Completion, SemaphoreCall};

impl<V: Volume> Execution<'_, V> {
    /// Calls of semaphores. The newer ones have the same completion codes, and only the close another reply.
    pub fn semaphore_call(&mut self, call: &SemaphoreCall<'_>) -> VolumeResult<()> {
        let semaphores = &mut self.connection.semaphores;
        match *call {
            SemaphoreCall::OpenSemaphore(OpenSemaphore { value, name })
            | SemaphoreCall::OpenSemaphoreNew(OpenSemaphoreNew { value, name }) => {
                let (handle, opens) = semaphores.open(&name, value, self.task)?;
                self.reply(&OpenedSemaphore { handle, opens })
            }
            SemaphoreCall::ExamineSemaphore(ExamineSemaphore { handle })
            | SemaphoreCall::ExamineSemaphoreNew(ExamineSemaphoreNew { handle }) => {
                let (value, opens) = semaphores.examine(handle)?;
                self.reply(&ExaminedSemaphore { value, opens })
            }
            SemaphoreCall::WaitOnSemaphore(WaitOnSemaphore { handle, timeout })
            | SemaphoreCall::WaitOnSemaphoreNew(WaitOnSemaphoreNew { handle, timeout }) => {
                if semaphores.take(handle)? {
                    return Ok(());
                }
                let goal = LockGoal::Semaphore(semaphores.enqueue(handle)?);
                self.lock_or_wait(goal, timeout.into(), Completion::LockTimeout)
            }
            SemaphoreCall::SignalSemaphore(SignalSemaphore { handle })
            | SemaphoreCall::SignalSemaphoreNew(SignalSemaphoreNew { handle }) => semaphores.signal(handle),
            SemaphoreCall::CloseSemaphore(call) => semaphores.close(call.handle).map(drop),
            SemaphoreCall::CloseSemaphoreNew(call) => {
                let opens = semaphores.close(call.handle)?;
                self.reply(&ClosedSemaphore { opens, shares: opens })
            }
        }
    }
}
